//! What happens in a run, for whoever watches.

use std::collections::BTreeMap;

use serde::Serialize;

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
        /// Parameters that the other model has not: they keep their initial values.
        new: Vec<String>,
        /// Parameters of the other model that this one has not.
        unused: Vec<String>,
    },
    /// The run goes on from a checkpoint.
    Resumed {
        /// Updates made before.
        update: u64,
        /// Newer checkpoints that were not usable, and why.
        passed_over: Vec<String>,
        /// What differs from what the run was started with, if that was allowed.
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
        /// Seconds since the run was started or resumed.
        seconds: f64,
    },
    /// An update was left out, for its gradient was not finite.
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
    },
    /// A checkpoint could not be saved; the run goes on.
    NotSaved {
        /// After this update.
        update: u64,
        /// Why.
        reason: String,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The validation loss did not fall any more.
    Patience,
    /// The limit of updates or epochs was reached.
    Limit,
    /// Somebody asked it to stop; it can be resumed.
    Interrupted,
}
