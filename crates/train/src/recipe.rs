//! A training recipe: everything that determines what a run learns, as TOML.

use std::path::{Path, PathBuf};

use abridge_corpus::batch::{BatchSettings, Order};
use abridge_model::{ModelConfig, ModelSize, Preset, Purpose};
use serde::{Deserialize, Serialize};

mod groups;
mod mixture;
pub(crate) mod renamed;

pub use groups::{
    BatchRecipe, Batching, CheckpointRecipe, ContextRecipe, ModelRecipe, OptimisationRecipe,
    StopRecipe, Trained, ValidationRecipe,
};
pub use mixture::{MixtureRecipe, PhaseRecipe};

use crate::inherit::{read_chain, read_table};
use crate::schedule::CoolDown;
use crate::{Error, Result};

/// How a model is trained. Every field has the paper's value by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainRecipe {
    /// Which network.
    pub model: ModelRecipe,
    /// How sentences are batched.
    pub batches: BatchRecipe,
    /// The shares of the corpora, if the data has several. Written only if it is set, so that older
    /// recipes stay the same.
    #[serde(skip_serializing_if = "MixtureRecipe::is_default")]
    pub mixture: MixtureRecipe,
    /// Augmentations of batches, as an extension of the paper.
    pub context: ContextRecipe,
    /// How parameters are optimised.
    pub optimisation: OptimisationRecipe,
    /// When to validate, and when to stop.
    pub stop: StopRecipe,
    /// What validation reports besides the loss.
    pub validation: ValidationRecipe,
    /// Which checkpoints are kept.
    pub checkpoints: CheckpointRecipe,
    /// The seed of all randomness: initial weights, order of batches, dropout.
    pub seed: Seed,
}

/// A seed; the paper's is 42.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Default for Seed {
    fn default() -> Self {
        Self(42)
    }
}

/// No batch, run or beam is larger, and a product of two of these does not overflow.
const LARGEST_COUNT: usize = 1 << 30;

impl TrainRecipe {
    /// Reads a recipe and what it inherits, with `key=value` settings on top, for instance
    /// `optimisation.schedule.peak=1e-3`.
    pub fn read(file: Option<&Path>, settings: &[String]) -> Result<Self> {
        let table = file.map(read_table).transpose()?.unwrap_or_default();
        Self::from_table(table, settings).map_err(|error| match (error, file) {
            (Error::Recipe(problem), Some(file)) => {
                Error::Recipe(format!("{}: {problem}", file.display()))
            }
            (error, _) => error,
        })
    }

    /// A recipe and those that it inherits.
    pub fn files(file: &Path) -> Result<Vec<PathBuf>> {
        Ok(read_chain(file)?.into_iter().map(|(file, _)| file).collect())
    }

    /// The same from text, which has no folder to inherit from.
    pub fn parse(text: &str, settings: &[String]) -> Result<Self> {
        let mut table = toml::from_str(text).map_err(|error| Error::Recipe(error.to_string()))?;
        renamed::rename(&mut table);
        Self::from_table(table, settings)
    }

    fn from_table(mut table: toml::Table, settings: &[String]) -> Result<Self> {
        for setting in settings {
            set(&mut table, setting)?;
        }
        let recipe: Self =
            table.try_into().map_err(|error: toml::de::Error| Error::Recipe(error.to_string()))?;
        recipe.check()?;
        Ok(recipe)
    }

    /// Writes the recipe as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a recipe is always representable in TOML")
    }

    /// The settings that determine what a run learns: all except when it stops, what it keeps and
    /// what it reports.
    pub fn what_is_learned(&self) -> toml::Table {
        let mut table: toml::Table =
            toml::from_str(&self.to_toml()).expect("what was written as TOML is TOML");
        for group in ["stop", "validation", "checkpoints"] {
            table.remove(group);
        }
        table
    }

    /// The network for vocabularies of the given sizes.
    pub fn config(&self, source: usize, target: usize) -> Result<ModelConfig> {
        self.changed(&self.preset(source, target)?)
    }

    /// The network that starts from another: that one, with the context of the recipe's preset.
    pub fn config_on(&self, base: &ModelConfig) -> Result<ModelConfig> {
        let preset = self.preset(base.source_vocabulary, base.target_vocabulary)?;
        self.changed(&base.with_context_of(&preset))
    }

    fn preset(&self, source: usize, target: usize) -> Result<ModelConfig> {
        let preset: Preset = self.model.preset.parse()?;
        let size: ModelSize = self.model.size.parse()?;
        Ok(preset.config(size, source, target, self.model.context_size))
    }

    fn changed(&self, config: &ModelConfig) -> Result<ModelConfig> {
        let mut table: toml::Table =
            toml::from_str(&config.to_toml()).map_err(|error| Error::Recipe(error.to_string()))?;
        change(&mut table, &self.model.change);
        Ok(ModelConfig::from_toml(&table.to_string())?)
    }

    /// How the training corpus is divided into micro-batches.
    pub fn batch_settings(&self, config: &ModelConfig) -> BatchSettings {
        let order = match self.batches.batching {
            Batching::Runs => Order::Runs { run_length: self.batches.run_length },
            Batching::Sentences => Order::published(),
        };
        BatchSettings {
            layout: config.layout(Purpose::Training),
            max_tokens: self.batches.max_tokens,
            seed: self.seed.0,
            order,
        }
    }

    /// The last update: what the recipe sets as a limit, or the end of the cool-down.
    pub fn last_update(&self) -> Option<u64> {
        let cooled = self.optimisation.schedule.cool_down.map(|cool_down| cool_down.until);
        self.stop.max_updates.into_iter().chain(cooled).min()
    }

    /// Rejects settings out of range; the error names the setting.
    fn check(&self) -> Result<()> {
        self.check_rates()?;
        self.check_counts()
    }

    /// NaN is in no range.
    fn check_rates(&self) -> Result<()> {
        let OptimisationRecipe { label_smoothing, clip_norm, schedule, adam, .. } =
            self.optimisation;
        for (name, share) in [
            ("label_smoothing", label_smoothing),
            ("adam.beta_1", adam.beta_1),
            ("adam.beta_2", adam.beta_2),
        ] {
            let is_right = (0.0..1.0).contains(&share);
            refuse_unless(is_right, || format!("optimisation.{name} is {share}, not in [0, 1)"))?;
        }
        // May be infinite: then nothing is clipped.
        refuse_unless(clip_norm > 0.0, || {
            format!("optimisation.clip_norm is {clip_norm}, not above 0")
        })?;
        for (name, rate) in [("schedule.peak", schedule.peak), ("adam.epsilon", adam.epsilon)] {
            refuse_unless(rate > 0.0 && rate.is_finite(), || {
                format!("optimisation.{name} is {rate}, not a finite number above 0")
            })?;
        }
        let decay = adam.weight_decay;
        refuse_unless(decay >= 0.0 && decay.is_finite(), || {
            format!("optimisation.adam.weight_decay is {decay}, not a finite number of 0 or more")
        })?;
        let base_rate = self.optimisation.base_rate;
        refuse_unless(base_rate >= 0.0 && base_rate.is_finite(), || {
            format!("optimisation.base_rate is {base_rate}, not a finite number of 0 or more")
        })?;
        let ContextRecipe { drop, coword_dropout, .. } = self.context;
        for (name, probability) in [("drop", drop), ("coword_dropout", coword_dropout)] {
            refuse_unless((0.0..=1.0).contains(&probability), || {
                format!("context.{name} is {probability}, but a probability must be in [0, 1]")
            })?;
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<()> {
        let BatchRecipe { max_tokens, run_length, per_update, .. } = self.batches;
        for (name, count, reason) in [
            ("batches.max_tokens", max_tokens, "a batch needs room for a token"),
            ("batches.run_length", run_length, "a run has at least one sentence"),
            ("batches.per_update", per_update, "an update needs a batch"),
            ("validation.beam", self.validation.beam, "a beam has at least one hypothesis"),
        ] {
            refuse_unless(count > 0, || format!("{name} is 0, but {reason}"))?;
            refuse_unless(count <= LARGEST_COUNT, || {
                format!("{name} is {count}, but at most {LARGEST_COUNT} is possible")
            })?;
        }
        if let Some(CoolDown { from, until }) = self.optimisation.schedule.cool_down {
            refuse_unless(from < until && until < u64::MAX, || {
                format!(
                    "optimisation.schedule.cool_down ends at update {until}, but begins at {from}"
                )
            })?;
        }
        refuse_unless(self.stop.validate_every != Some(0), || {
            "stop.validate_every is 0; leave it out to validate after each epoch".into()
        })
    }
}

/// Changes some fields of a configuration. In a group of fields, those that are not named stay,
/// unless the change sets the `kind` of the group.
fn change(table: &mut toml::Table, changes: &toml::Table) {
    for (key, new) in changes {
        match (table.get_mut(key), new) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new))
                if !new.contains_key("kind") =>
            {
                change(old, new);
            }
            _ => {
                table.insert(key.clone(), new.clone());
            }
        }
    }
}

fn refuse_unless(is_right: bool, problem: impl FnOnce() -> String) -> Result<()> {
    if is_right { Ok(()) } else { Err(Error::Recipe(problem())) }
}

/// Puts `a.b.c=value` into a table; a value that is not TOML is a string.
fn set(table: &mut toml::Table, setting: &str) -> Result<()> {
    let (key, value) = setting
        .split_once('=')
        .ok_or_else(|| Error::Recipe(format!("\"{setting}\" is not a setting; write key=value")))?;
    let value = format!("value = {value}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let key = renamed::current_name(key.trim());
    let mut path: Vec<&str> = key.split('.').collect();
    let last = path.pop().unwrap_or_default();
    let mut place = table;
    for part in path {
        let next = place.entry(part).or_insert_with(|| toml::Table::new().into());
        place = next.as_table_mut().ok_or_else(|| {
            Error::Recipe(format!("\"{setting}\": {part} is a value, not a group of settings"))
        })?;
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[&str]) -> Result<TrainRecipe> {
        TrainRecipe::read(None, &settings.iter().map(|&s| s.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_default_is_the_papers_recipe_and_reads_back() {
        let recipe = read(&[]).unwrap();
        assert_eq!(recipe, TrainRecipe::default());
        assert_eq!(recipe.optimisation.schedule.warm_up, 2500);
        let again: TrainRecipe = toml::from_str(&recipe.to_toml()).unwrap();
        assert_eq!(again, recipe);
    }

    #[test]
    fn settings_reach_every_depth() {
        let recipe = read(&[
            "model.preset=selecting",
            "model.size=tiny",
            "model.change.dropout=0.1",
            "model.change.shortener={kind=\"selecting\",groups=4,hidden=16}",
            "optimisation.schedule.peak=1e-3",
            "seed=7",
        ])
        .unwrap();
        assert_eq!((recipe.seed.0, recipe.optimisation.schedule.peak), (7, 1e-3));
        let config = recipe.config(50, 60).unwrap();
        assert_eq!((config.dropout, config.target_vocabulary), (0.1, 60));
        assert!(config.to_toml().contains("groups = 4"));
    }

    #[test]
    fn errors_name_the_setting() {
        for (setting, part) in [
            ("seeed=7", "seeed"),
            ("seed", "key=value"),
            ("batches.per_update=0", "needs a batch"),
            ("batches.max_tokens=0", "room for a token"),
            ("optimisation.label_smoothing=1.5", "[0, 1)"),
            ("optimisation.clip_norm=nan", "clip_norm is NaN, not above 0"),
            ("optimisation.schedule.peak=-1e-3", "peak is -0.001"),
            ("optimisation.adam.beta_2=1.0", "beta_2 is 1, not in [0, 1)"),
            ("optimisation.schedule.cool_down={from=9,until=9}", "ends at update 9"),
            ("context.drop=2.0", "a probability"),
            ("optimisation.train=some", "context"),
            ("optimisation.base_rate=-1.0", "base_rate is -1"),
            ("seed.x=1", "invalid type"),
        ] {
            let error = read(&[setting]).unwrap_err().to_string();
            assert!(error.contains(part), "{setting}: {error}");
        }
        let recipe = read(&["model.change.widht=3"]).unwrap();
        assert!(recipe.config(50, 50).unwrap_err().to_string().contains("widht"));
    }
}
