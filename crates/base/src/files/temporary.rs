//! Unguessable temporary names, and the removal of those that killed processes left behind.
//!
//! A temporary name is `.NAME.` with 128 random bits and `.part`. The process that made it holds a
//! lock on it while it works, so the next process that writes the same target can tell leftovers
//! from files in use. A directory that is about to be replaced is kept under a name with `.old`.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The ending of names of what is being written.
pub const PART: &str = ".part";
/// The ending of names of what is being replaced.
pub const OLD: &str = ".old";
const DIGITS: usize = 32;
/// How many bytes of the target's name go into a temporary one; names are limited to 255 bytes.
const SHOWN: usize = 64;

/// A file or folder under a temporary name, removed when it is dropped.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    /// Open and locked, so that it is not mistaken for a leftover.
    handle: File,
    keep: bool,
}

impl Temporary {
    /// Makes a new file beside `target`, accessible only to its owner if `private`.
    pub fn file(target: &Path, private: bool) -> Result<Self> {
        Self::make(target, &|path| {
            let mut options = File::options();
            options.write(true).create_new(true);
            #[cfg(unix)]
            {
                use std::os::unix::fs::OpenOptionsExt;
                options.mode(if private { 0o600 } else { 0o666 });
            }
            let _ = private;
            options.open(path).map(Some)
        })
    }

    /// Makes a new folder beside `target`, accessible only to its owner if `private`.
    pub fn folder(target: &Path, private: bool) -> Result<Self> {
        Self::make(target, &|path| {
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            {
                use std::os::unix::fs::DirBuilderExt;
                builder.mode(if private { 0o700 } else { 0o777 });
            }
            let _ = private;
            builder.create(path)?;
            match File::open(path) {
                // Another process removed it as a leftover.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                opened => opened.map(Some),
            }
        })
    }

    fn make(
        target: &Path,
        create: &dyn Fn(&Path) -> std::io::Result<Option<File>>,
    ) -> Result<Self> {
        let failed = |error| Error::io("write", target, error);
        loop {
            let path = name_beside(target, PART).map_err(failed)?;
            match create(&path) {
                Ok(None) => {}
                Ok(Some(handle)) => {
                    // Another process may remove it as a leftover before it is locked here. Where
                    // locks are not supported, nothing is removed either.
                    let is_taken = matches!(handle.try_lock(), Err(TryLockError::WouldBlock));
                    if !is_taken && path.symlink_metadata().is_ok() {
                        return Ok(Self { path, handle, keep: false });
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, to write to.
    pub fn handle(&mut self) -> &mut File {
        &mut self.handle
    }

    /// Renames it to its target; may be retried after an error.
    pub fn rename(&mut self, target: &Path) -> std::io::Result<()> {
        fs::rename(&self.path, target)?;
        self.keep = true;
        Ok(())
    }
}

impl Drop for Temporary {
    /// Removes incomplete output after an error; what cannot be removed is left to the next run.
    fn drop(&mut self) {
        if !self.keep {
            remove(&self.path);
        }
    }
}

/// A fresh name in the folder of `target`.
pub fn name_beside(target: &Path, ending: &str) -> std::io::Result<PathBuf> {
    let mut random = [0; DIGITS / 2];
    getrandom::fill(&mut random).map_err(|error| std::io::Error::other(error.to_string()))?;
    let mut name = prefix(target);
    name.push(format!("{:032x}{ending}", u128::from_le_bytes(random)));
    Ok(target.with_file_name(name))
}

/// Removes what dead processes have left beside `target`.
pub fn clear(target: &Path) {
    Leftovers::default().clear(target);
}

/// What dead processes have left in folders. Each folder is listed once, so that clearing many targets
/// does not take time that is quadratic in their number.
#[derive(Debug, Default)]
pub struct Leftovers {
    folders: HashMap<PathBuf, Vec<Found>>,
}

impl Leftovers {
    /// Removes what dead processes had left beside `target` when its folder was listed.
    pub fn clear(&mut self, target: &Path) {
        let folder = super::pending::parent(target);
        let found = self.folders.entry(folder.to_path_buf()).or_insert_with(|| found_in(folder));
        if found.is_empty() {
            return;
        }
        let prefix = prefix(target);
        for found in found.iter().filter(|found| found.ending == PART && found.prefix == prefix) {
            // The lock is held until the file is removed.
            if let Ok(file) = File::open(&found.path)
                && file.try_lock().is_ok()
            {
                remove(&found.path);
            }
        }
    }
}

/// Files and folders with temporary names of `target`.
pub fn named(target: &Path, ending: &str) -> Vec<PathBuf> {
    let prefix = prefix(target);
    let is_of_target = |found: &Found| found.ending == ending && found.prefix == prefix;
    let found = found_in(super::pending::parent(target)).into_iter();
    found.filter(is_of_target).map(|found| found.path).collect()
}

/// The targets in a folder that have temporary files or folders. Those of long names are cut.
pub fn interrupted(folder: &Path) -> BTreeSet<PathBuf> {
    let target = |found: Found| {
        let name = found.prefix.to_str()?.strip_prefix('.')?.strip_suffix('.')?;
        Some(folder.join(name))
    };
    found_in(folder).into_iter().filter_map(target).collect()
}

/// A file or folder with a temporary name.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    prefix: OsString,
    ending: &'static str,
}

fn found_in(folder: &Path) -> Vec<Found> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let found = entries.filter_map(std::result::Result::ok).filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let ending = [PART, OLD].into_iter().find(|ending| name.ends_with(ending))?;
        let stem = name.strip_suffix(ending)?;
        let (prefix, digits) = stem.split_at_checked(stem.len().checked_sub(DIGITS)?)?;
        let is_number = digits.bytes().all(|b| b"0123456789abcdef".contains(&b));
        // A link is never ours.
        let is_ours = is_number && entry.file_type().is_ok_and(|k| k.is_file() || k.is_dir());
        is_ours.then(|| Found { path: entry.path(), prefix: prefix.into(), ending })
    });
    found.collect()
}

fn prefix(target: &Path) -> OsString {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let shown: String = name
        .chars()
        .scan(0, |length, c| {
            *length += c.len_utf8();
            (*length <= SHOWN).then_some(c)
        })
        .collect();
    format!(".{shown}.").into()
}

fn remove(path: &Path) {
    let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}
