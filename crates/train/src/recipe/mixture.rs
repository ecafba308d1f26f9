//! The shares in which a run draws from the corpora of its data.

use std::collections::BTreeMap;

use abridge_corpus::batch::{Mixture, Phase, Sampler};
use abridge_corpus::prepare::PreparedDirectory;
use abridge_model::ModelConfig;
use serde::{Deserialize, Serialize};

use super::TrainRecipe;
use crate::{Error, Result};

/// Which corpora, in which shares, and from which update on. By default, the weights of the data;
/// if it has none, each corpus in proportion to its size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixtureRecipe {
    /// By the name of a corpus, its share of the target tokens relative to the others; a corpus
    /// that is not named is not used.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// Weights by size instead, to the power of 1 / temperature: 1 keeps the corpora in proportion;
    /// higher temperatures make small corpora count more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Shares that change over time: one phase after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseRecipe>,
}

/// The shares of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PhaseRecipe {
    /// The last update of the phase; the last phase has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Like those of the mixture.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// Like that of the mixture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

impl MixtureRecipe {
    /// Whether nothing is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The corpora that are used in any phase, and their shares.
    pub fn resolve(&self, data: &PreparedDirectory) -> Result<(Vec<String>, Mixture)> {
        let names = data.corpora("train");
        if let (true, false) = (names.iter().all(|name| name.is_empty()), self.is_default()) {
            return Err(wrong("is given, but the data is one corpus without a name"));
        }
        let phases = if self.phases.is_empty() {
            vec![PhaseRecipe {
                until: None,
                weights: self.weights.clone(),
                temperature: self.temperature,
            }]
        } else if self.weights.is_empty() && self.temperature.is_none() {
            self.phases.clone()
        } else {
            return Err(wrong("has shares outside of its phases; put the shares into a phase"));
        };
        let mut resolved = Vec::new();
        for phase in phases {
            resolved.push(Phase { until: phase.until, weights: phase.weights_of(&names, data)? });
        }
        let is_used = |index: &usize| resolved.iter().any(|phase| phase.weights[*index] > 0.0);
        let used: Vec<usize> = (0..names.len()).filter(is_used).collect();
        for phase in &mut resolved {
            phase.weights = used.iter().map(|&index| phase.weights[index]).collect();
        }
        Ok((used.iter().map(|&index| names[index].to_owned()).collect(), Mixture::new(resolved)?))
    }
}

impl PhaseRecipe {
    fn weights_of(&self, names: &[&str], data: &PreparedDirectory) -> Result<Vec<f64>> {
        if let Some(unknown) = self.weights.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(wrong(&format!(
                "names the corpus `{unknown}`, but the data has {}",
                names.join(", ")
            )));
        }
        if let Some(temperature) = self.temperature.filter(|t| !t.is_finite() || *t <= 0.0) {
            return Err(wrong(&format!(
                "has temperature {temperature}, but it must be finite and above 0"
            )));
        }
        if !self.weights.is_empty() && self.temperature.is_some() {
            return Err(wrong("has weights and a temperature; give one of them"));
        }
        if !self.weights.is_empty() {
            let weight = |name: &&str| self.weights.get(*name).copied().unwrap_or(0.0);
            return Ok(names.iter().map(weight).collect());
        }
        let description = data.description();
        let weight = |name: &&str| {
            let corpus = description.recipe.corpora.iter().find(|corpus| corpus.name == **name);
            corpus.and_then(|corpus| corpus.weight)
        };
        let weights: Option<Vec<f64>> = names.iter().map(weight).collect();
        if let Some(weights) = weights.filter(|_| self.temperature.is_none()) {
            return Ok(weights);
        }
        let size = |name: &&str| {
            let split = train_split(name);
            let split = description.splits.iter().find(|found| found.name == split);
            split.map_or(0, |split| {
                split.target.as_ref().map_or(0, |side| side.tokens) + split.sentences
            })
        };
        let sizes: Vec<usize> = names.iter().map(size).collect();
        Ok(Mixture::by_size(&sizes, self.temperature.unwrap_or(1.0)))
    }
}

impl TrainRecipe {
    /// The sampler that draws the micro-batches of a run from prepared data.
    pub fn sampler(&self, data: &PreparedDirectory, config: &ModelConfig) -> Result<Sampler> {
        let (names, mixture) = self.mixture.resolve(data)?;
        if names.len() > 1 {
            // Several corpora end at different times, or never.
            if self.stop.validate_every.is_none() {
                return Err(Error::Recipe(
                    "stop.validate_every is not set, but a mixture of corpora has no epochs; set \
                     it to the number of updates between validations"
                        .into(),
                ));
            }
            if self.stop.max_epochs.is_some() {
                return Err(Error::Recipe(
                    "stop.max_epochs is set, but a mixture of corpora has no epochs; set \
                     stop.max_updates"
                        .into(),
                ));
            }
        }
        let corpora = names.into_iter().map(|name| {
            let split = data.split(&train_split(&name))?;
            Ok((name, split))
        });
        let corpora = corpora.collect::<Result<Vec<_>>>()?;
        Ok(Sampler::new(corpora, mixture, self.batch_settings(config))?)
    }
}

/// The training split of a corpus; the only corpus has no name.
fn train_split(corpus: &str) -> String {
    if corpus.is_empty() { "train".into() } else { format!("{corpus}/train") }
}

fn wrong(problem: &str) -> Error {
    Error::Recipe(format!("the mixture {problem}"))
}
