//! Settings of the search for translations.

use std::path::Path;

use abridge_model::ModelConfig;
use abridge_model::tokens::END;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The widest beam, and the most samples per sentence. Wider beams would run out of memory long
/// before they helped.
const MOST_HYPOTHESES: usize = 1000;

/// The largest `max_length`: as many tokens as a model can have positions.
const MOST_WORDS: usize = 1 << 20;

/// The file in a model directory with its default search settings.
pub(crate) const FILE: &str = "search.toml";

/// Search settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BeamSettings {
    /// The beam size; 1 is greedy search.
    pub beam: usize,
    /// A finished hypothesis of n tokens scores its log-probability divided by n to this power.
    pub length_penalty: f64,
    /// The fewest tokens before the end token.
    pub min_length: usize,
    /// The most tokens before the end token.
    pub max_length: usize,
    /// How many hypotheses to return, at most `beam`; or how many samples to draw.
    pub n_best: usize,
    /// When a sentence has enough hypotheses.
    pub stop: Stop,
    /// Whether the end token costs nothing at the maximum length, as in transformers.
    pub free_end: bool,
    /// Stops a sentence when no open hypothesis can still make it into the n best. The result is
    /// the same, but found sooner.
    pub early_exit: bool,
    /// Tokens that are never generated.
    pub forbidden: Vec<u32>,
    /// Tokens that every translation begins with, whatever their probability.
    pub prefix: Vec<u32>,
    /// Samples tokens instead of searching for the best.
    pub sampling: Option<Sampling>,
}

/// When a sentence has enough hypotheses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// When `beam` hypotheses have ended, as in fairseq.
    #[default]
    Full,
    /// When `beam` hypotheses have ended, and the best open one scores no higher at its current
    /// length than the worst of them, as in transformers without early stopping.
    Outscored,
}

/// Sampling settings. A sample depends only on the seed, the sentence, its position in the document
/// and the number of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// Samples from this many of the most probable tokens; 0 is all of them.
    pub top_k: usize,
    /// Samples from the smallest set of most probable tokens with this total probability.
    pub top_p: f64,
    /// Divides logits: values below 1 favour probable tokens.
    pub temperature: f64,
    /// The random seed.
    pub seed: u64,
}

impl Default for BeamSettings {
    /// As in the paper: beam 5, at most 200 tokens.
    fn default() -> Self {
        Self {
            beam: 5,
            length_penalty: 1.0,
            min_length: 1,
            max_length: 200,
            n_best: 1,
            stop: Stop::Full,
            free_end: false,
            early_exit: true,
            forbidden: Vec::new(),
            prefix: Vec::new(),
            sampling: None,
        }
    }
}

impl Default for Sampling {
    /// From all tokens, with the network's probabilities.
    fn default() -> Self {
        Self { top_k: 0, top_p: 1.0, temperature: 1.0, seed: 1 }
    }
}

impl BeamSettings {
    /// The search settings of a model directory; those of the paper if it has none.
    pub(crate) fn of_model(directory: &Path) -> Result<Self> {
        let file = directory.join(FILE);
        if !file.exists() {
            return Ok(Self::default());
        }
        let broken = |problem: String| {
            Error::Model(abridge_model::Error::Weights { file: file.clone(), problem })
        };
        let text = abridge_base::files::read_text(&file, 1 << 20)
            .map_err(|error| broken(error.into_parts().1))?;
        let settings: Self = toml::from_str(&text).map_err(|error| broken(error.to_string()))?;
        settings.check().map_err(|error| broken(error.to_string()))?;
        Ok(settings)
    }

    /// The text of [`FILE`].
    pub(crate) fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// The same settings, limited to the model's number of positions.
    pub(crate) fn within(&self, config: &ModelConfig) -> Result<Self> {
        let most = config.longest_translation();
        if self.prefix.len() > most {
            let words = self.prefix.len();
            return Err(Error::Settings(format!(
                "the prefix has {words} words, but the model generates at most {most}"
            )));
        }
        let max_length = self.max_length.min(most);
        Ok(Self { max_length, min_length: self.min_length.min(max_length), ..self.clone() })
    }

    /// Rejects invalid settings, with the reason.
    pub fn check(&self) -> Result<()> {
        let refuse = |problem: String| Err(Error::Settings(problem));
        if self.beam == 0 {
            return refuse("beam is 0, but must be at least one".into());
        }
        if self.n_best == 0 {
            return refuse("n-best is 0, but must be at least 1".into());
        }
        for (name, count) in [("beam", self.beam), ("n-best", self.n_best)] {
            if count > MOST_HYPOTHESES {
                return refuse(format!(
                    "{name} is {count}, more than {MOST_HYPOTHESES}; beams of 4 to 12 are usual"
                ));
            }
        }
        if self.sampling.is_none() && self.n_best > self.beam {
            let (n_best, beam) = (self.n_best, self.beam);
            return refuse(format!(
                "n-best is {n_best}, but a beam of {beam} finds only {beam}; set the beam to {n_best}"
            ));
        }
        if !self.length_penalty.is_finite() {
            return refuse(format!("length penalty {} is not finite", self.length_penalty));
        }
        if self.max_length == 0 || self.min_length > self.max_length {
            let (least, most) = (self.min_length, self.max_length);
            return refuse(format!(
                "a length of at least {least} and at most {most} is impossible"
            ));
        }
        if self.max_length > MOST_WORDS {
            let most = self.max_length;
            return refuse(format!("max length is {most}, more than {MOST_WORDS}"));
        }
        if self.prefix.contains(&END) {
            return refuse("the prefix must not contain the end token".into());
        }
        if self.forbidden.contains(&END) {
            return refuse("the end token cannot be forbidden".into());
        }
        let Some(sampling) = &self.sampling else { return Ok(()) };
        if !(sampling.temperature.is_finite() && sampling.temperature > 0.0) {
            let remedy = "use a positive one, or a beam of 1 for the most probable token";
            return refuse(format!("temperature {}: {remedy}", sampling.temperature));
        }
        if !(sampling.top_p > 0.0 && sampling.top_p <= 1.0) {
            return refuse(format!("top-p {} is not in (0, 1]", sampling.top_p));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_are_refused_with_a_remedy() {
        let reason = |change: &dyn Fn(&mut BeamSettings)| {
            let mut settings = BeamSettings::default();
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        assert!(BeamSettings::default().check().is_ok());
        assert!(reason(&|s| s.beam = 0).contains("at least one"));
        assert!(reason(&|s| s.beam = 1001).contains("more than 1000"));
        assert!(reason(&|s| s.n_best = 9).contains("set the beam to 9"));
        assert!(reason(&|s| s.min_length = 300).contains("at least 300"));
        assert!(reason(&|s| s.max_length = usize::MAX).contains("more than 1048576"));
        assert!(reason(&|s| s.forbidden = vec![END]).contains("cannot be forbidden"));
        let sampling = |change: &dyn Fn(&mut Sampling)| {
            let mut sampling = Sampling::default();
            change(&mut sampling);
            reason(&|s| s.sampling = Some(sampling))
        };
        assert!(sampling(&|s| s.temperature = 0.0).contains("beam of 1"));
        assert!(sampling(&|s| s.top_p = 1.5).contains("(0, 1]"));
    }
}
