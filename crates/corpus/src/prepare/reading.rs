//! Streams the splits of a recipe, filters the training text, and spools it in shards.

use std::path::Path;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::aside::{Aside, AsideSoFar};
use super::corpora::cut_document;
use super::counting::{Counting, Counts};
use super::filter::{FilterReport, Filters, hash};
use super::recipe::SplitRecipe;
use super::resume::Notes;
use super::splits::{SplitDocuments, kind};
use super::spool::{ShardSize, read_shard};
use super::warnings::{Lengths, TrainingPairs, Warning};
use super::{Progress, Request, size_of};
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

/// How far the text of a recipe was read.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadSoFar {
    /// What is finished, with its splits in the order of reading.
    text: Text,
    /// The training split that is being read.
    split: Option<ReadSplit>,
}

/// How far a training split was read: to the end of a document.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ReadSplit {
    /// What is put aside of it.
    aside: AsideSoFar,
    /// Documents that were taken from its files.
    taken: usize,
    /// Documents that filters left.
    number: u64,
    lengths: Lengths,
    /// What filters removed, and the number of pairs before.
    filtered: Option<(Vec<FilterReport>, usize)>,
}

impl Text {
    /// Spools the files of a recipe, or what is left of them after an interruption; also returns
    /// the word counts of the training text.
    pub fn read(
        request: &Request<'_>,
        notes: &Notes,
        progress: &mut dyn Progress,
    ) -> Result<(Self, Counts)> {
        // The sets that training text must not overlap with come first.
        let splits = request.recipe.splits();
        let (train, others): (Vec<_>, Vec<_>) =
            splits.into_iter().partition(|split| split.split == "train");
        let mut reader = Reader::new(request, notes, progress)?;
        for split in others.iter().chain(&train) {
            reader.read(*split)?;
        }
        reader.finish(train.len())
    }

    /// The same for documents in memory.
    pub fn put_aside(
        splits: Vec<SplitDocuments>,
        notes: &Notes,
        threads: usize,
    ) -> Result<(Self, Counts)> {
        let mut text = Self::default();
        let mut counting = Counting::start(threads);
        for split in splits.iter().filter(|split| split.kind() != "train") {
            split.documents.iter().for_each(|document| text.training.look_for(document));
        }
        for split in splits {
            let mut aside = Aside::new(&split.name, None, notes)?;
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
    pub fn count(
        &self,
        folder: &Path,
        threads: usize,
        progress: &mut dyn Progress,
    ) -> Result<Counts> {
        let splits = || self.splits.iter().filter(|split| split.kind() == "train");
        let shards = splits().map(|split| split.shards.len()).sum::<usize>();
        progress.stage("counting words", shards as u64);
        let mut counting = Counting::start(threads);
        for split in splits() {
            for (shard, size) in split.shards.iter().enumerate() {
                counting.add(folder.join(&split.name), shard, *size)?;
            }
        }
        let counts = counting.finish_with(&mut |done| progress.reached(done as u64))?;
        Ok(counts)
    }
}

/// Reads split after split.
struct Reader<'a> {
    request: &'a Request<'a>,
    notes: &'a Notes,
    progress: &'a mut dyn Progress,
    bad: BadLines,
    counting: Counting,
    text: Text,
    /// Bytes of the finished files.
    done: u64,
    /// Splits that were finished before an interruption.
    finished: usize,
    /// The split that was being read then.
    resumed: Option<ReadSplit>,
}

impl<'a> Reader<'a> {
    fn new(
        request: &'a Request<'a>,
        notes: &'a Notes,
        progress: &'a mut dyn Progress,
    ) -> Result<Self> {
        let mut total = 0;
        for split in request.recipe.splits() {
            total += bytes_of(&split, request)?;
        }
        let (mut text, resumed) = match notes.read_so_far() {
            Some(ReadSoFar { text, split }) => (text, split),
            None => (Text::default(), None),
        };
        let before = text.splits.iter().flat_map(|split| &split.shards);
        let before = before.chain(resumed.iter().flat_map(|read| read.aside.shards()));
        let sentences: usize = before.map(|shard| shard.sentences).sum();
        progress.stage(
            &match sentences {
                0 => "reading".to_owned(),
                _ => format!("reading, continued after {sentences} sentences"),
            },
            total,
        );
        let mut counting = Counting::start(request.threads);
        for split in &text.splits {
            let folder = notes.text_folder().join(&split.name);
            for (shard, size) in split.shards.iter().enumerate() {
                if split.kind() == "train" {
                    counting.add(folder.clone(), shard, *size)?;
                } else {
                    for document in read_shard(&folder, shard, *size)? {
                        text.training.look_for(&document);
                    }
                }
            }
        }
        let skipped = std::mem::take(&mut text.skipped);
        Ok(Self {
            request,
            notes,
            progress,
            bad: BadLines { allowed: request.recipe.skip_bad, skipped },
            counting,
            done: 0,
            finished: text.splits.len(),
            text,
            resumed,
        })
    }

    fn read(&mut self, split: SplitRecipe<'_>) -> Result<()> {
        if self.finished > 0 {
            self.finished -= 1;
            self.done += bytes_of(&split, self.request)?;
            return Ok(());
        }
        let name = split.name();
        let is_train = split.split == "train";
        let mut filters = if is_train { self.filters(&split)? } else { None };
        let cut = split.corpus.and_then(|corpus| corpus.cut_documents).filter(|_| is_train);
        let language = split.corpus.and_then(|corpus| corpus.target.clone());
        let mut lengths = Lengths::default();
        let (mut taken, mut number) = (0, 0);
        // Lines that were skipped in this split are found again when its files are read again.
        let skipped_before = self.bad.skipped.clone();
        let resumed = self.resumed.take();
        let mut aside = match &resumed {
            None => Aside::new(&name, language, self.notes)?,
            Some(read) => {
                (number, lengths) = (read.number, read.lengths.clone());
                if let (Some(filters), Some(so_far)) = (&mut filters, &read.filtered) {
                    filters.resume(so_far.clone());
                }
                self.remember(&read.aside, filters.as_mut())?;
                Aside::resume(&read.aside, language, self.notes, &mut self.counting)?
            }
        };
        let read_before = resumed.map_or(0, |read| read.taken);
        let mut ids: FxHashSet<u64> = FxHashSet::default();
        for part in split.files {
            let input = part.input(self.request.data)?;
            let mut stream = DocumentStream::open(&input)?;
            if part.repeated_ids {
                stream = stream.with_repeated_ids();
            }
            let mut sentences = 0;
            while let Some(mut document) = stream.next(&mut self.bad)? {
                sentences += document.segments.len();
                taken += 1;
                self.progress.reached(self.done + stream.bytes_read());
                if taken > read_before {
                    lengths.look_at(&document);
                }
                // Otherwise sets that number their documents from 1 would collide.
                if !ids.insert(hash(&document.id)) {
                    document.id = format!("{}/{}", part.source.display(), document.id);
                    ids.insert(hash(&document.id));
                }
                if taken <= read_before {
                    continue;
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
                if let Some(aside) = aside.after_a_shard()? {
                    let split = ReadSplit {
                        aside,
                        taken,
                        number,
                        lengths: lengths.clone(),
                        filtered: filters.as_ref().map(Filters::so_far),
                    };
                    self.save(skipped_before.clone(), Some(split))?;
                }
            }
            self.done += input.files().iter().map(|path| size_of(path)).sum::<u64>();
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
        self.save(self.bad.skipped.clone(), None)
    }

    /// Shows the filters what had passed them before an interruption.
    fn remember(&self, aside: &AsideSoFar, filters: Option<&mut Filters>) -> Result<()> {
        let Some(filters) = filters else { return Ok(()) };
        let folder = self.notes.text_folder().join(&aside.name);
        for (shard, size) in aside.shards().iter().enumerate() {
            for document in read_shard(&folder, shard, *size)? {
                document.segments.iter().for_each(|segment| filters.remember(segment));
            }
        }
        Ok(())
    }

    /// Records how far the text is read.
    fn save(&mut self, skipped: Vec<String>, split: Option<ReadSplit>) -> Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.skipped = skipped;
        let read = ReadSoFar { text, split };
        let saved = self.notes.save_read_so_far(&read);
        self.text = read.text;
        saved
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
                let folder = self.notes.text_folder().join(&other.name);
                for (shard, size) in other.shards.iter().enumerate() {
                    sets.extend(read_shard(&folder, shard, *size)?);
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

/// Bytes of the files of a split, as far as they are known.
fn bytes_of(split: &SplitRecipe<'_>, request: &Request<'_>) -> Result<u64> {
    let mut bytes = 0;
    for part in split.files {
        bytes += part.input(request.data)?.files().iter().map(|path| size_of(path)).sum::<u64>();
    }
    Ok(bytes)
}
