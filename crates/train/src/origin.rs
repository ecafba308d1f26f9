//! What a run was started with, so that it is not resumed with something else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abridge_corpus::prepare::PreparedDirectory;
use abridge_model::weights::{ModelDirectory, TensorFile};
use abridge_model::{Model, ModelConfig, Part};
use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::recipe::TrainRecipe;
use crate::recipe::renamed::current_name;
use crate::{Error, Result};

/// Hashes of the data and the vocabularies, and the recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The training split; of several corpora, each by name.
    pub train: String,
    /// The validation split, likewise.
    pub valid: String,
    /// The tokenizer of the source language.
    pub source_vocabulary: String,
    /// The tokenizer of the target language.
    pub target_vocabulary: String,
    /// The model that the run started from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where that model was. It may have moved since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_place: Option<PathBuf>,
    /// The settings of the recipe, including the network's, by name. Settings for when to stop,
    /// what to keep and what to report may change.
    pub recipe: BTreeMap<String, String>,
}

impl Origin {
    /// The origin of a run of a recipe on some corpora of prepared data. Opening their splits has
    /// checked that the files are unchanged since preparation.
    pub fn of(recipe: &TrainRecipe, data: &PreparedDirectory, corpora: &[String]) -> Result<Self> {
        let outputs = &data.description().outputs;
        let hashes = |corpora: &[&str], split: &str| -> Result<String> {
            let hash = |corpus: &&str| match *corpus {
                "" => data.hash(split),
                corpus => {
                    let hash = data.hash(&format!("{corpus}/{split}"))?;
                    Ok(format!("{corpus} {hash}"))
                }
            };
            let hashes = corpora.iter().map(hash).collect::<abridge_corpus::Result<Vec<_>>>()?;
            Ok(hashes.join(", "))
        };
        let corpora: Vec<&str> = corpora.iter().map(String::as_str).collect();
        let vocabulary = |side: &str| {
            let start = format!("tokenizer.{side}.");
            let files = outputs.iter().filter(|output| output.file.starts_with(&start));
            files.map(|file| file.sha256.as_str()).collect::<Vec<_>>().join("+")
        };
        let mut settings = BTreeMap::new();
        flatten("", &recipe.what_is_learned(), &mut settings);
        Ok(Self {
            train: hashes(&corpora, "train")?,
            valid: hashes(&data.corpora("valid"), "valid")?,
            source_vocabulary: vocabulary("source"),
            target_vocabulary: vocabulary("target"),
            from: None,
            from_place: None,
            recipe: settings,
        })
    }

    /// The hash of all settings that decide what is learned.
    pub fn recipe_hash(&self) -> String {
        let settings = self.recipe.iter().map(|(name, value)| format!("{name} = {value}\n"));
        abridge_base::hash::of_bytes(settings.collect::<String>())
    }

    /// Whether the model that the run started from is frozen, and a memory on top of it is trained.
    pub fn leaves_base(&self) -> bool {
        let train = self.recipe.get("optimisation.train");
        self.from.is_some() && train.is_some_and(|train| train.contains("context"))
    }

    /// The frozen model that the run builds on; `None` if all parameters are trained.
    pub(crate) fn below(&self) -> Option<Result<ModelDirectory>> {
        let place = self.from_place.as_ref().filter(|_| self.leaves_base())?;
        let gone = |why: String| {
            Error::Checkpoint(format!(
                "this run trains a memory on top of the model at {}, but {why}; name that model \
                 with --from",
                place.display()
            ))
        };
        Some(match ModelDirectory::open(place) {
            Err(error) => Err(gone(error.to_string())),
            Ok(below) if Some(below.weights_hash()) == self.from.as_deref() => Ok(below),
            Ok(_) => Err(gone("a different model is there now".into())),
        })
    }

    /// Builds a network from the weights that a run with this origin has stored: all of them, or
    /// only those of a memory on top of the model that the run started from.
    pub(crate) fn load(&self, config: &ModelConfig, file: &Path, device: &Device) -> Result<Model> {
        let stored = TensorFile::open(file)?;
        let model = config.init(0, device)?;
        let mut lacking = model.parameters();
        lacking.retain(|parameter| stored.shape(&parameter.name).is_none());
        let is_memory = lacking.iter().all(|parameter| parameter.part == Part::Base);
        match self.below().filter(|_| !lacking.is_empty() && is_memory) {
            None => Ok(config.load(file, device)?),
            Some(below) => {
                let (model, _) = below?.take_over(model)?;
                Ok(model.take_over(&stored)?.0)
            }
        }
    }

    /// The differences in `given`, by field.
    pub fn differences(&self, given: &Self) -> Vec<String> {
        let hashes = [
            ("the training data", &self.train, &given.train),
            ("the validation data", &self.valid, &given.valid),
            ("the source vocabulary", &self.source_vocabulary, &given.source_vocabulary),
            ("the target vocabulary", &self.target_vocabulary, &given.target_vocabulary),
        ];
        let hashes = hashes.into_iter().filter(|(_, saved, given)| saved != given);
        let mut all: Vec<String> =
            hashes.map(|(name, ..)| format!("{name} has a different hash")).collect();
        if given.from.is_some() && given.from != self.from {
            all.push("--from names a different model".into());
        }
        let absent = String::from("not set");
        let renamed = self.recipe.iter().map(|(name, value)| (current_name(name), value));
        let saved_recipe: BTreeMap<String, &String> = renamed.collect();
        let names: std::collections::BTreeSet<&String> =
            saved_recipe.keys().chain(given.recipe.keys()).collect();
        for name in names {
            let saved = saved_recipe.get(name).copied().unwrap_or(&absent);
            let given = given.recipe.get(name).unwrap_or(&absent);
            if saved != given {
                all.push(format!("{name} is {given}, but was {saved}"));
            }
        }
        all
    }
}

/// `a.b.c` and its value for every setting of a table.
fn flatten(prefix: &str, table: &toml::Table, into: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&name, inner, into),
            value => {
                into.insert(name, value.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_with_both_values() {
        let origin = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
            let recipe = TrainRecipe::parse("", &settings).unwrap();
            let mut flat = BTreeMap::new();
            flatten("", &recipe.what_is_learned(), &mut flat);
            Origin { recipe: flat, ..Origin::default() }
        };
        let saved = origin(&[]);
        assert!(saved.differences(&origin(&["stop.max_updates=7"])).is_empty());
        let mut older = saved.clone();
        let size = older.recipe.remove("model.size").unwrap();
        older.recipe.insert("model.width".into(), size);
        assert!(older.differences(&saved).is_empty(), "a setting of another name");
        let given = Origin { train: "x".into(), ..origin(&["seed=7", "model.change.dropout=0.1"]) };
        assert_eq!(
            saved.differences(&given),
            [
                "the training data has a different hash",
                "model.change.dropout is 0.1, but was not set",
                "seed is 7, but was 42",
            ]
        );
    }
}
