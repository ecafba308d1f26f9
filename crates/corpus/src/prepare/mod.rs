//! From files of text to a prepared directory: tokenizers, token stores, manifest.
//!
//! | file | content |
//! | --- | --- |
//! | `tokenizer.source.json`, `tokenizer.target.json` | the tokenizers ([`crate::tokenizer`]) |
//! | `train.tokens`, `valid.tokens`, `test.tokens` | the splits ([`crate::store`]); large ones in
//! shards (`train.00000.tokens`), with one folder per corpus if there are several |
//! | `manifest.json` | settings, hashes of inputs and outputs, statistics, warnings |
//!
//! The same inputs and settings give the same bytes, regardless of the number of threads.

mod corpora;
mod counting;
mod directory;
mod encode;
pub(crate) mod filter;
mod manifest;
mod practice;
mod progress;
mod reading;
mod recipe;
mod resume;
mod splits;
mod spool;
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
use abridge_base::manifest::tool;
use counting::Counts;
use directory::{begin, side_name};
use encode::{Tokenizers, encode};
use manifest::Origin;
use reading::Text;
use resume::Notes;

use crate::formats::STANDARD_INPUT;
use crate::store::Side;
use crate::tokenizer::{TrainSettings, WordCounts};
use crate::{Error, Result, Tokenizer};

/// What to do, and where.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Languages, tokenizers, files.
    pub recipe: &'a Recipe,
    /// The directory that the recipe's paths are relative to.
    pub data: &'a Path,
    /// The directory to write.
    pub output: &'a Path,
    /// Threads for counting and encoding.
    pub threads: usize,
    /// Prepares even if nothing has changed.
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
    /// The directory was already up to date.
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
///
/// Text is streamed once into spool files, in shards of some hundred thousand sentences, which are
/// then encoded several at a time; so memory use does not depend on the size of the corpus. A
/// preparation that is interrupted after reading resumes at the same shard.
pub fn prepare(request: &Request<'_>, progress: &mut dyn Progress) -> Result<Outcome> {
    request.recipe.check()?;
    let inputs = hash_inputs(request, progress)?;
    let origin = Origin { tool: tool(), recipe: request.recipe.clone(), generated: None, inputs };
    if let Some(manifest) = up_to_date(request, &origin) {
        return Ok(Outcome::Unchanged(manifest));
    }
    let staging = request.begin(&origin)?;
    let notes = Notes::open(request.output, (!request.force).then_some(&origin))?;
    let (text, counts) = if let Some(text) = notes.text(&origin) {
        (text, None)
    } else {
        let (text, counts) = Text::read(request, &notes.text_folder(), progress)?;
        (notes.save_text(&origin, text)?, Some(counts))
    };
    write(request, origin, (text, counts), &notes, staging, progress)
}

/// Prepares text that comes from a generator rather than from files.
///
/// `settings` determines the text, for the manifest; `generate` returns the splits and may write
/// its own files into the directory that it is given.
pub fn prepare_generated(
    request: &Request<'_>,
    settings: serde_json::Value,
    generate: impl FnOnce(&Path) -> Result<Vec<SplitDocuments>>,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let inputs = hash_inputs(request, progress)?;
    let recipe = request.recipe.clone();
    let origin = Origin { tool: tool(), recipe, generated: Some(settings), inputs };
    if let Some(manifest) = up_to_date(request, &origin) {
        return Ok(Outcome::Unchanged(manifest));
    }
    let staging = request.begin(&origin)?;
    let notes = Notes::open(request.output, None)?;
    progress.stage("generating", 1);
    let splits = generate(staging.path())?;
    let (text, counts) = Text::put_aside(splits, &notes.text_folder(), request.threads)?;
    progress.reached(1);
    write(request, origin, (text, Some(counts)), &notes, staging, progress)
}

fn up_to_date(request: &Request<'_>, origin: &Origin) -> Option<Manifest> {
    // Standard input is not known before it is read.
    let is_unknown = origin.inputs.iter().any(|input| input.file == STANDARD_INPUT);
    if request.force || is_unknown {
        return None;
    }
    // A damaged or missing manifest only means that the directory must be prepared.
    let manifest = Manifest::load(request.output).ok()?;
    manifest.is_up_to_date(origin, request.output).then_some(manifest)
}

/// Hashes every file that the recipe reads, each once, in the order of the recipe.
fn hash_inputs(request: &Request<'_>, progress: &mut dyn Progress) -> Result<Vec<FileHash>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let recipe = &request.recipe.tokenizer;
    if let Some(model) = &recipe.model {
        let model = request.data.join(model);
        for side in [Side::Source, Side::Target] {
            files.extend(Tokenizer::files(&model, side_name(side))?);
        }
    }
    let imports = [&recipe.source, &recipe.target];
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
        // A path may lead into an archive; then the archive is hashed.
        let mut candidates = path.ancestors().filter(|ancestor| ancestor.is_file());
        let file = candidates.next().unwrap_or(path);
        let name = file.strip_prefix(request.data).unwrap_or(file).display().to_string();
        if hashes.iter().all(|hash| hash.file != name) {
            hashes.push(if name == STANDARD_INPUT {
                FileHash { file: name, bytes: 0, sha256: String::new() }
            } else {
                FileHash::of(file, &name)?
            });
        }
        progress.reached(index as u64 + 1);
    }
    Ok(hashes)
}

fn write(
    request: &Request<'_>,
    origin: Origin,
    (text, counts): (Text, Option<Counts>),
    notes: &Notes,
    staging: OutputDirectory,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let folder = notes.files();
    let tokenizers = if notes.has_tokenizers() {
        let load = |side| Tokenizer::load(&folder, side_name(side));
        Tokenizers { source: load(Side::Source)?, target: load(Side::Target)? }
    } else {
        let counts = match counts {
            Some(counts) => counts,
            None => text.count(&notes.text_folder(), request.threads)?,
        };
        let tokenizers = make_tokenizers(request, counts, progress)?;
        tokenizers.source.save(&folder, side_name(Side::Source))?;
        tokenizers.target.save(&folder, side_name(Side::Target))?;
        notes.save_tokenizers()?;
        tokenizers
    };
    let encoded = encode(&text, &tokenizers, notes, request.threads, progress)?;
    let mut manifest = Manifest::new(origin);
    manifest.vocabularies = Vocabularies {
        source: tokenizers.source.vocabulary_size(),
        target: tokenizers.target.vocabulary_size(),
    };
    for shards in encoded {
        let mut statistics = shards[0].statistics.clone();
        shards[1..].iter().for_each(|shard| statistics.add(&shard.statistics));
        statistics.shards = Some(shards.len()).filter(|&count| count > 1);
        manifest.splits.push(statistics);
        manifest.warnings.extend(warnings::join(shards.into_iter().map(|shard| shard.warnings)));
    }
    manifest.warnings.extend(text.warnings);
    manifest.filtered = text.filtered;
    manifest.skipped = text.skipped;
    notes.move_files(staging.path())?;
    manifest.outputs = FileList::of_directory(staging.path(), MANIFEST)?;
    let text = serde_json::to_string_pretty(&manifest)
        .map_err(|error| Error::new(format!("cannot serialise the manifest: {error}")))?;
    write_new(&staging.path().join(MANIFEST), (text + "\n").as_bytes())?;
    staging.finish()?;
    Ok(Outcome::Written(manifest))
}

/// Trains, imports or copies the tokenizers. Pieces are learned from the word counts of all
/// training text, each corpus as it is: weights affect only model training, not the pieces.
fn make_tokenizers(
    request: &Request<'_>,
    counts: Counts,
    progress: &mut dyn Progress,
) -> Result<Tokenizers> {
    let recipe = &request.recipe.tokenizer;
    if let Some(model) = &recipe.model {
        let load = |side| Tokenizer::load(&request.data.join(model), side_name(side));
        return Ok(Tokenizers { source: load(Side::Source)?, target: load(Side::Target)? });
    }
    let import = |files: &Option<ImportFiles>| {
        files.as_ref().map(|files| {
            let dictionary = files.dictionary.as_ref().map(|path| request.data.join(path));
            Tokenizer::import(&request.data.join(&files.model), dictionary.as_deref())
        })
    };
    let languages = &request.recipe.languages;
    let mut learn = |counts: &WordCounts, codes: &[String], what: &str| {
        let settings =
            TrainSettings { vocabulary_size: recipe.vocabulary_size, ..TrainSettings::default() };
        progress.stage(&format!("learning pieces ({what})"), recipe.vocabulary_size as u64);
        Tokenizer::train_towards(counts, settings, codes, &mut |pieces| {
            progress.reached(pieces as u64);
        })
    };
    let codes = request.recipe.target_languages();
    let Counts { mut source, target } = counts;
    if recipe.joint {
        source.merge_bounded(target);
        let tokenizer = learn(&source, &codes, "joint")?;
        return Ok(Tokenizers { source: tokenizer.clone(), target: tokenizer });
    }
    Ok(Tokenizers {
        source: match import(&recipe.source) {
            Some(tokenizer) => tokenizer?,
            None => learn(&source, &codes, &languages.source)?,
        },
        target: match import(&recipe.target) {
            Some(tokenizer) => tokenizer?,
            None => learn(&target, &[], &languages.target)?,
        },
    })
}

#[cfg(test)]
mod tests;
