//! What happens in a run, for its observers.

use std::collections::BTreeMap;

use abridge_corpus::batch::Position;
use serde::Serialize;

use crate::validation::PerToken;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run starts from other weights.
    Started {
        /// Updates made before: none.
        update: u64,
        /// The model directory.
        from: String,
        /// Parameters that were copied.
        copied: usize,
        /// Parameters that the other model lacks: they keep their initial values.
        new: Vec<String>,
        /// Parameters of the other model that this one lacks.
        unused: Vec<String>,
    },
    /// The run resumes from a checkpoint.
    Resumed {
        /// Updates made before.
        update: u64,
        /// Newer checkpoints that were not usable, and why.
        passed_over: Vec<String>,
        /// Differences from what the run was started with, if they were allowed.
        changed: Vec<String>,
    },
    /// An update was made.
    Updated {
        /// Its number, from 1.
        update: u64,
        /// The epoch, from 0.
        epoch: u64,
        /// The label-smoothed loss in bits per token.
        loss: f64,
        /// Two to the negative log-likelihood per token.
        perplexity: f64,
        /// The learning rate.
        rate: f64,
        /// The norm of the gradients before clipping.
        norm: f64,
        /// Target tokens.
        tokens: usize,
        /// Target tokens by corpus, if there are several.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        corpora: BTreeMap<String, u64>,
        /// Seconds since the run was started or resumed.
        seconds: f64,
    },
    /// An update was skipped because its gradient was not finite.
    Skipped {
        /// Its number.
        update: u64,
    },
    /// The validation split was scored.
    Validated {
        /// After this update.
        update: u64,
        /// The label-smoothed loss in bits per token.
        loss: f64,
        /// Two to the negative log-likelihood per token.
        perplexity: f64,
        /// Whether it is the best so far.
        best: bool,
        /// What a [`Validator`](crate::Validator) measured, by name.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        scores: BTreeMap<String, f64>,
        /// The same losses for each of several corpora.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        corpora: BTreeMap<String, PerToken>,
        /// What the run has seen of each of several corpora so far.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        seen: BTreeMap<String, CorpusCoverage>,
    },
    /// A checkpoint could not be saved; the run continues.
    NotSaved {
        /// After this update.
        update: u64,
        /// Why.
        reason: String,
    },
}

impl Event {
    /// Adds the target tokens of each of several corpora to an update, from the counts before it.
    pub(crate) fn with_corpora(mut self, before: &[u64], after: &Position) -> Self {
        if let (Self::Updated { corpora, .. }, true) = (&mut self, after.corpora.len() > 1) {
            let before = before.iter().copied().chain(std::iter::repeat(0));
            let drawn = after.corpora.iter().zip(before);
            *corpora =
                drawn.map(|(place, before)| (place.name.clone(), place.tokens - before)).collect();
        }
        self
    }
}

/// What a run has seen of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CorpusCoverage {
    /// Sentences.
    pub sentences: u64,
    /// Target tokens.
    pub tokens: u64,
    /// Its share of all target tokens.
    pub share: f64,
    /// How many times all of it was seen.
    pub passes: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The validation loss stopped falling.
    Patience,
    /// The limit of updates or epochs was reached.
    Limit,
    /// The run was asked to stop; it can be resumed.
    Interrupted,
}
