//! Validation: the loss on the validation splits, and other measurements of the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use abridge_corpus::batch::Batcher;
use abridge_corpus::prepare::PreparedDirectory;
use abridge_model::{Dropout, Model, ModelConfig, ops};
use serde::Serialize;

use crate::ranks::Ranks;
use crate::recipe::TrainRecipe;
use crate::{Error, Result};

/// Measures a model in ways outside of this crate, such as BLEU.
pub trait Validator {
    /// Scores by name, for the model after an update.
    fn validate(&mut self, model: &Model, update: u64) -> Result<BTreeMap<String, f64>>;
}

/// Bits per token and perplexity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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

/// The validation split of one corpus.
#[derive(Debug)]
pub struct ValidSplit {
    /// The name of the corpus; empty for the only one.
    pub corpus: String,
    /// Whether its loss counts when checkpoints are compared.
    pub decides: bool,
    /// Its batches.
    pub batcher: Batcher,
}

impl ValidSplit {
    /// The validation splits of prepared data for a run that trains on the given corpora.
    pub fn open(
        data: &PreparedDirectory,
        recipe: &TrainRecipe,
        config: &ModelConfig,
        trained: &[String],
    ) -> Result<Vec<Self>> {
        let names = data.corpora("valid");
        let chosen = &recipe.validation.corpora;
        if let Some(unknown) = chosen.iter().find(|name| !names.contains(&name.as_str())) {
            return Err(Error::Recipe(format!(
                "validation.corpora names `{unknown}`, but the data has validation text only of {}",
                names.join(", ")
            )));
        }
        let is_trained = |name: &str| trained.iter().any(|other| other == name);
        let any_trained = names.iter().any(|name| is_trained(name));
        let open = |name: &&str| {
            let split = if name.is_empty() { "valid".into() } else { format!("{name}/valid") };
            let store = Arc::new(data.split(&split)?);
            let decides = match chosen.as_slice() {
                [] => is_trained(name) || !any_trained,
                chosen => chosen.iter().any(|other| other == name),
            };
            let batcher = Batcher::new(store, recipe.batch_settings(config))?;
            Ok(Self { corpus: (*name).to_owned(), decides, batcher })
        };
        let splits: Vec<Self> = names.iter().map(open).collect::<Result<_>>()?;
        if splits.is_empty() {
            // The error lists the existing splits.
            data.split("valid")?;
        }
        Ok(splits)
    }
}

/// The losses of some splits.
#[derive(Clone, Debug)]
pub struct Losses {
    /// Over all splits that decide.
    pub deciding: PerToken,
    /// For each corpus; empty if there is only one, without a name.
    pub corpora: BTreeMap<String, PerToken>,
}

/// The losses of whole splits; each rank computes its share of the batches.
pub fn losses(
    model: &Model,
    splits: &[ValidSplit],
    smoothing: f64,
    ranks: &dyn Ranks,
) -> Result<Losses> {
    let mut all = [0.0; 3];
    let mut corpora = BTreeMap::new();
    for split in splits {
        let sums = sums(model, &split.batcher, smoothing, ranks)?;
        if split.decides {
            all = [all[0] + sums[0], all[1] + sums[1], all[2] + sums[2]];
        }
        if !split.corpus.is_empty() {
            corpora.insert(split.corpus.clone(), PerToken::new(sums[0], sums[1], sums[2]));
        }
    }
    Ok(Losses { deciding: PerToken::new(all[0], all[1], all[2]), corpora })
}

/// The smoothed loss, the negative log-likelihood and the tokens of a split.
fn sums(model: &Model, split: &Batcher, smoothing: f64, ranks: &dyn Ranks) -> Result<[f64; 3]> {
    let plan = split.plan(0);
    let (mut losses, mut likelihoods, mut tokens) = (Vec::new(), Vec::new(), 0);
    for planned in plan.batches.iter().skip(ranks.rank()).step_by(ranks.count()) {
        let batch = split.build(planned);
        let scored = model.loss(&batch, smoothing, &mut Dropout::off())?;
        losses.push(scored.smoothed.without_autodiff());
        likelihoods.push(scored.likelihood.without_autodiff());
        tokens += scored.tokens;
    }
    // All at once: reading makes a device wait.
    let count = losses.len();
    let read = ops::read_all([losses, likelihoods].concat())?;
    let (losses, likelihoods) = read.split_at(count);
    let mut sums = [losses.iter().sum(), likelihoods.iter().sum(), tokens as f64];
    ranks.sum_wide(&mut sums);
    Ok(sums)
}
