//! Checkpoints: one directory each, complete or absent.
//!
//! A checkpoint is written beside its final name, synced, and renamed; its manifest is written last
//! and holds the size and hash of every file. A checkpoint without a valid manifest is ignored. The
//! files `last` and `best` beside the checkpoints each hold the name of one.

use std::fs;
use std::path::{Path, PathBuf};

use abridge_base::files::{OutputDirectory, clear_leftovers, remove_files, replace, write_new};
use abridge_corpus::batch::Position;
use abridge_model::weights::{TensorFile, WeightPrecision, write_tensors};
use abridge_model::{Model, ModelConfig, Part};
use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::loss_scale::LossScale;
use crate::manifest::{self, CONFIG, OPTIMISER, STATE, WEIGHTS};
use crate::optimiser::Adam;
use crate::origin::Origin;
use crate::recipe::{CheckpointRecipe, OptimisationRecipe};
use crate::{Error, Result};

/// The state of a run, apart from its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Updates made, including skipped ones.
    pub update: u64,
    /// The next micro-batch.
    pub position: Position,
    /// The validation loss of these weights, if they were validated.
    pub valid_loss: Option<f64>,
    /// The lowest validation loss so far, in bits per token.
    pub best_loss: Option<f64>,
    /// The update with that loss.
    pub best_update: u64,
    /// Validations since then without a lower loss.
    pub without_improvement: u32,
    /// Updates that were skipped because a gradient was not finite.
    pub skipped: u64,
    /// How many of the latest updates in a row were skipped.
    pub skipped_in_a_row: u64,
    /// The scale of the loss, in a run in half precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<LossScale>,
    /// What the run was started with; it cannot be resumed with anything else.
    pub origin: Origin,
}

impl RunState {
    /// The state of a run before its first update.
    pub fn new(origin: Origin) -> Self {
        Self {
            update: 0,
            position: Position::default(),
            valid_loss: None,
            best_loss: None,
            best_update: 0,
            without_improvement: 0,
            skipped: 0,
            skipped_in_a_row: 0,
            loss_scale: None,
            origin,
        }
    }
}

/// The checkpoints of a run.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    folder: PathBuf,
}

/// A complete checkpoint.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its folder.
    pub folder: PathBuf,
    /// Where the run was.
    pub state: RunState,
    /// Newer ones that were not usable, and why.
    pub passed_over: Vec<String>,
}

impl Checkpoints {
    /// The checkpoints in a folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Removes what interrupted saves have left.
    pub fn clean(&self) {
        let is_ours = |name: &str| matches!(name, "last" | "best") || is_name(name);
        clear_leftovers(&self.folder, is_ours, |_| Some(manifest::names()));
    }

    /// Saves a checkpoint, replacing one of the same update; returns its folder.
    pub fn save(&self, model: &Model, adam: &Adam, state: &RunState) -> Result<PathBuf> {
        let target = self.folder.join(name_of(state.update));
        self.write(model, adam, state, &target)
            .map_err(|error| Error::Checkpoint(format!("{}: {error}", target.display())))?;
        Ok(target)
    }

    fn write(&self, model: &Model, adam: &Adam, state: &RunState, target: &Path) -> Result<()> {
        let output = OutputDirectory::begin(target, |_| Some(manifest::names()))?;
        let file = |name: &str| output.path().join(name);
        // The frozen model below a memory is not saved again.
        let part = state.origin.leaves_base().then_some(Part::Context);
        model.save_part(part, WeightPrecision::Single, &file(WEIGHTS))?;
        write_tensors(&file(OPTIMISER), &adam.state(model)?)?;
        let json = serde_json::to_string_pretty(state)
            .map_err(|error| Error::Checkpoint(error.to_string()))?;
        write_new(&file(STATE), json.as_bytes())?;
        write_new(&file(CONFIG), model.config().to_toml().as_bytes())?;
        manifest::write(output.path())?;
        output.finish()?;
        replace(&self.folder.join("last"), name_of(state.update).as_bytes())?;
        if state.best_loss.is_some() && state.best_update == state.update {
            replace(&self.folder.join("best"), name_of(state.update).as_bytes())?;
        }
        Ok(())
    }

    /// Removes all checkpoints except the newest, the best, and others that the recipe keeps.
    pub fn prune(&self, keep: CheckpointRecipe, best: u64) {
        let names = self.names();
        let newest = names.len().saturating_sub(keep.keep.max(2));
        let mut by_loss: Vec<(f64, &String)> = names
            .iter()
            .filter_map(|name| Some((state_of(&self.folder.join(name)).ok()?.valid_loss?, name)))
            .collect();
        by_loss.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
        by_loss.truncate(keep.keep_best);
        for name in &names[..newest] {
            if *name != name_of(best) && by_loss.iter().all(|(_, kept)| *kept != name) {
                // A failure only costs space; files of others stay.
                remove_files(&self.folder.join(name), manifest::names());
            }
        }
    }

    /// The newest complete checkpoint, if there is one.
    pub fn newest(&self) -> Result<Option<Found>> {
        let mut passed_over = Vec::new();
        for name in self.names().into_iter().rev() {
            let folder = self.folder.join(&name);
            match manifest::verify(&folder).and_then(|()| state_of(&folder)) {
                Ok(state) => return Ok(Some(Found { folder, state, passed_over })),
                Err(error) => passed_over.push(format!("{name}: {error}")),
            }
        }
        if passed_over.is_empty() {
            return Ok(None);
        }
        Err(Error::Checkpoint(format!(
            "no checkpoint in {} is usable: {}; remove them to start over",
            self.folder.display(),
            passed_over.join("; ")
        )))
    }

    /// All complete checkpoints, oldest first.
    pub fn complete(&self) -> Vec<Found> {
        let found = self.names().into_iter().filter_map(|name| {
            let folder = self.folder.join(name);
            manifest::verify(&folder).ok()?;
            let state = state_of(&folder).ok()?;
            Some(Found { folder, state, passed_over: Vec::new() })
        });
        found.collect()
    }

    /// The weights of the checkpoint of the given update of a run.
    pub fn weights(&self, update: u64, origin: &Origin, device: &Device) -> Result<Model> {
        let folder = self.folder.join(name_of(update));
        manifest::verify(&folder)?;
        origin.load(&config_of(&folder)?, &folder.join(WEIGHTS), device)
    }

    /// Names of checkpoints, oldest first.
    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_name(name))
            .collect();
        names.sort();
        names
    }
}

impl Found {
    /// The network with its weights, and the optimiser with its running means.
    pub fn load(
        &self,
        config: &ModelConfig,
        origin: &Origin,
        optimisation: &OptimisationRecipe,
        device: &Device,
    ) -> Result<(Model, Adam)> {
        let model = origin.load(config, &self.folder.join(WEIGHTS), device)?;
        let model = optimisation.freeze(model);
        let moments = TensorFile::open(&self.folder.join(OPTIMISER))?;
        let updates = self.state.update - self.state.skipped;
        let adam = match updates {
            0 => Adam::new(optimisation.adam),
            _ => Adam::restore(optimisation.adam, updates, &model, &moments)?,
        };
        Ok((model, adam.with_base_rate(optimisation.base_rate)))
    }

    /// Its weights, by name.
    pub fn tensors(&self) -> Result<TensorFile> {
        Ok(TensorFile::open(&self.folder.join(WEIGHTS))?)
    }

    /// The configuration of its network.
    pub fn config(&self) -> Result<ModelConfig> {
        config_of(&self.folder)
    }
}

fn name_of(update: u64) -> String {
    format!("update-{update:08}")
}

/// Whether this is the name of a checkpoint.
fn is_name(name: &str) -> bool {
    let update = name.strip_prefix("update-");
    update.is_some_and(|u| u.len() >= 8 && u.bytes().all(|b| b.is_ascii_digit()))
}

fn config_of(folder: &Path) -> Result<ModelConfig> {
    let text = manifest::read(&folder.join(CONFIG))?;
    Ok(ModelConfig::from_toml(&String::from_utf8_lossy(&text))?)
}

fn state_of(folder: &Path) -> Result<RunState> {
    let file = folder.join(STATE);
    serde_json::from_slice(&manifest::read(&file)?)
        .map_err(|error| Error::Checkpoint(format!("{}: {error}", file.display())))
}
