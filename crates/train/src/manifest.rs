//! The files of a checkpoint, and the check that they are unchanged.

use std::path::Path;

use abridge_base::files::read_regular;
use abridge_base::manifest::Manifest;

use crate::{Error, Result};

pub const WEIGHTS: &str = "model.safetensors";
pub const OPTIMISER: &str = "optimizer.safetensors";
pub const STATE: &str = "state.json";
pub const CONFIG: &str = "config.toml";
const FILES: [&str; 4] = [WEIGHTS, OPTIMISER, STATE, CONFIG];
const FORMAT: u32 = 2;
/// States and configurations are small.
const LARGEST: u64 = 64 << 20;

/// The names of all files of a checkpoint.
pub fn names() -> Vec<String> {
    FILES.into_iter().chain([Manifest::FILE]).map(str::to_owned).collect()
}

/// Hashes the files of a folder, and writes and syncs their manifest.
pub fn write(folder: &Path) -> Result<()> {
    Ok(Manifest::of_directory(folder, FORMAT, [].into())?.write(folder)?)
}

/// Checks every file of a folder against its manifest.
pub fn verify(folder: &Path) -> Result<()> {
    let wrong = |what: String| Error::Checkpoint(format!("{}: {what}", folder.display()));
    let manifest = Manifest::read(folder).map_err(unusable)?;
    if manifest.format != FORMAT {
        let format = manifest.format;
        let what = format!("{} has format {format}; this program reads {FORMAT}", Manifest::FILE);
        return Err(wrong(what));
    }
    if let Some(name) = FILES.into_iter().find(|name| manifest.files.get(name).is_none()) {
        return Err(wrong(format!("{} does not list {name}", Manifest::FILE)));
    }
    manifest.files.verify(folder).map_err(unusable)
}

/// Reads a small file of a checkpoint.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_regular(path, LARGEST).map_err(unusable)
}

fn unusable(error: abridge_base::Error) -> Error {
    Error::Checkpoint(error.to_string())
}
