//! What a network is given: each distinct source sentence once, and which sentence sees which.

use crate::packed::Packed;

/// Source sentences, and which of them are translated with which context.
///
/// A sentence that is both translated and context of later ones stands here once and is encoded
/// once. Several examples may share a source and its context: candidate translations of the same
/// sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceBatch {
    /// The distinct sentences, each ending with [`END`](crate::tokens::END).
    pub sentences: Packed,
    /// In models whose memory holds translations, that of each sentence, or no token where it is
    /// not known; otherwise empty.
    pub translations: Packed,
    /// What is translated.
    pub examples: Vec<Example>,
}

/// A sentence to be translated, by its place among the sentences of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The source sentence.
    pub source: usize,
    /// For each slot of the context the sentence in it, as
    /// [`MemoryLayout::context`](crate::MemoryLayout::context) returns them. Models without context
    /// ignore it.
    pub context: Vec<Option<usize>>,
}

/// A [`SourceBatch`] with the translation of each of its examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The sources.
    pub source: SourceBatch,
    /// One translation per example, each ending with [`END`](crate::tokens::END).
    pub targets: Packed,
}

impl SourceBatch {
    /// How many sentences are encoded only because others look back at them.
    pub fn context_only(&self) -> usize {
        let mut is_source = vec![false; self.sentences.len()];
        for example in &self.examples {
            is_source[example.source] = true;
        }
        is_source.iter().filter(|is_source| !**is_source).count()
    }
}
