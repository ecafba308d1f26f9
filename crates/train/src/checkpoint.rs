//! Checkpoints: a directory each, complete or not there.
//!
//! A checkpoint is written beside its final name, made durable, and renamed; its manifest comes
//! last and holds the size and hash of every file. One without a valid manifest does not exist.

use std::fs;
use std::path::{Path, PathBuf};

use abridge_corpus::batch::Position;
use abridge_corpus::prepare::FileHash;
use abridge_model::weights::{TensorFile, write_tensors};
use abridge_model::{Model, ModelConfig};
use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::optimiser::{Adam, AdamConfig};
use crate::{Error, Result};

const MANIFEST: &str = "MANIFEST.json";
const WEIGHTS: &str = "model.safetensors";
const OPTIMISER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";
const CONFIG: &str = "config.toml";

/// Where a run is, apart from its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Updates made.
    pub update: u64,
    /// The next micro-batch.
    pub position: Position,
    /// The lowest validation loss so far, in bits per token.
    pub best_loss: Option<f64>,
    /// The update that it belongs to.
    pub best_update: u64,
    /// Validations since then without a lower one.
    pub without_improvement: u32,
    /// Updates that were skipped because a gradient was not finite.
    pub skipped: u64,
    /// What the run was started with: a difference is refused.
    pub origin: Origin,
}

impl RunState {
    /// The state of a run that has done nothing.
    pub fn new(origin: Origin) -> Self {
        Self {
            update: 0,
            position: Position::default(),
            best_loss: None,
            best_update: 0,
            without_improvement: 0,
            skipped: 0,
            origin,
        }
    }
}

/// What a run was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The hash of the prepared directory's manifest: data and vocabularies.
    pub data: String,
    /// The recipe, without what says when to stop.
    pub recipe: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    tool: String,
    files: Vec<FileHash>,
}

/// The checkpoints of a run.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    folder: PathBuf,
}

/// A checkpoint that was read back.
#[derive(Debug)]
pub struct Restored {
    /// The network with its weights.
    pub model: Model,
    /// The optimiser with its running means.
    pub adam: Adam,
    /// Where the run was.
    pub state: RunState,
    /// The name of the checkpoint.
    pub name: String,
    /// Newer ones that were not usable, and why.
    pub passed_over: Vec<String>,
}

impl Checkpoints {
    /// The checkpoints in a folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Saves a checkpoint; returns its folder.
    pub fn save(&self, model: &Model, adam: &Adam, state: &RunState) -> Result<PathBuf> {
        let name = name_of(state.update);
        let (target, work) = (self.folder.join(&name), self.folder.join(format!(".{name}.part")));
        let failed =
            |error| Error::Checkpoint(format!("{}: cannot write: {error}", target.display()));
        if target.exists() {
            return Ok(target);
        }
        let write = || -> std::io::Result<()> {
            let _ = fs::remove_dir_all(&work);
            fs::create_dir_all(&work)
        };
        write().map_err(failed)?;
        model.save(&work.join(WEIGHTS))?;
        write_tensors(&work.join(OPTIMISER), &adam.state(model))?;
        let state = serde_json::to_string_pretty(state)
            .map_err(|error| Error::Checkpoint(error.to_string()))?;
        fs::write(work.join(STATE), state).map_err(failed)?;
        fs::write(work.join(CONFIG), model.config().to_toml()).map_err(failed)?;
        let files = [WEIGHTS, OPTIMISER, STATE, CONFIG]
            .map(|file| FileHash::of(&work.join(file), file))
            .into_iter()
            .collect::<Result<_, _>>()?;
        let tool = format!("abridge {}", env!("CARGO_PKG_VERSION"));
        let manifest = serde_json::to_string_pretty(&Manifest { format: 1, tool, files })
            .map_err(|error| Error::Checkpoint(error.to_string()))?;
        fs::write(work.join(MANIFEST), manifest).map_err(failed)?;
        let publish = || -> std::io::Result<()> {
            for file in [STATE, CONFIG, MANIFEST] {
                fs::File::open(work.join(file))?.sync_all()?;
            }
            fs::File::open(&work)?.sync_all()?;
            fs::rename(&work, &target)?;
            fs::File::open(&self.folder)?.sync_all()
        };
        publish().map_err(failed)?;
        Ok(target)
    }

    /// Removes all but the newest `keep` and the one of update `best`.
    pub fn prune(&self, keep: usize, best: u64) {
        let names = self.names();
        let old = names.len().saturating_sub(keep);
        for name in &names[..old] {
            if *name != name_of(best) {
                // A folder that cannot be removed only costs space.
                let _ = fs::remove_dir_all(self.folder.join(name));
            }
        }
    }

    /// Whether there is any checkpoint, usable or not.
    pub fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    /// The newest usable checkpoint, if there is one.
    pub fn restore(&self, adam: AdamConfig, device: &Device) -> Result<Option<Restored>> {
        let mut passed_over = Vec::new();
        for name in self.names().into_iter().rev() {
            match self.read(&name, adam, device) {
                Ok((model, adam, state)) => {
                    return Ok(Some(Restored { model, adam, state, name, passed_over }));
                }
                Err(error) => passed_over.push(format!("{name}: {error}")),
            }
        }
        if passed_over.is_empty() {
            return Ok(None);
        }
        Err(Error::Checkpoint(format!(
            "no checkpoint in {} is usable: {}",
            self.folder.display(),
            passed_over.join("; ")
        )))
    }

    /// The weights of the checkpoint of the given update.
    pub fn weights(&self, update: u64, device: &Device) -> Result<Model> {
        let folder = self.folder.join(name_of(update));
        verify(&folder)?;
        Ok(config_of(&folder)?.load(&folder.join(WEIGHTS), device)?)
    }

    fn read(
        &self,
        name: &str,
        adam: AdamConfig,
        device: &Device,
    ) -> Result<(Model, Adam, RunState)> {
        let folder = self.folder.join(name);
        verify(&folder)?;
        let state: RunState = serde_json::from_slice(&read_file(&folder.join(STATE))?)
            .map_err(|error| Error::Checkpoint(format!("{STATE}: {error}")))?;
        let model = config_of(&folder)?.load(&folder.join(WEIGHTS), device)?;
        let moments = TensorFile::open(&folder.join(OPTIMISER))?;
        let adam = Adam::restore(adam, state.update, &model, &moments)?;
        Ok((model, adam, state))
    }

    /// Names of checkpoints, oldest first.
    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with("update-"))
            .collect();
        names.sort();
        names
    }
}

fn name_of(update: u64) -> String {
    format!("update-{update:08}")
}

fn config_of(folder: &Path) -> Result<ModelConfig> {
    let text = read_file(&folder.join(CONFIG))?;
    Ok(ModelConfig::from_toml(&String::from_utf8_lossy(&text))?)
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| Error::Checkpoint(format!("{}: cannot read it: {error}", path.display())))
}

/// Checks every file against the manifest.
fn verify(folder: &Path) -> Result<()> {
    let wrong = |what: String| Err(Error::Checkpoint(format!("{}: {what}", folder.display())));
    let manifest: Manifest = match serde_json::from_slice(&read_file(&folder.join(MANIFEST))?) {
        Ok(manifest) => manifest,
        Err(error) => return wrong(format!("{MANIFEST} is damaged: {error}")),
    };
    if manifest.format != 1 {
        return wrong(format!("format {} is newer than this program", manifest.format));
    }
    for name in [WEIGHTS, OPTIMISER, STATE, CONFIG] {
        let Some(expected) = manifest.files.iter().find(|file| file.file == name) else {
            return wrong(format!("{MANIFEST} does not list {name}"));
        };
        let found = FileHash::of(&folder.join(name), name)?;
        if found != *expected {
            return wrong(format!(
                "{name} has {} bytes and another hash than its manifest says ({} bytes); it is \
                 damaged",
                found.bytes, expected.bytes
            ));
        }
    }
    Ok(())
}
