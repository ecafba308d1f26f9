//! The manifest of a checkpoint: size and hash of each file, and a hash of itself.

use std::fs;
use std::path::Path;

use abridge_corpus::prepare::FileHash;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Result, durable};

pub const WEIGHTS: &str = "model.safetensors";
pub const OPTIMISER: &str = "optimizer.safetensors";
pub const STATE: &str = "state.json";
pub const CONFIG: &str = "config.toml";
const MANIFEST: &str = "MANIFEST.json";
const FILES: [&str; 4] = [WEIGHTS, OPTIMISER, STATE, CONFIG];
const FORMAT: u32 = 2;

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    tool: String,
    files: Vec<FileHash>,
    /// The hash of all that is above, so that no bit of this file can change unnoticed, either.
    sha256: String,
}

impl Manifest {
    fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|error| Error::Checkpoint(error.to_string()))
    }

    fn sealed(mut self) -> Result<Self> {
        self.sha256.clear();
        self.sha256 = format!("{:x}", Sha256::digest(self.to_json()?));
        Ok(self)
    }
}

/// Hashes the files of a folder and writes their manifest, durably.
pub fn write(folder: &Path) -> Result<()> {
    let files = FILES
        .map(|file| FileHash::of(&folder.join(file), file))
        .into_iter()
        .collect::<Result<_, _>>()?;
    let tool = format!("abridge {}", env!("CARGO_PKG_VERSION"));
    let manifest = Manifest { format: FORMAT, tool, files, sha256: String::new() }.sealed()?;
    durable::create(&folder.join(MANIFEST), manifest.to_json()?.as_bytes())
        .map_err(|error| Error::Checkpoint(format!("cannot write it: {error}")))
}

/// Checks every file of a folder against its manifest.
pub fn verify(folder: &Path) -> Result<()> {
    let wrong = |what: String| Err(Error::Checkpoint(format!("{}: {what}", folder.display())));
    let text = read(&folder.join(MANIFEST))?;
    let manifest: Manifest = match serde_json::from_slice(&text) {
        Ok(manifest) => manifest,
        Err(error) => return wrong(format!("{MANIFEST} is damaged: {error}")),
    };
    let manifest = manifest.sealed()?;
    if manifest.to_json()?.as_bytes() != text {
        return wrong(format!("{MANIFEST} is damaged: its own hash does not fit"));
    }
    if manifest.format != FORMAT {
        let format = manifest.format;
        return wrong(format!("{MANIFEST} has format {format}; this program reads {FORMAT}"));
    }
    for name in FILES {
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

/// Reads a file of a checkpoint.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| Error::Checkpoint(format!("{}: cannot read it: {error}", path.display())))
}
