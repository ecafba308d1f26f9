//! One model at one context size with one seed, stored under the hash of its inputs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use abridge_base::files::replace;
use abridge_model::Preset;
use abridge_train::TrainRecipe;
use serde::{Deserialize, Serialize};

use super::table::Pair;

/// One cell of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The languages.
    pub pair: Pair,
    /// The model.
    pub preset: Preset,
    /// The context size.
    pub context: usize,
    /// The seed.
    pub seed: u64,
    /// The index of the variant in a sweep; 0 without one. Its settings are part of the recipe.
    pub variant: usize,
}

/// The results of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Scores by the key of their metric.
    pub scores: BTreeMap<String, f64>,
    /// What the scores depend on.
    pub signature: String,
}

/// A cell with its directory.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The cell.
    pub cell: Cell,
    /// Its training recipe.
    pub recipe: TrainRecipe,
    /// Its directory, named after the cell and the hash of its inputs.
    pub directory: PathBuf,
}

/// The file of an outcome, written when the cell is done.
const OUTCOME: &str = "outcome.json";

impl Cell {
    /// A readable name.
    pub fn name(&self) -> String {
        format!("{}-{}-c{}-seed{}", self.pair.name(), self.preset, self.context, self.seed)
    }
}

impl Stored {
    /// The directory of a cell depends on the recipe, the data, the initial weights and the version
    /// of the program, so that stored results are never stale.
    pub fn new(
        cell: Cell,
        recipe: TrainRecipe,
        data: &str,
        from: Option<&str>,
        out: &Path,
    ) -> Self {
        let mut inputs = vec![
            env!("CARGO_PKG_VERSION").to_owned(),
            cell.name(),
            recipe.to_toml(),
            data.to_owned(),
        ];
        inputs.extend(from.map(str::to_owned));
        let hash = hash(&inputs.join("\n"));
        let directory = out.join("cells").join(format!("{}-{}", cell.name(), &hash[..12]));
        Self { cell, recipe, directory }
    }

    /// The run directory of its training.
    pub fn run(&self) -> PathBuf {
        self.directory.join("run")
    }

    /// Its model directory.
    pub fn model(&self) -> PathBuf {
        self.directory.join("model")
    }

    /// The translation of the test documents.
    pub fn translation(&self) -> PathBuf {
        self.directory.join(format!("test.{}", self.cell.pair.target()))
    }

    /// The outcome, if it is done.
    pub fn outcome(&self) -> Option<Outcome> {
        let text = fs::read(self.directory.join(OUTCOME)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Stores the outcome.
    pub fn keep(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(outcome)? + "\n";
        Ok(replace(&self.directory.join(OUTCOME), text.as_bytes())?)
    }
}

/// SHA-256 in hexadecimal.
pub fn hash(text: &str) -> String {
    abridge_base::hash::of_bytes(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::scale::Scale;

    #[test]
    fn every_input_changes_the_directory() {
        let cell =
            Cell { pair: Pair::EnDe, preset: Preset::Grouping, context: 2, seed: 42, variant: 0 };
        let place_from = |cell: Cell, settings: &[&str], data: &str, from: Option<&str>| {
            let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
            let Cell { pair, preset, context, seed, .. } = cell;
            let recipe = Scale::Tiny.recipe(pair, preset, context, seed, &settings).unwrap();
            Stored::new(cell, recipe, data, from, Path::new("out")).directory
        };
        let place = |cell, settings: &[&str], data| place_from(cell, settings, data, None);
        let first = place(cell, &[], "a");
        assert_eq!(first, place(cell, &[], "a"));
        assert_ne!(first, place(cell, &[], "b"));
        assert_ne!(first, place(cell, &["stop.max_updates=3"], "a"));
        assert_ne!(first, place_from(cell, &[], "a", Some("weights")));
        assert_ne!(first, place(Cell { seed: 43, ..cell }, &[], "a"));
        assert!(first.starts_with("out/cells"));
    }
}
