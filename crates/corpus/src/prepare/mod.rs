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

mod aside;
mod corpora;
mod counting;
mod description;
mod directory;
mod encode;
pub(crate) mod filter;
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
pub use description::{Description, FileHash, FileList, MANIFEST, Vocabularies};
pub use directory::PreparedDirectory;
pub use filter::{FilterRecipe, FilterReport, OverlapRecipe, Sameness, TakenOut};
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
use description::Origin;
use directory::{begin, side_name};
use encode::{Tokenizers, encode};
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
    Written(Description),
    /// The directory was already up to date.
    Unchanged(Description),
}

impl Outcome {
    /// The description of the directory, new or old.
    pub fn description(&self) -> &Description {
        match self {
            Self::Written(description) | Self::Unchanged(description) => description,
        }
    }
}

/// Prepares the files of a recipe.
///
/// Text is streamed once into spool files, in shards of some hundred thousand sentences, which are
/// then encoded several at a time; so memory use does not depend on the size of the corpus. A
/// preparation that is interrupted resumes at the same shard, unless it reads standard input.
pub fn prepare(request: &Request<'_>, progress: &mut dyn Progress) -> Result<Outcome> {
    request.recipe.check()?;
    let inputs = hash_inputs(request, progress)?;
    let origin = Origin { tool: tool(), recipe: request.recipe.clone(), generated: None, inputs };
    if let Some(description) = up_to_date(request, &origin) {
        return Ok(Outcome::Unchanged(description));
    }
    let staging = request.begin(&origin)?;
    let is_repeatable = !reads_standard_input(&origin);
    let notes = Notes::open(request.output, is_repeatable.then_some(&origin), request.force)?;
    let prepare = || {
        let (text, counts) = if let Some(text) = notes.text() {
            (text, None)
        } else {
            let (text, counts) = Text::read(request, &notes, progress)?;
            notes.save_text(&text)?;
            (text, Some(counts))
        };
        write(request, origin, (text, counts), &notes, staging, progress)
    };
    prepare().map_err(|error| notes.keep_after(error))
}

/// Then the inputs are not known before they are read.
fn reads_standard_input(origin: &Origin) -> bool {
    origin.inputs.iter().any(|input| input.file == STANDARD_INPUT)
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
    if let Some(description) = up_to_date(request, &origin) {
        return Ok(Outcome::Unchanged(description));
    }
    let staging = request.begin(&origin)?;
    let notes = Notes::open(request.output, None, false)?;
    progress.stage("generating", 1);
    let splits = generate(staging.path())?;
    let (text, counts) = Text::put_aside(splits, &notes, request.threads)?;
    progress.reached(1);
    write(request, origin, (text, Some(counts)), &notes, staging, progress)
}

fn up_to_date(request: &Request<'_>, origin: &Origin) -> Option<Description> {
    if request.force || reads_standard_input(origin) {
        return None;
    }
    // A damaged or missing manifest only means that the directory must be prepared.
    let description = Description::load(request.output).ok()?;
    description.is_up_to_date(origin, request.output).then_some(description)
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
    let mut names: Vec<(&Path, String)> = Vec::new();
    for path in &files {
        let file = file_of(path);
        let name = file.strip_prefix(request.data).unwrap_or(file).display().to_string();
        if names.iter().all(|(_, other)| *other != name) {
            names.push((file, name));
        }
    }
    progress.stage("checking inputs", names.iter().map(|(file, _)| size_of(file)).sum());
    let mut done = 0;
    let mut hashes = Vec::new();
    for (file, name) in names {
        hashes.push(if name == STANDARD_INPUT {
            FileHash { file: name, bytes: 0, sha256: String::new() }
        } else {
            FileHash::of_with(file, &name, &mut |bytes| progress.reached(done + bytes))?
        });
        done += hashes.last().map_or(0, |hash| hash.bytes);
    }
    Ok(hashes)
}

/// The file that a path leads to: an archive if the path leads into one.
fn file_of(path: &Path) -> &Path {
    path.ancestors().find(|ancestor| ancestor.is_file()).unwrap_or(path)
}

/// Bytes of the file that a path leads to; none for a pipe.
fn size_of(path: &Path) -> u64 {
    std::fs::metadata(file_of(path)).map_or(0, |found| found.len())
}

fn write(
    request: &Request<'_>,
    origin: Origin,
    (text, counts): (Text, Option<Counts>),
    notes: &Notes,
    staging: OutputDirectory,
    progress: &mut dyn Progress,
) -> Result<Outcome> {
    let tokenizers = if let Some([source, target]) = notes.tokenizers() {
        Tokenizers { source, target }
    } else {
        let counts = match counts {
            Some(counts) => counts,
            None => text.count(&notes.text_folder(), request.threads, progress)?,
        };
        let tokenizers = make_tokenizers(request, counts, progress)?;
        notes.save_tokenizers(&tokenizers.source, &tokenizers.target)?;
        tokenizers
    };
    let encoded = encode(&text, &tokenizers, notes, request.threads, progress)?;
    let mut description = Description::new(origin);
    description.vocabularies = Vocabularies {
        source: tokenizers.source.vocabulary_size(),
        target: tokenizers.target.vocabulary_size(),
    };
    let mut files = Vec::new();
    for side in [Side::Source, Side::Target] {
        for path in Tokenizer::files(&notes.files(), side_name(side))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            files.push(FileHash::of(&path, &name)?);
        }
    }
    files.extend(encoded.iter().flatten().map(|shard| shard.file.clone()));
    for shards in encoded {
        let mut statistics = shards[0].statistics.clone();
        shards[1..].iter().for_each(|shard| statistics.add(&shard.statistics));
        statistics.shards = Some(shards.len()).filter(|&count| count > 1);
        description.splits.push(statistics);
        description.warnings.extend(warnings::join(shards.into_iter().map(|shard| shard.warnings)));
    }
    description.warnings.extend(text.warnings);
    description.filtered = text.filtered;
    description.skipped = text.skipped;
    progress.stage("writing the directory", 1);
    notes.place(files.iter().map(|file| file.file.clone()), staging.path())?;
    description.outputs = FileList::of_directory_knowing(staging.path(), MANIFEST, &files)?;
    let text = serde_json::to_string_pretty(&description)
        .map_err(|error| Error::new(format!("cannot serialise the manifest: {error}")))?;
    write_new(&staging.path().join(MANIFEST), (text + "\n").as_bytes())?;
    staging.finish()?;
    progress.reached(1);
    Ok(Outcome::Written(description))
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
