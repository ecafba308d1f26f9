//! Streams the splits of a recipe, filters the training text, and spools it in shards.

use std::path::Path;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::corpora::cut_document;
use super::counting::{Counting, Counts};
use super::filter::{FilterReport, Filters, hash};
use super::recipe::SplitRecipe;
use super::splits::{SplitDocuments, check_translations, kind};
use super::spool::{ShardSize, SpoolWriter, read_shard};
use super::warnings::{Lengths, TrainingPairs, Warning};
use super::{Progress, Request};
use crate::formats::{BadLines, DocumentStream};
use crate::{Document, Error, Result};

/// All text of a recipe, spooled in a folder.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Text {
    /// The splits in the order of the recipe.
    pub splits: Vec<SpooledSplit>,
    /// What filters removed.
    pub filtered: Vec<FilterReport>,
    /// Bad lines that were skipped.
    pub skipped: Vec<String>,
    /// Pairs of other splits that are in the training text.
    pub training: TrainingPairs,
    /// What deserved a look already when it was read.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// A spooled split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpooledSplit {
    /// The name, as in `europarl/train`.
    pub name: String,
    /// Whether it has translations.
    pub has_target: bool,
    /// The target language that its source sentences name, if there are several.
    #[serde(default)]
    pub language: Option<String>,
    /// Its shards.
    pub shards: Vec<ShardSize>,
}

impl SpooledSplit {
    /// The split without its corpus: `train`, `valid` or `test`.
    pub fn kind(&self) -> &str {
        kind(&self.name)
    }
}

impl Text {
    /// Spools the files of a recipe into a folder; also returns the word counts of the training
    /// text.
    pub fn read(
        request: &Request<'_>,
        folder: &Path,
        progress: &mut dyn Progress,
    ) -> Result<(Self, Counts)> {
        let mut reader = Reader::new(request, folder, progress)?;
        // The sets that training text must not overlap with come first.
        let splits = request.recipe.splits();
        let (train, others): (Vec<_>, Vec<_>) =
            splits.into_iter().partition(|split| split.split == "train");
        for split in others.iter().chain(&train) {
            reader.read(*split)?;
        }
        reader.finish(train.len())
    }

    /// The same for documents in memory.
    pub fn put_aside(
        splits: Vec<SplitDocuments>,
        folder: &Path,
        threads: usize,
    ) -> Result<(Self, Counts)> {
        let mut text = Self::default();
        let mut counting = Counting::start(threads);
        for split in splits.iter().filter(|split| split.kind() != "train") {
            split.documents.iter().for_each(|document| text.training.look_for(document));
        }
        for split in splits {
            let mut aside = Aside::new(&split.name, None, folder)?;
            for document in split.documents {
                if kind(&split.name) == "train" {
                    text.training.look_at(&document);
                }
                aside.push(&document, &mut counting)?;
            }
            text.splits.push(aside.finish(&mut counting)?);
        }
        Ok((text, counting.finish()?))
    }

    /// Counts the words of training text that was spooled before.
    pub fn count(&self, folder: &Path, threads: usize) -> Result<Counts> {
        let mut counting = Counting::start(threads);
        for split in self.splits.iter().filter(|split| split.kind() == "train") {
            for shard in 0..split.shards.len() {
                counting.add(folder.join(&split.name), shard)?;
            }
        }
        counting.finish()
    }
}

/// Spools the documents of a split, and counts their words if it is a training split.
struct Aside {
    split: SpooledSplit,
    folder: std::path::PathBuf,
    writer: SpoolWriter,
    sentences: usize,
    translations: usize,
}

impl Aside {
    fn new(name: &str, language: Option<String>, folder: &Path) -> Result<Self> {
        let folder = folder.join(name);
        let writer = SpoolWriter::create(&folder)?;
        let (name, shards) = (name.to_owned(), Vec::new());
        let split = SpooledSplit { name, has_target: false, language, shards };
        Ok(Self { split, folder, writer, sentences: 0, translations: 0 })
    }

    fn push(&mut self, document: &Document, counting: &mut Counting) -> Result<()> {
        if document.segments.is_empty() {
            return Ok(());
        }
        self.sentences += document.segments.len();
        self.translations += document.segments.iter().filter(|s| s.target.is_some()).count();
        let complete = self.writer.push(document)?;
        self.count(complete, counting)
    }

    fn count(&self, shard: Option<usize>, counting: &mut Counting) -> Result<()> {
        match shard.filter(|_| self.split.kind() == "train") {
            Some(shard) => counting.add(self.folder.clone(), shard),
            None => Ok(()),
        }
    }

    fn finish(mut self, counting: &mut Counting) -> Result<SpooledSplit> {
        check_translations(&self.split.name, self.sentences, self.translations)?;
        let (last, shards) = self.writer.finish()?;
        self.count(last, counting)?;
        self.split.shards = shards;
        self.split.has_target = self.translations > 0;
        Ok(self.split)
    }
}

/// Reads split after split.
struct Reader<'a> {
    request: &'a Request<'a>,
    folder: &'a Path,
    progress: &'a mut dyn Progress,
    bad: BadLines,
    counting: Counting,
    text: Text,
    /// Bytes of the finished files.
    done: u64,
}

impl<'a> Reader<'a> {
    fn new(
        request: &'a Request<'a>,
        folder: &'a Path,
        progress: &'a mut dyn Progress,
    ) -> Result<Self> {
        let mut total = 0;
        for part in request.recipe.splits().iter().flat_map(|split| split.files) {
            let files = part.input(request.data)?.files();
            let sizes = files.iter().filter_map(|path| std::fs::metadata(path).ok());
            total += sizes.map(|found| found.len()).sum::<u64>();
        }
        progress.stage("reading", total);
        Ok(Self {
            request,
            folder,
            progress,
            bad: BadLines { allowed: request.recipe.skip_bad, skipped: Vec::new() },
            counting: Counting::start(request.threads),
            text: Text::default(),
            done: 0,
        })
    }

    fn read(&mut self, split: SplitRecipe<'_>) -> Result<()> {
        let name = split.name();
        let is_train = split.split == "train";
        let mut filters = if is_train { self.filters(&split)? } else { None };
        let cut = split.corpus.and_then(|corpus| corpus.cut_documents).filter(|_| is_train);
        let language = split.corpus.and_then(|corpus| corpus.target.clone());
        let mut aside = Aside::new(&name, language, self.folder)?;
        let mut ids: FxHashSet<u64> = FxHashSet::default();
        let mut lengths = Lengths::default();
        let mut number = 0;
        for part in split.files {
            let mut stream = DocumentStream::open(&part.input(self.request.data)?)?;
            if part.repeated_ids {
                stream = stream.with_repeated_ids();
            }
            let mut sentences = 0;
            while let Some(mut document) = stream.next(&mut self.bad)? {
                sentences += document.segments.len();
                lengths.look_at(&document);
                // Otherwise sets that number their documents from 1 would collide.
                if !ids.insert(hash(&document.id)) {
                    document.id = format!("{}/{}", part.source.display(), document.id);
                    ids.insert(hash(&document.id));
                }
                let kept = match &mut filters {
                    Some(filters) => filters.apply(document),
                    None => vec![document],
                };
                for document in kept.into_iter().filter(|kept| !kept.segments.is_empty()) {
                    let pieces = match cut {
                        Some(probability) => cut_document(document, number, probability),
                        None => vec![document],
                    };
                    number += 1;
                    for piece in &pieces {
                        if is_train {
                            self.text.training.look_at(piece);
                        } else {
                            self.text.training.look_for(piece);
                        }
                        aside.push(piece, &mut self.counting)?;
                    }
                }
                self.progress.reached(self.done + stream.bytes_read());
            }
            self.done += stream.bytes_read();
            if sentences == 0 {
                return Err(Error::new(format!("has no sentences for the {name} split"))
                    .in_file(&self.request.data.join(&part.source))
                    .remedy("check that it is the right file"));
            }
        }
        self.text.splits.push(aside.finish(&mut self.counting)?);
        self.text.warnings.extend(lengths.finish(&name));
        if let Some(filters) = filters {
            self.text.filtered.extend(filters.finish(&name));
        }
        Ok(())
    }

    fn filters(&self, split: &SplitRecipe<'_>) -> Result<Option<Filters>> {
        let recipe = self.request.recipe.filters_of(split.corpus);
        if recipe.is_off() {
            return Ok(None);
        }
        let languages = &self.request.recipe.languages_of(split.corpus);
        let mut sets: Vec<Document> = Vec::new();
        if let Some(overlap) = &recipe.overlap {
            sets = overlap.read(self.request.data, languages)?;
            let others = self.text.splits.iter().filter(|s| overlap.splits && s.kind() != "train");
            for other in others {
                for shard in 0..other.shards.len() {
                    sets.extend(read_shard(&self.folder.join(&other.name), shard)?);
                }
            }
        }
        Filters::new(recipe, languages, self.expected_pairs(split)?, sets.iter()).map(Some)
    }

    /// About how many pairs a split has, rather too many than too few, judging by its files.
    fn expected_pairs(&self, split: &SplitRecipe<'_>) -> Result<u64> {
        /// Both sides of a pair; those of subtitles have about 60 bytes.
        const BYTES: u64 = 50;
        /// The same compressed.
        const COMPRESSED_BYTES: u64 = 15;
        /// Of a pipe or a member of an archive, whose size is not known.
        const UNKNOWN: u64 = 100_000_000;
        let mut pairs = 0;
        for part in split.files {
            for path in part.input(self.request.data)?.files() {
                let file = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
                let is_compressed = path.extension().is_some_and(|e| e == "gz" || e == "zst");
                let bytes = if is_compressed { COMPRESSED_BYTES } else { BYTES };
                pairs += file.map_or(UNKNOWN, |file| file.len() / bytes);
            }
        }
        Ok(pairs)
    }

    fn finish(mut self, train: usize) -> Result<(Text, Counts)> {
        // Training splits are read last but listed first.
        self.text.splits.rotate_right(train);
        self.text.skipped = self.bad.skipped;
        Ok((self.text, self.counting.finish()?))
    }
}
