//! Training batches out of a token store: plain data, no tensors, no padding.
//!
//! A [`Batcher`] plans an epoch ([`Batcher::plan`]) and builds any batch of the plan
//! ([`Batcher::build`]); [`Batches`] walks through the epochs and can start again from a saved
//! [`Position`]. Two plans exist, see [`Order`]:
//!
//! * **runs**: consecutive sentences of many documents. A sentence is encoded once however many of
//!   its followers look back at it; only the few sentences before a run's start come on top.
//! * **shuffled**: single sentences of similar size, as the paper's training had them.
//!
//! Either way a [`Batch`] holds each distinct source sentence once and says by index which of them
//! is a target's own source and which are its context.

mod batcher;
mod padded;
mod plan;
mod runs;
mod shuffled;

use serde::{Deserialize, Serialize};

pub use batcher::{Batcher, Batches, Position};
pub use padded::{PaddedGroup, padded_groups};
pub use plan::{Plan, PlannedBatch};

/// In which order an epoch goes through the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub enum Order {
    /// Runs of at most `run_length` consecutive sentences, cut at other places in every epoch.
    Runs {
        /// Longer runs encode fewer sentences twice; shorter ones mix documents better.
        run_length: usize,
    },
    /// Single sentences, batched by size as the published code does it.
    ///
    /// Context counts against the budget, batches are made once, and each epoch only shuffles
    /// their order.
    Shuffled {
        /// Examples of a larger size are dropped; 1,024 in the published code.
        longest: usize,
        /// A batch of this many sentences or more holds a multiple of it; 8 in the published code.
        multiple: usize,
    },
}

impl Default for Order {
    fn default() -> Self {
        Self::Runs { run_length: 16 }
    }
}

impl Order {
    /// The published settings of sentence-shuffled batches.
    pub fn published() -> Self {
        Self::Shuffled { longest: 1024, multiple: 8 }
    }
}

/// How batches are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSettings {
    /// How many previous sentences a sentence sees at most.
    pub context_size: usize,
    /// The budget: for runs, source tokens and target tokens each stay within it; for shuffled
    /// batches, sentences × largest size. A sentence that is larger alone gets a batch of its own.
    pub max_tokens: usize,
    /// Whether batches also hold the translations of the sentences that are context.
    #[serde(default)]
    pub target_context: bool,
    /// Where all randomness comes from.
    pub seed: u64,
    /// Runs or single sentences.
    #[serde(flatten)]
    pub order: Order,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            context_size: 1,
            max_tokens: 4096,
            target_context: false,
            seed: 42,
            order: Order::default(),
        }
    }
}

/// Sentences one after the other, with the places where they start and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The tokens of all sentences.
    pub tokens: Vec<u32>,
    /// Where each sentence starts; one more entry than sentences, the last is the token count.
    pub offsets: Vec<usize>,
}

impl Default for Packed {
    fn default() -> Self {
        Self { tokens: Vec::new(), offsets: vec![0] }
    }
}

impl Packed {
    /// The number of sentences.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no sentence.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens of one sentence.
    ///
    /// # Panics
    /// If there are not that many sentences.
    pub fn sentence(&self, index: usize) -> &[u32] {
        &self.tokens[self.offsets[index]..self.offsets[index + 1]]
    }

    /// Adds a sentence of the given tokens.
    pub fn push(&mut self, tokens: &[u32]) {
        self.push_with(|all| all.extend_from_slice(tokens));
    }

    /// Adds the sentence that `fill` appends.
    pub fn push_with(&mut self, fill: impl FnOnce(&mut Vec<u32>)) {
        fill(&mut self.tokens);
        self.offsets.push(self.tokens.len());
    }
}

/// What one training step works on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Every distinct source sentence of the batch once, each ended by `</s>`: those to translate
    /// and those that are only context.
    pub sentences: Packed,
    /// If asked for, the translation of each of `sentences`, each ended by `</s>`; otherwise empty.
    pub translations: Packed,
    /// The translations to learn, each ended by `</s>`.
    pub targets: Packed,
    /// For each target, the index of its source in `sentences`.
    pub source_of: Vec<usize>,
    /// For each target, its previous sentences as indices into `sentences`: always as many entries
    /// as the context size, the oldest first, `None` before the start of the document.
    pub context_of: Vec<Vec<Option<usize>>>,
    /// For each target, the number of its sentence in the token store.
    pub numbers: Vec<usize>,
}

impl Batch {
    /// How many source sentences are encoded only because others look back at them.
    pub fn context_only(&self) -> usize {
        self.sentences.len() - self.source_of.len()
    }
}

#[cfg(test)]
mod tests;
