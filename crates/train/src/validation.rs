//! The validation split: its loss, and whatever else somebody wants to know of the model.

use std::collections::BTreeMap;

use abridge_corpus::batch::Batcher;
use abridge_model::{Dropout, Model};

use crate::Result;
use crate::ranks::Ranks;

/// Measures a model in ways that this crate knows nothing of, such as BLEU.
pub trait Validator {
    /// Scores by name, for the model after an update.
    fn validate(&mut self, model: &Model, update: u64) -> Result<BTreeMap<String, f64>>;
}

/// Bits per token and perplexity.
#[derive(Clone, Copy, Debug)]
pub struct PerToken {
    /// The label-smoothed loss in bits.
    pub loss: f64,
    /// Two to the negative log-likelihood in bits.
    pub perplexity: f64,
}

impl PerToken {
    /// From sums of natural logarithms.
    pub fn new(loss: f64, likelihood: f64, tokens: f64) -> Self {
        let bits = |sum: f64| sum / tokens / std::f64::consts::LN_2;
        Self { loss: bits(loss), perplexity: bits(likelihood).exp2() }
    }
}

/// The loss of the whole split, each rank with its share of the batches.
pub fn loss(model: &Model, split: &Batcher, smoothing: f64, ranks: &dyn Ranks) -> Result<PerToken> {
    let plan = split.plan(0);
    let mut sums = [0.0; 3];
    for planned in plan.batches.iter().skip(ranks.rank()).step_by(ranks.count()) {
        let batch = split.build(planned);
        let scored = model.loss(&batch, smoothing, &mut Dropout::off())?;
        sums[0] += f64::from(scored.smoothed.into_scalar::<f32>());
        sums[1] += f64::from(scored.likelihood.into_scalar::<f32>());
        sums[2] += scored.tokens as f64;
    }
    ranks.sum_wide(&mut sums);
    Ok(PerToken::new(sums[0], sums[1], sums[2]))
}
