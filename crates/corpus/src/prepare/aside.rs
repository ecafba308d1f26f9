//! The documents of a split put aside on disk, with their words counted.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::counting::Counting;
use super::reading::SpooledSplit;
use super::resume::Notes;
use super::splits::check_translations;
use super::spool::{ShardSize, SpoolWriter, Spooled};
use crate::{Document, Result};

/// Spools the documents of a split, and counts their words if it is a training split.
pub struct Aside {
    split: SpooledSplit,
    folder: PathBuf,
    writer: SpoolWriter,
    sentences: usize,
    translations: usize,
    /// Whether a shard was completed since the last time this was asked.
    has_completed: bool,
}

/// What is put aside of a training split that is still being read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AsideSoFar {
    /// The name of the split.
    pub name: String,
    sentences: usize,
    translations: usize,
    spooled: Spooled,
}

impl AsideSoFar {
    /// The sizes of its shards; the last one may be incomplete.
    pub fn shards(&self) -> &[ShardSize] {
        &self.spooled.shards
    }
}

impl Aside {
    /// Nothing yet of a split. `language` is the target language that its sentences name.
    pub fn new(name: &str, language: Option<String>, notes: &Notes) -> Result<Self> {
        let folder = notes.text_folder().join(name);
        let writer = SpoolWriter::create(&folder, notes.shard)?;
        let (name, shards) = (name.to_owned(), Vec::new());
        let split = SpooledSplit { name, has_target: false, language, shards };
        Ok(Self { split, folder, writer, sentences: 0, translations: 0, has_completed: false })
    }

    /// Continues a training split that was partly read; its complete shards are counted again.
    pub fn resume(
        so_far: &AsideSoFar,
        language: Option<String>,
        notes: &Notes,
        counting: &mut Counting,
    ) -> Result<Self> {
        let mut aside = Self::new(&so_far.name, language, notes)?;
        aside.writer = SpoolWriter::resume(&aside.folder, notes.shard, so_far.spooled.clone())?;
        (aside.sentences, aside.translations) = (so_far.sentences, so_far.translations);
        for shard in 0..so_far.spooled.complete() {
            aside.count(Some(shard), counting)?;
        }
        aside.has_completed = false;
        Ok(aside)
    }

    /// If a shard was completed since this was last asked: brings everything to disk, and returns
    /// what is needed to continue from here.
    pub fn after_a_shard(&mut self) -> Result<Option<AsideSoFar>> {
        if !std::mem::take(&mut self.has_completed) {
            return Ok(None);
        }
        Ok(Some(AsideSoFar {
            name: self.split.name.clone(),
            sentences: self.sentences,
            translations: self.translations,
            spooled: self.writer.save()?,
        }))
    }

    /// Adds a document.
    pub fn push(&mut self, document: &Document, counting: &mut Counting) -> Result<()> {
        if document.segments.is_empty() {
            return Ok(());
        }
        self.sentences += document.segments.len();
        self.translations += document.segments.iter().filter(|s| s.target.is_some()).count();
        let complete = self.writer.push(document)?;
        self.count(complete, counting)
    }

    fn count(&mut self, shard: Option<usize>, counting: &mut Counting) -> Result<()> {
        let Some(shard) = shard.filter(|_| self.split.kind() == "train") else { return Ok(()) };
        self.has_completed = true;
        counting.add(self.folder.clone(), shard, self.writer.shards()[shard])
    }

    /// Completes the split.
    pub fn finish(mut self, counting: &mut Counting) -> Result<SpooledSplit> {
        check_translations(&self.split.name, self.sentences, self.translations)?;
        let last = self.writer.close()?;
        self.count(last, counting)?;
        self.split.shards = self.writer.shards().to_vec();
        self.split.has_target = self.translations > 0;
        Ok(self.split)
    }
}
