//! From files of text to a prepared directory: tokenizers, token stores, manifest.
//!
//! | file | content |
//! | --- | --- |
//! | `tokenizer.source.json`, `tokenizer.target.json` | the tokenizers ([`crate::tokenizer`]) |
//! | `train.tokens`, `valid.tokens`, `test.tokens` | the splits ([`crate::store`]) |
//! | `manifest.json` | settings, hashes of inputs and outputs, statistics, warnings |
//!
//! The same inputs and settings give the same bytes, whatever the number of threads.

mod directory;
mod manifest;
mod practice;
mod progress;
mod recipe;
mod splits;
mod statistics;
mod warnings;

use std::path::{Path, PathBuf};

pub use directory::PreparedDirectory;
pub use manifest::{FileHash, MANIFEST, Manifest, Vocabularies};
pub use practice::prepare_practice;
pub use progress::{Progress, Silent};
pub use recipe::{ImportFiles, InputFiles, Languages, Recipe, SPLITS, TokenizerRecipe};
pub use splits::SplitDocuments;
pub use statistics::{DataTable, SideStatistics, SplitStatistics};
pub use warnings::{Warning, WarningKind};

use directory::{Staging, side_name, store_name};
use manifest::Origin;
use warnings::{TrainingPairs, inspect};

use crate::store::{EncodedSide, Side, StoreContent};
use crate::tokenizer::{TrainSettings, WordCounts, count_words, encode_lines};
use crate::{Error, Result, Tokenizer};

/// Sentences between two reports of progress while encoding.
const REPORT_EVERY: usize = 60_000;

/// What to do, and where.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Languages, tokenizers, files.
    pub recipe: &'a Recipe,
    /// The directory that the recipe's paths start from.
    pub data: &'a Path,
    /// The directory to write.
    pub output: &'a Path,
    /// Threads for counting and encoding.
    pub threads: usize,
    /// Works even if nothing has changed.
    pub force: bool,
}

/// What preparation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The directory was written.
    Written(Manifest),
    /// The directory was already what it should be.
    Unchanged(Manifest),
}

impl Outcome {
    /// The description of the directory, new or old.
    pub fn manifest(&self) -> &Manifest {
        match self {
            Self::Written(manifest) | Self::Unchanged(manifest) => manifest,
        }
    }
}

/// Prepares the files of a recipe.
pub fn prepare(request: &Request<'_>, progress: &mut dyn Progress) -> Result<Outcome> {
    request.recipe.check()?;
    let inputs = hash_inputs(request, progress)?;
    let origin = Origin { recipe: request.recipe.clone(), generated: None, inputs };
    if let Some(manifest) = up_to_date(request, &origin) {
        return Ok(Outcome::Unchanged(manifest));
    }
    let staging = Staging::begin(request.output)?;
    let named = SPLITS.iter().filter(|name| !request.recipe.split(name).is_empty());
    progress.stage("reading", named.clone().count() as u64);
    let mut splits = Vec::new();
    for name in named {
        splits.push(SplitDocuments::read(name, request.recipe.split(name), request.data)?);
        progress.reached(splits.len() as u64);
    }
    write(request, origin, &splits, staging, progress)
}

/// Prepares text that comes from a generator rather than from files.
///
/// `settings` is what determines the text, for the manifest; `generate` gives the splits and may
/// write files of its own into the directory that it gets.
pub fn prepare_generated(
    request: &Request<'_>,
    settings: serde_json::Value,
    generate: impl FnOnce(&Path) -> Result<Vec<SplitDocuments>>,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let inputs = hash_inputs(request, progress)?;
    let origin = Origin { recipe: request.recipe.clone(), generated: Some(settings), inputs };
    if let Some(manifest) = up_to_date(request, &origin) {
        return Ok(Outcome::Unchanged(manifest));
    }
    let staging = Staging::begin(request.output)?;
    progress.stage("generating", 1);
    let splits = generate(staging.path())?;
    progress.reached(1);
    write(request, origin, &splits, staging, progress)
}

fn up_to_date(request: &Request<'_>, origin: &Origin) -> Option<Manifest> {
    if request.force {
        return None;
    }
    // A damaged or missing manifest only means that there is something to do.
    let manifest = Manifest::load(request.output).ok()?;
    manifest.is_up_to_date(origin, request.output).then_some(manifest)
}

/// Hashes every file that the recipe reads, each once, in the order of the recipe.
fn hash_inputs(request: &Request<'_>, progress: &mut dyn Progress) -> Result<Vec<FileHash>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let imports = [&request.recipe.tokenizer.source, &request.recipe.tokenizer.target];
    for import in imports.into_iter().flatten() {
        files.push(request.data.join(&import.model));
        files.extend(import.dictionary.as_ref().map(|path| request.data.join(path)));
    }
    for split in SPLITS {
        for part in request.recipe.split(split) {
            files.extend(part.input(request.data)?.files());
        }
    }
    progress.stage("checking inputs", files.len() as u64);
    let mut hashes: Vec<FileHash> = Vec::new();
    for (index, path) in files.iter().enumerate() {
        // A path may lead into an archive; then the archive is the file.
        let mut candidates = path.ancestors().filter(|ancestor| ancestor.is_file());
        let file = candidates.next().unwrap_or(path);
        let name = file.strip_prefix(request.data).unwrap_or(file).display().to_string();
        if hashes.iter().all(|hash| hash.file != name) {
            hashes.push(FileHash::of(file, &name)?);
        }
        progress.reached(index as u64 + 1);
    }
    Ok(hashes)
}

fn write(
    request: &Request<'_>,
    origin: Origin,
    splits: &[SplitDocuments],
    staging: Staging,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let mut manifest = Manifest::new(origin);
    let train = splits.iter().find(|split| split.name == "train");
    let tokenizers = Tokenizers::make(request, train, progress)?;
    tokenizers.source.save(staging.path(), side_name(Side::Source))?;
    tokenizers.target.save(staging.path(), side_name(Side::Target))?;
    manifest.vocabularies = Vocabularies {
        source: tokenizers.source.vocabulary_size(),
        target: tokenizers.target.vocabulary_size(),
    };
    let training = TrainingPairs::new(train);
    for split in splits {
        let content = encode_split(split, &tokenizers, request.threads, progress);
        content.write(&staging.path().join(store_name(&split.name)))?;
        manifest.splits.push(SplitStatistics::of(&split.name, &content));
        manifest.warnings.extend(inspect(split, &content, &training));
    }
    manifest.outputs = hash_outputs(staging.path())?;
    let text = serde_json::to_string_pretty(&manifest)
        .map_err(|error| Error::new(format!("cannot describe the directory: {error}")))?;
    let path = staging.path().join(MANIFEST);
    std::fs::write(&path, text + "\n").map_err(|error| Error::io("write", &path, error))?;
    staging.finish()?;
    Ok(Outcome::Written(manifest))
}

struct Tokenizers {
    source: Tokenizer,
    target: Tokenizer,
}

impl Tokenizers {
    fn make(
        request: &Request<'_>,
        train: Option<&SplitDocuments>,
        progress: &mut dyn Progress,
    ) -> Result<Self> {
        let recipe = &request.recipe.tokenizer;
        let import = |files: &Option<ImportFiles>| {
            files.as_ref().map(|files| {
                let dictionary = files.dictionary.as_ref().map(|path| request.data.join(path));
                Tokenizer::import(&request.data.join(&files.model), dictionary.as_deref())
            })
        };
        let source = import(&recipe.source).transpose()?;
        let target = import(&recipe.target).transpose()?;
        let count = |lines: Vec<&str>| count_words(&lines, request.threads);
        let languages = &request.recipe.languages;
        let mut learn = |counts: &WordCounts, what: &str| {
            let settings = TrainSettings {
                vocabulary_size: recipe.vocabulary_size,
                ..TrainSettings::default()
            };
            progress.stage(&format!("learning pieces ({what})"), recipe.vocabulary_size as u64);
            Tokenizer::train(counts, settings, &mut |pieces| progress.reached(pieces as u64))
        };
        let train =
            || train.ok_or_else(|| Error::new("there is no training split to learn pieces from"));
        if recipe.joint {
            let mut counts = count(train()?.source_lines());
            counts.merge(count(train()?.target_lines()));
            let tokenizer = learn(&counts, "joint")?;
            return Ok(Self { source: tokenizer.clone(), target: tokenizer });
        }
        let source = match source {
            Some(tokenizer) => tokenizer,
            None => learn(&count(train()?.source_lines()), &languages.source)?,
        };
        let target = match target {
            Some(tokenizer) => tokenizer,
            None => learn(&count(train()?.target_lines()), &languages.target)?,
        };
        Ok(Self { source, target })
    }
}

fn encode_split(
    split: &SplitDocuments,
    tokenizers: &Tokenizers,
    threads: usize,
    progress: &mut dyn Progress,
) -> StoreContent {
    let source = split.source_lines();
    let target = split.target_lines();
    progress.stage(&format!("encoding {}", split.name), (source.len() + target.len()) as u64);
    let mut done = 0;
    let mut encode = |tokenizer: &Tokenizer, lines: &[&str]| {
        let mut side =
            EncodedSide { vocabulary_size: tokenizer.vocabulary_size(), ..EncodedSide::default() };
        for part in lines.chunks(REPORT_EVERY * threads.max(1)) {
            let (ids, ends) = encode_lines(tokenizer, part, threads);
            let start = side.ids.len();
            side.ids.extend(ids);
            side.ends.extend(ends.into_iter().map(|end| start + end));
            done += part.len();
            progress.reached(done as u64);
        }
        side
    };
    StoreContent {
        documents: split
            .documents
            .iter()
            .map(|document| (document.id.clone(), document.segments.len()))
            .collect(),
        source: encode(&tokenizers.source, &source),
        target: split.has_target().then(|| encode(&tokenizers.target, &target)),
    }
}

/// Hashes what was written, in the order of names, files in folders included.
fn hash_outputs(directory: &Path) -> Result<Vec<FileHash>> {
    let mut files = Vec::new();
    let mut folders = vec![directory.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let failed = |error| Error::io("read", &folder, error);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let name = |path: &Path| path.strip_prefix(directory).unwrap_or(path).display().to_string();
    files.iter().map(|path| FileHash::of(path, &name(path))).collect()
}

#[cfg(test)]
mod tests;
