//! The model below a memory: a directory that holds only what the memory adds refers to it by hash.
//!
//! One model and several memories can thus be stored side by side, and each memory is a few
//! megabytes.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::{ModelDirectory, broken};
use crate::Result;

/// In the provenance: the hash of the weights below.
const HASH: &str = "on top of";
/// In the provenance: where they were, relative to the directory of the memory.
const PLACE: &str = "on top of the model at";

/// Whether a directory with this provenance holds only a memory.
pub(super) fn is_on_top(provenance: &BTreeMap<String, String>) -> bool {
    provenance.contains_key(HASH)
}

/// Names the model below in the provenance of a memory.
pub(super) fn name(
    provenance: &mut BTreeMap<String, String>,
    memory: &Path,
    below: &ModelDirectory,
) {
    provenance.insert(HASH.to_owned(), below.weights_hash().to_owned());
    provenance.insert(PLACE.to_owned(), from_to(memory, below.path()));
}

/// The provenance of a whole model that was made from a memory and the model below it.
pub(super) fn of_both(provenance: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut provenance = provenance.clone();
    provenance.remove(HASH);
    provenance.remove(PLACE);
    provenance
}

/// Opens the model below a memory, where it was or beside the memory; `None` for a whole model.
pub(super) fn find(
    memory: &Path,
    provenance: &BTreeMap<String, String>,
) -> Result<Option<ModelDirectory>> {
    let Some(hash) = provenance.get(HASH) else { return Ok(None) };
    let Some(place) = place(memory, provenance) else {
        let known = known_places(memory, provenance).next();
        let known = known.map_or("any known place".to_owned(), |place| place.display().to_string());
        return Err(broken(
            memory,
            format!(
                "is a memory on top of a model whose weights have the hash {hash}, which is not at \
                 {known}; put that model beside it"
            ),
        ));
    };
    let below = ModelDirectory::open(&place)?;
    if below.below().is_some() {
        return Err(broken(&place, "is itself a memory on top of another model"));
    }
    Ok(Some(below))
}

/// Where the model below a memory is, as far as manifests tell: opening it checks it in full.
pub(super) fn place(memory: &Path, provenance: &BTreeMap<String, String>) -> Option<PathBuf> {
    let hash = provenance.get(HASH)?;
    let is_below = |place: &PathBuf| ModelDirectory::hash_at(place).as_ref() == Some(hash);
    known_places(memory, provenance).find(is_below)
}

/// Where it was, and the directories beside the memory.
fn known_places(
    memory: &Path,
    provenance: &BTreeMap<String, String>,
) -> impl Iterator<Item = PathBuf> {
    let named = provenance.get(PLACE).map(|place| memory.join(place));
    named.into_iter().chain(beside(memory))
}

/// The other directories in the same folder.
fn beside(path: &Path) -> Vec<PathBuf> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let mut all: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|other| *other != path && other.is_dir())
        .collect();
    all.sort();
    all
}

/// The relative path from one directory to another.
fn from_to(from: &Path, to: &Path) -> String {
    // The directory may not exist yet, but its folder does.
    let absolute = |path: &Path| {
        let in_folder = || {
            let path = std::path::absolute(path).ok()?;
            Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
        };
        path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.into())
    };
    let (from, to) = (absolute(from), absolute(to));
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.components().skip(shared)).collect();
    way.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_between_directories() {
        assert_eq!(from_to(Path::new("/a/run/model"), Path::new("/a/base")), "../../base");
        assert_eq!(from_to(Path::new("/a/memory"), Path::new("/a/base")), "../base");
    }
}
