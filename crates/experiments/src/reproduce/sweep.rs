//! Sweeps: fields of the recipe with several values each, as rows of a table.

use std::str::FromStr;

use abridge_model::Preset;
use clap::ValueEnum;

/// A field of the recipe with several values, as `model.change.shortener.groups=8,9,10,11`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    key: String,
    values: Vec<String>,
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a field with values; write key=value,value,…");
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<String> = apart(values).into_iter().map(str::to_owned).collect();
        if key.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        Ok(Self { key: key.trim().to_owned(), values })
    }
}

/// Values separated by commas; a comma inside brackets or quotation marks is part of a value.
fn apart(text: &str) -> Vec<&str> {
    let (mut values, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
    for (place, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                values.push(text[start..place].trim());
                start = place + 1;
            }
            _ => {}
        }
    }
    values.push(text[start..].trim());
    values
}

/// One combination of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Its name in tables, such as `groups=9`; empty if nothing is varied.
    pub label: String,
    /// Its settings, as `key=value`.
    pub settings: Vec<String>,
}

/// All combinations, the last field varying fastest; one without settings if nothing is varied.
pub fn variants(vary: &[Vary]) -> Vec<Variant> {
    let mut all = vec![Variant::default()];
    for Vary { key, values } in vary {
        let name = key.rsplit('.').next().unwrap_or(key);
        all = all
            .iter()
            .flat_map(|before| {
                values.iter().map(move |value| {
                    let mut settings = before.settings.clone();
                    settings.push(format!("{key}={value}"));
                    let comma = if before.label.is_empty() { "" } else { ", " };
                    let label = format!("{}{comma}{name}={value}", before.label);
                    Variant { label, settings }
                })
            })
            .collect();
    }
    all
}

/// The choices that the paper made by experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sweep {
    /// K of pooling: 2 to 4
    PoolingWindow,
    /// K of grouping and selecting: 8 to 11
    Groups,
    /// Sparsemax or softmax in grouping and selecting
    Normaliser,
    /// Joined, serial or parallel context attention
    Integration,
    /// With or without a gate on the context attention
    Gate,
    /// Gradients to 0, 1, 2 or all 3 context sentences
    Gradient,
    /// With or without the current sentence in its own memory
    CurrentSentence,
}

impl Sweep {
    /// The name on the command line and of files.
    pub fn name(self) -> &'static str {
        match self {
            Self::PoolingWindow => "pooling-window",
            Self::Groups => "groups",
            Self::Normaliser => "normaliser",
            Self::Integration => "integration",
            Self::Gate => "gate",
            Self::Gradient => "gradient",
            Self::CurrentSentence => "current-sentence",
        }
    }

    /// The field and its values.
    pub fn vary(self) -> Vary {
        let (key, values): (&str, &[&str]) = match self {
            Self::PoolingWindow => ("shortener.window", &["2", "3", "4"]),
            Self::Groups => ("shortener.groups", &["8", "9", "10", "11"]),
            Self::Normaliser => ("shortener.normaliser", &["sparsemax", "softmax"]),
            Self::Integration => ("integration", &["joined", "serial", "parallel"]),
            Self::Gate => ("gate", &["false", "true"]),
            Self::Gradient => ("gradient_sentences", &["0", "1", "2", "3"]),
            Self::CurrentSentence => ("current_in_memory", &["false", "true"]),
        };
        let values = values.iter().map(ToString::to_string).collect();
        Vary { key: format!("model.change.{key}"), values }
    }

    /// The models that have the choice, and the context size of the sweep.
    pub fn grid(self) -> Vec<(Preset, usize)> {
        let context = if self == Self::Gradient { 3 } else { 1 };
        let presets: &[Preset] = match self {
            Self::PoolingWindow => &[Preset::PoolingMax, Preset::PoolingAvg, Preset::PoolingLinear],
            Self::Groups | Self::Normaliser => &[Preset::Grouping, Preset::Selecting],
            _ => &[Preset::CachingTokens, Preset::Grouping, Preset::Selecting],
        };
        presets.iter().map(|&preset| (preset, context)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::scale::Scale;
    use crate::reproduce::table::Pair;

    #[test]
    fn fields_are_combined() {
        let vary: Vec<Vary> =
            ["a.b=1,2", "c=[1,2],\"x,y\""].iter().map(|text| text.parse().unwrap()).collect();
        let labels: Vec<String> = variants(&vary).into_iter().map(|v| v.label).collect();
        assert_eq!(labels, ["b=1, c=[1,2]", "b=1, c=\"x,y\"", "b=2, c=[1,2]", "b=2, c=\"x,y\""]);
        assert_eq!(variants(&vary)[3].settings, ["a.b=2", "c=\"x,y\""]);
        assert_eq!(variants(&[]), [Variant::default()]);
        assert!("a".parse::<Vary>().is_err() && "a=1,,2".parse::<Vary>().is_err());
    }

    #[test]
    fn every_named_sweep_makes_different_networks() {
        for &sweep in Sweep::value_variants() {
            for (preset, context) in sweep.grid() {
                let mut configs: Vec<String> = Vec::new();
                for variant in variants(&[sweep.vary()]) {
                    let recipe =
                        Scale::Tiny.recipe(Pair::EnDe, preset, context, 1, &variant.settings);
                    let config = recipe.unwrap().config(50, 50);
                    let config =
                        config.unwrap_or_else(|e| panic!("{preset} {}: {e}", variant.label));
                    assert!(!configs.contains(&config.to_toml()), "{preset} {}", variant.label);
                    configs.push(config.to_toml());
                }
            }
        }
    }
}
