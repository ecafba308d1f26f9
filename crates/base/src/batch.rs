//! The input of a network: each distinct source sentence once, and which sentences each one sees.

use crate::packed::Packed;

/// Source sentences, and which of them are translated with which context.
///
/// A sentence that is both translated and used as context is stored and encoded only once. Several
/// examples may share a source and its context: candidate translations of the same sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceBatch {
    /// The distinct sentences, each ending with [`END`](crate::tokens::END).
    pub sentences: Packed,
    /// In models whose memory holds translations, the translation of each sentence, or an empty
    /// sequence where it is not known; otherwise empty.
    pub translations: Packed,
    /// What is translated.
    pub examples: Vec<Example>,
}

/// A sentence to translate, by its index among the sentences of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The source sentence.
    pub source: usize,
    /// The sentence in each context slot, as
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
    /// How many sentences are encoded only as context for others.
    pub fn context_only(&self) -> usize {
        let mut is_source = vec![false; self.sentences.len()];
        for example in &self.examples {
            is_source[example.source] = true;
        }
        is_source.iter().filter(|is_source| !**is_source).count()
    }
}
