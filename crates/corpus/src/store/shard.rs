//! One file of a token store.

use std::ops::Range;
use std::path::Path;

use abridge_base::hash::of_bytes;
use abridge_base::manifest::FileHash;

use super::header::{Header, Layout, u64_at};
use super::map::Bytes;
use super::reader::Side;
use crate::{Error, Result};

/// Documents of sentences of token ids, on both sides, in one file.
#[derive(Debug)]
pub struct Shard {
    bytes: Bytes,
    header: Header,
    layout: Layout,
}

impl Shard {
    /// Opens a file and checks all of it.
    pub fn open(path: &Path) -> Result<Self> {
        Self::check(Bytes::map(path)?, false).map_err(|error| with_remedy(error, path))
    }

    /// Opens a file whose hash is known since preparation. It is hashed once: if that hash is right,
    /// so is the checksum inside the file.
    pub fn open_prepared(path: &Path, prepared: &FileHash) -> Result<Self> {
        let bytes = Bytes::map(path)?;
        let is_prepared =
            bytes.len() as u64 == prepared.bytes && of_bytes(&*bytes) == prepared.sha256;
        Self::check(bytes, is_prepared)
            .and_then(|shard| {
                let another = || Error::new("has changed since it was prepared");
                is_prepared.then_some(shard).ok_or_else(another)
            })
            .map_err(|error| with_remedy(error, path))
    }

    /// A file whose bytes are in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::check(Bytes::Owned(bytes), false)
    }

    fn check(bytes: Bytes, is_hashed: bool) -> Result<Self> {
        let damaged = |reason: String| Error::new(format!("damaged token store: {reason}"));
        let (header, layout) = Header::read(&bytes).map_err(damaged)?;
        if !is_hashed && !Header::is_true_of(&bytes) {
            return Err(damaged("its content does not match its checksum".into()));
        }
        let store = Self { bytes, header, layout };
        store.check_content().map_err(|reason| damaged(reason.into()))?;
        Ok(store)
    }

    /// Checks what a checksum does not cover: that the content was valid when it was written.
    fn check_content(&self) -> std::result::Result<(), &'static str> {
        let Header { sentences, source_tokens, target_tokens, name_bytes, .. } = self.header;
        let sections = [
            (&self.layout.documents, sentences),
            (&self.layout.source_offsets, source_tokens),
            (&self.layout.target_offsets, target_tokens),
            (&self.layout.name_offsets, name_bytes),
        ];
        for (section, total) in sections {
            let offsets = self.bytes[section.clone()].as_chunks::<8>().0;
            let mut previous = 0;
            for (index, offset) in offsets.iter().enumerate() {
                let offset = u64::from_le_bytes(*offset);
                if offset < previous || (index == 0 && offset != 0) {
                    return Err("its offsets are not in order");
                }
                previous = offset;
            }
            if previous != total {
                return Err("its offsets do not end where its content ends");
            }
        }
        for side in [Side::Source, Side::Target] {
            let limit = self.vocabulary_size(side) as u64;
            let tokens = self.bytes[self.tokens(side)].as_chunks::<4>().0;
            if tokens.iter().any(|&id| u64::from(u32::from_le_bytes(id)) >= limit) {
                return Err("it holds a token that is not in its vocabulary");
            }
        }
        let names = std::str::from_utf8(&self.bytes[self.layout.names.clone()]);
        let names = names.map_err(|_| "a document name is not UTF-8")?;
        let boundary = |document| names.is_char_boundary(self.name_range(document).start);
        if !(0..self.documents()).all(boundary) {
            return Err("a document name is cut in the middle of a character");
        }
        Ok(())
    }

    /// The number of documents.
    pub fn documents(&self) -> usize {
        self.header.documents as usize
    }

    /// The number of sentences in all documents.
    pub fn sentences(&self) -> usize {
        self.header.sentences as usize
    }

    /// Whether it has translations.
    pub fn has_target(&self) -> bool {
        self.header.has_target
    }

    /// All tokens of one side, without `</s>`.
    pub fn token_count(&self, side: Side) -> usize {
        match side {
            Side::Source => self.header.source_tokens as usize,
            Side::Target => self.header.target_tokens as usize,
        }
    }

    /// The size of the vocabulary that the ids of one side belong to; 0 if that side is missing.
    pub fn vocabulary_size(&self, side: Side) -> usize {
        match side {
            Side::Source => self.header.source_vocabulary as usize,
            Side::Target => self.header.target_vocabulary as usize,
        }
    }

    /// The sentences of a document.
    ///
    /// # Panics
    /// If there are not that many documents.
    pub fn document(&self, document: usize) -> Range<usize> {
        self.range(&self.layout.documents, document)
    }

    /// The name of a document.
    ///
    /// # Panics
    /// If there are not that many documents.
    pub fn document_name(&self, document: usize) -> &str {
        let range = self.name_range(document);
        let bytes = &self.bytes[self.layout.names.clone()][range];
        // Opening has checked this.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The document that a sentence belongs to.
    ///
    /// # Panics
    /// If there are not that many sentences.
    pub fn document_of(&self, sentence: usize) -> usize {
        assert!(sentence < self.sentences(), "there is no sentence {sentence}");
        let (mut low, mut high) = (0, self.documents());
        // The last document whose first sentence is not after this one.
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.document(middle).start <= sentence { low = middle } else { high = middle }
        }
        low
    }

    /// The number of tokens of a sentence, without `</s>`; 0 on a side that is missing.
    ///
    /// # Panics
    /// If there are not that many sentences.
    pub fn length(&self, side: Side, sentence: usize) -> usize {
        self.token_range(side, sentence).len()
    }

    /// Appends the tokens of a sentence, without `</s>`; nothing on a side that is missing.
    ///
    /// # Panics
    /// If there are not that many sentences.
    pub fn append(&self, side: Side, sentence: usize, tokens: &mut Vec<u32>) {
        let range = self.token_range(side, sentence);
        let bytes = &self.bytes[self.tokens(side)][4 * range.start..4 * range.end];
        tokens.extend(bytes.as_chunks::<4>().0.iter().map(|&id| u32::from_le_bytes(id)));
    }

    fn token_range(&self, side: Side, sentence: usize) -> Range<usize> {
        assert!(sentence < self.sentences(), "there is no sentence {sentence}");
        match side {
            Side::Source => self.range(&self.layout.source_offsets, sentence),
            Side::Target if self.has_target() => self.range(&self.layout.target_offsets, sentence),
            Side::Target => 0..0,
        }
    }

    fn tokens(&self, side: Side) -> Range<usize> {
        match side {
            Side::Source => self.layout.source_tokens.clone(),
            Side::Target => self.layout.target_tokens.clone(),
        }
    }

    fn name_range(&self, document: usize) -> Range<usize> {
        self.range(&self.layout.name_offsets, document)
    }

    fn range(&self, section: &Range<usize>, index: usize) -> Range<usize> {
        let offsets = &self.bytes[section.clone()];
        u64_at(offsets, 8 * index) as usize..u64_at(offsets, 8 * index + 8) as usize
    }
}

fn with_remedy(error: Error, path: &Path) -> Error {
    error.in_file(path).remedy("run `abridge prepare` again to write it anew")
}
