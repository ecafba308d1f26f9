//! Which models, context sizes and metrics a table of the paper has.

use abridge_model::Preset;
use clap::ValueEnum;

/// A table or figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// BLEU and ContraPro accuracy, English-German, context sizes 0 to 3 (Table 2)
    EnDe,
    /// BLEU and accuracy on the large pronoun set, English-French, context sizes 0 to 3 (Table 3)
    EnFr,
    /// BLEU and accuracy for context sizes 1 to 10 (Tables 11 and 12, Figure 3)
    LargerContext,
    /// Accuracy by antecedent distance (Tables 8 and 9)
    AntecedentDistance,
    /// Memory needed to translate the test set with context sizes 1 to 10 (Figure 5)
    Memory,
    /// Translations of three models that differ in a pronoun (Table 10)
    Examples,
    /// Which tokens grouping and selecting combine (Figures 4, 6 and 7)
    KeptTokens,
    /// Parameters of the ten models (Table 5); needs no training
    Parameters,
    /// COMET for context sizes 0 to 3 (Tables 6 and 7)
    Comet,
    /// COMET for context sizes 1 to 10 (Table 13)
    LargerContextComet,
}

/// A pair of languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pair {
    /// English-German
    EnDe,
    /// English-French
    EnFr,
}

impl Pair {
    /// The name of recipes and of the paper's figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::EnDe => "en-de",
            Self::EnFr => "en-fr",
        }
    }

    /// The code of the target language.
    pub fn target(self) -> &'static str {
        &self.name()[3..]
    }
}

/// A metric: its key in results and in the paper's figures, and its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The key.
    pub key: &'static str,
    /// The heading of its columns.
    pub name: &'static str,
    /// Decimals.
    pub decimals: usize,
}

const fn metric(key: &'static str, name: &'static str, decimals: usize) -> Metric {
    Metric { key, name, decimals }
}

const BLEU: Metric = metric("bleu", "BLEU", 2);
const ACCURACY: Metric = metric("accuracy", "accuracy %", 2);
/// Results of training, which the paper does not report.
pub const TRAINING: [Metric; 2] =
    [metric("validation loss", "validation loss", 3), metric("training seconds", "training s", 0)];
/// Controls that the paper does not report, but that are needed to interpret an accuracy.
pub const BESIDE: [Metric; 2] = [
    metric("mean over pronouns", "mean over pronouns %", 2),
    metric("mean with random context", "with random context %", 2),
];
const COMET: Metric = metric("comet", "COMET", 4);
const DISTANCES: [Metric; 5] = [
    metric("accuracy at 0", "distance 0 %", 2),
    metric("accuracy at 1", "distance 1 %", 2),
    metric("accuracy at 2", "distance 2 %", 2),
    metric("accuracy at 3", "distance 3 %", 2),
    metric("accuracy at >3", "distance >3 %", 2),
];

impl Table {
    /// The name on the command line and of files.
    pub fn name(self) -> &'static str {
        match self {
            Self::EnDe => "en-de",
            Self::EnFr => "en-fr",
            Self::LargerContext => "larger-context",
            Self::AntecedentDistance => "antecedent-distance",
            Self::Memory => "memory",
            Self::Examples => "examples",
            Self::KeptTokens => "kept-tokens",
            Self::Parameters => "parameters",
            Self::Comet => "comet",
            Self::LargerContextComet => "larger-context-comet",
        }
    }

    /// What it shows.
    pub fn title(self) -> &'static str {
        match self {
            Self::EnDe => "English-German: BLEU and contrastive accuracy (Table 2)",
            Self::EnFr => "English-French: BLEU and contrastive accuracy (Table 3)",
            Self::LargerContext => "Larger context sizes (Tables 11 and 12, Figure 3)",
            Self::AntecedentDistance => "Accuracy by antecedent distance (Tables 8 and 9)",
            Self::Memory => "Memory over context size (Figure 5)",
            Self::Examples => "Translations that differ in a pronoun (Table 10)",
            Self::KeptTokens => "What grouping and selecting keep (Figures 4, 6 and 7)",
            Self::Parameters => "Parameters (Table 5)",
            Self::Comet => "COMET (Tables 6 and 7)",
            Self::LargerContextComet => "COMET at larger context sizes (Table 13)",
        }
    }

    /// The pair of languages; only some tables leave a choice.
    pub fn pair(self, chosen: Option<Pair>) -> anyhow::Result<Pair> {
        let fixed = match self {
            Self::EnDe
            | Self::LargerContext
            | Self::LargerContextComet
            | Self::Memory
            | Self::Parameters => Pair::EnDe,
            Self::EnFr => Pair::EnFr,
            Self::AntecedentDistance | Self::Comet | Self::Examples | Self::KeptTokens => {
                return Ok(chosen.unwrap_or(Pair::EnDe));
            }
        };
        match chosen {
            Some(chosen) if chosen != fixed => anyhow::bail!(
                "--table {} is {} in the paper; leave --pair out",
                self.name(),
                fixed.name()
            ),
            _ => Ok(fixed),
        }
    }

    /// The metrics of its columns.
    pub fn metrics(self) -> Vec<Metric> {
        match self {
            Self::EnDe | Self::EnFr | Self::LargerContext => {
                [&[BLEU, ACCURACY][..], &BESIDE, &TRAINING].concat()
            }
            Self::AntecedentDistance => DISTANCES.to_vec(),
            Self::Memory => vec![
                metric("operation", "operation MiB", 2),
                metric("with matrices", "with attention matrices MiB", 2),
                metric("kept", "kept KiB", 1),
            ],
            Self::Examples | Self::KeptTokens => Vec::new(),
            Self::Parameters => vec![metric("parameters", "parameters M", 2)],
            Self::Comet | Self::LargerContextComet => vec![COMET],
        }
    }

    /// Whether its cells need trained models.
    pub fn is_trained(self) -> bool {
        self != Self::Parameters
    }

    /// Whether its rows are scores, which a sweep can vary.
    pub fn has_scores(self) -> bool {
        !matches!(self, Self::Memory | Self::Parameters | Self::Examples | Self::KeptTokens)
    }

    /// Models and context sizes, in the order of the paper.
    pub fn grid(self) -> Vec<(Preset, usize)> {
        let contexts = match self {
            Self::LargerContext | Self::LargerContextComet | Self::Memory => 1..=10,
            Self::Parameters | Self::Examples | Self::KeptTokens => 1..=1,
            _ => 1..=3,
        };
        let is_shown = |preset: &Preset| match self {
            // As in the paper: the sentence-level model has no context size; the others are left
            // out of Figure 5 for clarity.
            Self::LargerContext | Self::LargerContextComet => *preset != Preset::Sentence,
            Self::Memory => {
                ![Preset::Sentence, Preset::CachingSentence, Preset::PoolingMax].contains(preset)
            }
            Self::Examples => {
                [Preset::Sentence, Preset::Grouping, Preset::Selecting].contains(preset)
            }
            Self::KeptTokens => [Preset::Grouping, Preset::Selecting].contains(preset),
            _ => true,
        };
        let mut grid = Vec::new();
        for preset in Preset::ALL.into_iter().filter(is_shown) {
            if preset == Preset::Sentence {
                grid.push((preset, 0));
            } else {
                grid.extend(contexts.clone().map(|context| (preset, context)));
            }
        }
        grid
    }
}

/// A selection of cells: a model, at one context size or at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Only {
    preset: Preset,
    context: Option<usize>,
}

impl Only {
    /// Whether a cell is selected.
    pub fn takes(&self, preset: Preset, context: usize) -> bool {
        self.preset == preset && self.context.is_none_or(|wanted| wanted == context)
    }
}

impl std::str::FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, context) = match text.split_once('@') {
            Some((name, context)) => {
                let wrong = |_| format!("`{context}` is not a context size; write grouping@2");
                (name, Some(context.parse().map_err(wrong)?))
            }
            None => (text, None),
        };
        let preset = name.parse().map_err(|error: abridge_model::Error| error.to_string())?;
        Ok(Self { preset, context })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::paper;

    #[test]
    fn every_cell_that_is_trained_has_its_published_figures() {
        for (table, pairs) in [
            (Table::EnDe, &[Pair::EnDe][..]),
            (Table::EnFr, &[Pair::EnFr]),
            (Table::LargerContext, &[Pair::EnDe]),
            (Table::LargerContextComet, &[Pair::EnDe]),
            (Table::AntecedentDistance, &[Pair::EnDe, Pair::EnFr]),
            (Table::Comet, &[Pair::EnDe, Pair::EnFr]),
            (Table::Parameters, &[Pair::EnDe]),
        ] {
            for &pair in pairs {
                for (preset, context) in table.grid() {
                    let metrics = table.metrics().into_iter();
                    let beside = [BESIDE, TRAINING].concat();
                    for metric in metrics.filter(|metric| !beside.contains(metric)) {
                        let figure = paper::figure(pair, preset, context, metric.key);
                        assert!(figure.is_some(), "{table:?} {preset} {context} {}", metric.key);
                    }
                }
            }
        }
        assert_eq!(Table::EnDe.grid().len(), 28);
        assert_eq!(Table::LargerContext.grid().len(), 90);
        assert_eq!(Table::Memory.grid().len(), 70);
        assert_eq!((Table::Examples.grid().len(), Table::KeptTokens.grid().len()), (3, 2));
    }

    #[test]
    fn cells_are_chosen_by_model_and_context_size() {
        let only: Only = "grouping@2".parse().unwrap();
        assert!(only.takes(Preset::Grouping, 2) && !only.takes(Preset::Grouping, 1));
        let only: Only = "sentence".parse().unwrap();
        assert!(only.takes(Preset::Sentence, 0) && !only.takes(Preset::Grouping, 1));
        assert!("gruoping".parse::<Only>().is_err() && "grouping@x".parse::<Only>().is_err());
        assert!(Table::EnDe.pair(Some(Pair::EnFr)).is_err());
    }
}
