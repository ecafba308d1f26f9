//! From files of text to a prepared directory: tokenizers, token stores, manifest.
//!
//! | file | content |
//! | --- | --- |
//! | `tokenizer.source.json`, `tokenizer.target.json` | the tokenizers ([`crate::tokenizer`]) |
//! | `train.tokens`, `valid.tokens`, `test.tokens` | the splits ([`crate::store`]); of several corpora, in a folder for each |
//! | `manifest.json` | settings, hashes of inputs and outputs, statistics, warnings |
//!
//! The same inputs and settings give the same bytes, whatever the number of threads.

mod corpora;
mod directory;
mod filter;
mod manifest;
mod practice;
mod progress;
mod reading;
mod recipe;
mod splits;
mod statistics;
mod warnings;

use std::path::{Path, PathBuf};

pub use corpora::CorpusRecipe;
pub use directory::PreparedDirectory;
pub use filter::{FilterRecipe, FilterReport, OverlapRecipe, Sameness, TakenOut};
pub use manifest::{FileHash, FileList, MANIFEST, Manifest, Vocabularies};
pub use practice::prepare_practice;
pub use progress::{Progress, Silent};
pub use recipe::{
    ImportFiles, InputFiles, Languages, Recipe, SPLITS, SplitRecipe, TokenizerRecipe,
};
pub use splits::SplitDocuments;
pub use statistics::{DataTable, SideStatistics, SplitStatistics};
pub use warnings::{Warning, WarningKind};

use abridge_base::files::{OutputDirectory, write_new};
use directory::{begin, side_name, store_name};
use manifest::Origin;
use reading::read_splits;
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

impl Request<'_> {
    fn begin(&self, origin: &Origin) -> Result<OutputDirectory> {
        begin(self.output, origin.inputs.iter().map(|input| self.data.join(&input.file)))
    }
}

/// What preparation did.
#[derive(Clone, Debug, PartialEq)]
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
    let staging = request.begin(&origin)?;
    let (splits, filtered) = read_splits(request, progress)?;
    write(request, Manifest::new(origin, filtered), &splits, staging, progress)
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
    let staging = request.begin(&origin)?;
    progress.stage("generating", 1);
    let splits = generate(staging.path())?;
    progress.reached(1);
    write(request, Manifest::new(origin, Vec::new()), &splits, staging, progress)
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
    for part in request.recipe.splits().iter().flat_map(|split| split.files) {
        files.extend(part.input(request.data)?.files());
    }
    files.extend(request.recipe.overlapping_files(request.data));
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
    mut manifest: Manifest,
    splits: &[SplitDocuments],
    staging: OutputDirectory,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let tokenizers = Tokenizers::make(request, splits, progress)?;
    tokenizers.source.save(staging.path(), side_name(Side::Source))?;
    tokenizers.target.save(staging.path(), side_name(Side::Target))?;
    manifest.vocabularies = Vocabularies {
        source: tokenizers.source.vocabulary_size(),
        target: tokenizers.target.vocabulary_size(),
    };
    let training = TrainingPairs::new(splits);
    for split in splits {
        let content = encode_split(split, &tokenizers, request.threads, progress);
        let path = staging.path().join(store_name(&split.name));
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        }
        content.write(&path)?;
        manifest.splits.push(SplitStatistics::of(&split.name, &content));
        manifest.warnings.extend(inspect(split, &content, &training));
    }
    manifest.outputs = FileList::of_directory(staging.path(), MANIFEST)?;
    let text = serde_json::to_string_pretty(&manifest)
        .map_err(|error| Error::new(format!("cannot describe the directory: {error}")))?;
    write_new(&staging.path().join(MANIFEST), (text + "\n").as_bytes())?;
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
        splits: &[SplitDocuments],
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
        // Of all corpora together, each as it is: a weight changes what is trained on, not what the
        // pieces are.
        let train: Vec<&SplitDocuments> =
            splits.iter().filter(|split| split.kind() == "train").collect();
        let count = |lines: fn(&SplitDocuments) -> Vec<&str>| {
            if train.is_empty() {
                return Err(Error::new("there is no training split to learn pieces from"));
            }
            let mut counts = WordCounts::default();
            for split in &train {
                counts.merge(count_words(&lines(split), request.threads));
            }
            Ok(counts)
        };
        let languages = &request.recipe.languages;
        let mut learn = |counts: &WordCounts, what: &str| {
            let settings = TrainSettings {
                vocabulary_size: recipe.vocabulary_size,
                ..TrainSettings::default()
            };
            progress.stage(&format!("learning pieces ({what})"), recipe.vocabulary_size as u64);
            Tokenizer::train(counts, settings, &mut |pieces| progress.reached(pieces as u64))
        };
        let (sources, targets) = (SplitDocuments::source_lines, SplitDocuments::target_lines);
        if recipe.joint {
            let mut counts = count(sources)?;
            counts.merge(count(targets)?);
            let tokenizer = learn(&counts, "joint")?;
            return Ok(Self { source: tokenizer.clone(), target: tokenizer });
        }
        let source = match source {
            Some(tokenizer) => tokenizer,
            None => learn(&count(sources)?, &languages.source)?,
        };
        let target = match target {
            Some(tokenizer) => tokenizer,
            None => learn(&count(targets)?, &languages.target)?,
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

#[cfg(test)]
mod tests;
