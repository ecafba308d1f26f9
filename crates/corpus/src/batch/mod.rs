//! Training batches out of a token store: plain data, no tensors, no padding.
//!
//! A [`Sampler`] draws batches from one corpus or a [`Mixture`] of several, without end, and can
//! resume from a saved [`Position`]; a [`Batcher`] plans a whole epoch of a split
//! ([`Batcher::plan`]) and builds any batch of it ([`Batcher::build`]). Two orders exist, see
//! [`Order`]:
//!
//! * **runs**: consecutive sentences of many documents. A sentence is encoded once no matter how
//!   many others use it as context; only the few context sentences before a run are extra.
//! * **shuffled**: single sentences of similar size, as in the paper's training.
//!
//! Either way a [`Batch`](abridge_base::Batch) holds each distinct source sentence once and says by
//! index which of them is a target's own source and which are its context.

mod batcher;
mod mixture;
mod permutation;
mod plan;
mod runs;
mod sampler;
mod shuffled;

use abridge_base::MemoryLayout;
use serde::{Deserialize, Serialize};

pub use batcher::Batcher;
pub use mixture::{Mixture, Phase};
pub use plan::{BatchPlan, PlannedBatch};
pub use sampler::{CorpusPosition, Position, Sampler};

/// The order in which an epoch goes through the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub enum Order {
    /// Runs of at most `run_length` consecutive sentences, cut at different places in every epoch.
    Runs {
        /// Longer runs encode fewer sentences twice; shorter ones mix documents better.
        run_length: usize,
    },
    /// Single sentences, batched by size as in the published code.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSettings {
    /// Which preceding sentence is in which slot, and whether the memory also holds their
    /// translations.
    pub layout: MemoryLayout,
    /// The budget: for runs, source tokens and target tokens each stay within it; for shuffled
    /// batches, sentences × largest size. A single sentence that exceeds it gets its own batch.
    pub max_tokens: usize,
    /// The seed of all randomness.
    pub seed: u64,
    /// Runs or single sentences.
    pub order: Order,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self {
            layout: MemoryLayout { context_size: 1, ..MemoryLayout::default() },
            max_tokens: 4096,
            seed: 42,
            order: Order::default(),
        }
    }
}

#[cfg(test)]
mod tests;
