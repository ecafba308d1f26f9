//! A prepared directory: how it is created and opened.

use std::path::{Path, PathBuf};

use abridge_base::files::{OutputDirectory, Outputs};

use super::description::{Description, FileHash, MANIFEST};
use super::splits::kind;
use crate::store::{Side, TokenStore};
use crate::{Error, Result, Tokenizer};

/// A directory that `prepare` has written.
#[derive(Debug)]
pub struct PreparedDirectory {
    path: PathBuf,
    description: Description,
}

impl PreparedDirectory {
    /// Opens a directory by its manifest; splits and tokenizers are read on demand.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_path_buf(), description: Description::load(path)? })
    }

    /// Its inputs and contents.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The tokenizer of one language.
    pub fn tokenizer(&self, side: Side) -> Result<Tokenizer> {
        Tokenizer::load(&self.path, side_name(side))
    }

    /// The names of the corpora that have a split; the only corpus has an empty name.
    pub fn corpora(&self, split: &str) -> Vec<&str> {
        let named = self.description.splits.iter().filter(|s| kind(&s.name) == split);
        named.map(|s| s.name.rsplit_once('/').map_or("", |(corpus, _)| corpus)).collect()
    }

    /// The tokens of a split, as in `europarl/train`, or of that split of all corpora, one after
    /// the other, as in `train`; errors list the existing splits. The files must be unchanged since
    /// preparation.
    pub fn split(&self, name: &str) -> Result<TokenStore> {
        let names = || self.description.splits.iter().map(|split| split.name.as_str());
        let wanted: Vec<&str> = names().filter(|n| *n == name || kind(n) == name).collect();
        if wanted.is_empty() {
            return Err(Error::new(format!("has no split `{name}`"))
                .in_file(&self.path)
                .remedy(format!("it has {}", names().collect::<Vec<_>>().join(", "))));
        }
        let mut files = Vec::new();
        for name in wanted {
            files.extend(self.files(name)?);
        }
        let open = |file: &&FileHash| TokenStore::open_prepared(&self.path.join(&file.file), file);
        TokenStore::join(in_parallel(&files, open)?)
    }

    /// The hash of a split's tokens when they were prepared. [`Self::split`] opens no others, so
    /// nothing is read here.
    pub fn hash(&self, split: &str) -> Result<String> {
        let files = self.files(split)?;
        let hashes: Vec<&str> = files.iter().map(|file| file.sha256.as_str()).collect();
        Ok(match hashes.as_slice() {
            [hash] => (*hash).to_owned(),
            hashes => abridge_base::hash::of_bytes(hashes.join("+")),
        })
    }

    /// The files of a split's tokens.
    fn files(&self, split: &str) -> Result<Vec<&FileHash>> {
        let found = self.description.splits.iter().find(|found| found.name == split);
        let names = shard_names(split, found.and_then(|found| found.shards).unwrap_or(1));
        let file = |name: &String| {
            self.description.outputs.get(name).ok_or_else(|| {
                Error::new(format!("does not list `{name}`"))
                    .in_file(&self.path.join(MANIFEST))
                    .remedy("run `abridge prepare` again")
            })
        };
        names.iter().map(file).collect()
    }
}

/// Processes files in parallel, because large ones take time to check.
fn in_parallel<T: Sync, R: Send>(
    files: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let parts = files.chunks(files.len().div_ceil(cores).max(1));
    std::thread::scope(|scope| {
        let run = |part: &[T]| part.iter().map(&work).collect::<Result<Vec<R>>>();
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(all)
    })
}

/// The name under which a side's tokenizer is saved.
pub fn side_name(side: Side) -> &'static str {
    match side {
        Side::Source => "source",
        Side::Target => "target",
    }
}

/// The files of a split's tokens.
pub fn shard_names(split: &str, shards: usize) -> Vec<String> {
    match shards {
        1 => vec![format!("{split}.tokens")],
        _ => (0..shards).map(|shard| format!("{split}.{shard:05}.tokens")).collect(),
    }
}

/// Begins a directory. An existing one is replaced only if `prepare` wrote it and it contains no
/// other files and none of the inputs.
pub fn begin(target: &Path, inputs: impl Iterator<Item = PathBuf>) -> Result<OutputDirectory> {
    let mut outputs = Outputs::new();
    for input in inputs {
        outputs.reading(&input);
    }
    outputs.directory(target, Description::own_files)
}
