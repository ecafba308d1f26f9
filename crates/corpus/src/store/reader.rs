//! Reads sentences from a token store.

use std::ops::Range;
use std::path::Path;

use abridge_base::manifest::FileHash;

use super::shard::Shard;
use crate::{Error, Result};

/// The source or the target side of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The text to translate.
    Source,
    /// Its translation.
    Target,
}

/// A split of a prepared corpus: documents of sentences of token ids, on both sides, in one file or
/// several.
///
/// Sentences and documents are numbered across all files, in order; a document is a range of
/// sentences.
#[derive(Debug)]
pub struct TokenStore {
    shards: Vec<Shard>,
    /// The first document and the first sentence of each file, and the totals at the end.
    document_starts: Vec<usize>,
    sentence_starts: Vec<usize>,
}

impl TokenStore {
    /// Opens a file and checks all of it.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(vec![Shard::open(path)?])
    }

    /// Opens a file that was prepared with a hash, and checks all of it.
    pub fn open_prepared(path: &Path, prepared: &FileHash) -> Result<Self> {
        Self::new(vec![Shard::open_prepared(path, prepared)?])
    }

    /// A store whose bytes are in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::new(vec![Shard::from_bytes(bytes)?])
    }

    /// Concatenates stores.
    pub fn join(stores: Vec<Self>) -> Result<Self> {
        Self::new(stores.into_iter().flat_map(|store| store.shards).collect())
    }

    fn new(shards: Vec<Shard>) -> Result<Self> {
        let kind = |shard: &Shard| {
            let sides = [Side::Source, Side::Target].map(|side| shard.vocabulary_size(side));
            (sides, shard.has_target())
        };
        if shards.windows(2).any(|pair| kind(&pair[0]) != kind(&pair[1])) {
            return Err(Error::new("the token stores do not have the same vocabularies")
                .remedy("prepare their texts together"));
        }
        Ok(Self {
            document_starts: starts(shards.iter().map(Shard::documents)),
            sentence_starts: starts(shards.iter().map(Shard::sentences)),
            shards,
        })
    }

    /// The number of documents.
    pub fn documents(&self) -> usize {
        self.document_starts[self.shards.len()]
    }

    /// The number of sentences in all documents.
    pub fn sentences(&self) -> usize {
        self.sentence_starts[self.shards.len()]
    }

    /// Whether it has translations.
    pub fn has_target(&self) -> bool {
        self.shards.first().is_some_and(Shard::has_target)
    }

    /// All tokens of one side, without `</s>`.
    pub fn token_count(&self, side: Side) -> usize {
        self.shards.iter().map(|shard| shard.token_count(side)).sum()
    }

    /// The size of the vocabulary that the ids of one side belong to; 0 if that side is missing.
    pub fn vocabulary_size(&self, side: Side) -> usize {
        self.shards.first().map_or(0, |shard| shard.vocabulary_size(side))
    }

    /// The sentences of a document.
    ///
    /// # Panics
    /// If there are not that many documents.
    pub fn document(&self, document: usize) -> Range<usize> {
        let (shard, inside) = locate(&self.document_starts, document);
        let Range { start, end } = self.shards[shard].document(inside);
        self.sentence_starts[shard] + start..self.sentence_starts[shard] + end
    }

    /// The name of a document.
    ///
    /// # Panics
    /// If there are not that many documents.
    pub fn document_name(&self, document: usize) -> &str {
        let (shard, inside) = locate(&self.document_starts, document);
        self.shards[shard].document_name(inside)
    }

    /// The document that a sentence belongs to.
    ///
    /// # Panics
    /// If there are not that many sentences.
    pub fn document_of(&self, sentence: usize) -> usize {
        let (shard, inside) = locate(&self.sentence_starts, sentence);
        self.document_starts[shard] + self.shards[shard].document_of(inside)
    }

    /// The number of tokens of a sentence, without `</s>`; 0 on a side that is missing.
    ///
    /// # Panics
    /// If there are not that many sentences.
    pub fn length(&self, side: Side, sentence: usize) -> usize {
        let (shard, inside) = locate(&self.sentence_starts, sentence);
        self.shards[shard].length(side, inside)
    }

    /// Appends the tokens of a sentence, without `</s>`; nothing on a side that is missing.
    ///
    /// # Panics
    /// If there are not that many sentences.
    pub fn append(&self, side: Side, sentence: usize, tokens: &mut Vec<u32>) {
        let (shard, inside) = locate(&self.sentence_starts, sentence);
        self.shards[shard].append(side, inside, tokens);
    }
}

/// Where each of some consecutive ranges starts, and where the last ends.
fn starts(counts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut starts = vec![0];
    for count in counts {
        starts.push(starts[starts.len() - 1] + count);
    }
    starts
}

/// The range that contains a number, and the number's offset in it.
fn locate(starts: &[usize], number: usize) -> (usize, usize) {
    let last = starts.len() - 1;
    assert!(number < starts[last], "index {number} is out of bounds for {}", starts[last]);
    // Empty ranges start where the next one does, so take the last that does not start later.
    let range = starts[..last].partition_point(|&start| start <= number) - 1;
    (range, number - starts[range])
}
