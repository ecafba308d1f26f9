//! A model directory: everything that a translation needs, in one place.
//!
//! `config.toml`, `model.safetensors`, whatever else its maker puts beside them (tokenizers), and
//! `MANIFEST.json` with the size and hash of each file and where the model comes from. It is
//! written beside its final name and renamed, so it is complete or not there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Precision, TensorFile, broken};
use crate::{Model, ModelConfig, Result};

const MANIFEST: &str = "MANIFEST.json";
const WEIGHTS: &str = "model.safetensors";
const CONFIG: &str = "config.toml";

/// A model directory whose files are as they were written.
#[derive(Clone, Debug)]
pub struct ModelDirectory {
    path: PathBuf,
    manifest: Manifest,
    config: ModelConfig,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    tool: String,
    provenance: BTreeMap<String, String>,
    files: BTreeMap<String, StoredFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredFile {
    bytes: u64,
    sha256: String,
}

impl ModelDirectory {
    /// Writes a model directory, in place of one that is there; `attach` puts further files into
    /// the folder that it is given.
    pub fn write<E: From<crate::Error>>(
        path: &Path,
        model: &Model,
        provenance: BTreeMap<String, String>,
        attach: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        Self::write_in(Precision::Single, path, model, provenance, attach)
    }

    /// As [`Self::write`], with weights in another precision.
    pub fn write_in<E: From<crate::Error>>(
        precision: Precision,
        path: &Path,
        model: &Model,
        provenance: BTreeMap<String, String>,
        attach: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |error: std::io::Error| broken(path, format!("cannot write it: {error}"));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = |ending: &str| path.with_file_name(format!(".{name}.{ending}"));
        let (work, previous) = (beside("part"), beside("previous"));
        if path.exists() && !path.join(MANIFEST).is_file() {
            return Err(broken(path, "holds something else; choose another directory").into());
        }
        let begin = || {
            let _ = fs::remove_dir_all(&work);
            fs::create_dir_all(&work)
        };
        begin().map_err(failed)?;
        model.save_in(precision, &work.join(WEIGHTS))?;
        fs::write(work.join(CONFIG), model.config().to_toml()).map_err(failed)?;
        attach(&work)?;
        let files = hash_all(&work)?;
        let tool = format!("abridge {}", env!("CARGO_PKG_VERSION"));
        let manifest = Manifest { format: 1, tool, provenance, files };
        let manifest = serde_json::to_vec_pretty(&manifest).map_err(|e| broken(path, e))?;
        let publish = || {
            fs::write(work.join(MANIFEST), manifest)?;
            for entry in fs::read_dir(&work)? {
                fs::File::open(entry?.path())?.sync_all()?;
            }
            let _ = fs::remove_dir_all(&previous);
            if path.exists() {
                fs::rename(path, &previous)?;
            }
            fs::rename(&work, path)?;
            let _ = fs::remove_dir_all(&previous);
            Ok(())
        };
        publish().map_err(failed)?;
        Ok(())
    }

    /// Opens a model directory and checks every file against its manifest.
    pub fn open(path: &Path) -> Result<Self> {
        let file = path.join(MANIFEST);
        let text = fs::read(&file).map_err(|error| {
            broken(&file, format!("cannot read it: {error}; is this a model directory?"))
        })?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|error| broken(&file, format!("damaged: {error}")))?;
        if manifest.format != 1 {
            return Err(broken(
                &file,
                format!("format {} is newer than this program", manifest.format),
            ));
        }
        for (name, expected) in &manifest.files {
            let file = path.join(name);
            let found = hash(&file)?;
            if found != *expected {
                return Err(broken(
                    &file,
                    format!(
                        "damaged or changed: {} bytes, but {} were written, or another hash",
                        found.bytes, expected.bytes
                    ),
                ));
            }
        }
        let file = path.join(CONFIG);
        let text = fs::read_to_string(&file).map_err(|e| broken(&file, e))?;
        let config = ModelConfig::from_toml(&text).map_err(|error| broken(&file, error))?;
        Ok(Self { path: path.to_path_buf(), manifest, config })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The configuration of the network.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Where the model comes from.
    pub fn provenance(&self) -> &BTreeMap<String, String> {
        &self.manifest.provenance
    }

    /// The hash of the weights: the model's name in signatures of results.
    pub fn weights_hash(&self) -> &str {
        self.manifest.files.get(WEIGHTS).map_or("", |file| file.sha256.as_str())
    }

    /// How the weights are stored.
    pub fn precision(&self) -> Result<Precision> {
        Ok(TensorFile::open(&self.path.join(WEIGHTS))?.precision())
    }

    /// The size of the weights in bytes.
    pub fn weights_size(&self) -> u64 {
        self.manifest.files.get(WEIGHTS).map_or(0, |file| file.bytes)
    }

    /// Writes the same model with weights in another precision, and all files beside them.
    pub fn quantise(&self, precision: Precision, path: &Path) -> Result<Self> {
        let mut provenance = self.provenance().clone();
        provenance.insert("precision".into(), precision.to_string());
        provenance.insert("made of".into(), self.weights_hash().into());
        let model = self.load(&Device::flex())?;
        Self::write_in(precision, path, &model, provenance, |folder| self.copy_others(folder))?;
        Self::open(path)
    }

    /// Writes the same model with one more file beside it, or another one of that name.
    pub fn with_file(&self, name: &str, bytes: &[u8], path: &Path) -> Result<Self> {
        let model = self.load(&Device::flex())?;
        let provenance = self.provenance().clone();
        Self::write_in(self.precision()?, path, &model, provenance, |folder| {
            self.copy_others(folder)?;
            fs::write(folder.join(name), bytes).map_err(|error| broken(&folder.join(name), error))
        })?;
        Self::open(path)
    }

    /// All files but the weights and the configuration.
    fn copy_others(&self, folder: &Path) -> Result<()> {
        let files = self.manifest.files.keys().filter(|name| *name != WEIGHTS && *name != CONFIG);
        for name in files {
            let from = self.path.join(name);
            fs::copy(&from, folder.join(name)).map_err(|error| broken(&from, error))?;
        }
        Ok(())
    }

    /// Builds the network with its weights.
    pub fn load(&self, device: &Device) -> Result<Model> {
        self.config.load(&self.path.join(WEIGHTS), device)
    }
}

fn hash_all(folder: &Path) -> Result<BTreeMap<String, StoredFile>> {
    let entries = fs::read_dir(folder).map_err(|error| broken(folder, error))?;
    let mut files = BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(|error| broken(folder, error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, hash(&entry.path())?);
    }
    Ok(files)
}

fn hash(file: &Path) -> Result<StoredFile> {
    let read = || -> std::io::Result<StoredFile> {
        let mut hasher = Sha256::new();
        let mut source = fs::File::open(file)?;
        let bytes = std::io::copy(&mut source, &mut hasher)?;
        Ok(StoredFile { bytes, sha256: format!("{:x}", hasher.finalize()) })
    };
    read().map_err(|error| broken(file, format!("cannot read it: {error}")))
}
