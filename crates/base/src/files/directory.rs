//! A directory that appears complete or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::output::refused;
use super::pending::{parent, sync_directory};
use super::temporary::{OLD, Temporary, clear, interrupted, name_beside, named};
use crate::manifest::{names_and_empty_folders_in, names_in};
use crate::{Error, Result};

/// How long to wait for the lock, in hundredths of a second; a replacement takes a few.
const LONGEST_WAIT: usize = 3_000;

/// Lists the files of a directory that we wrote; `None` if the directory is not ours.
type Own = dyn Fn(&Path) -> Option<Vec<String>>;

/// A directory that is being written beside its target.
pub struct OutputDirectory {
    target: PathBuf,
    work: Temporary,
    own: Box<Own>,
}

impl std::fmt::Debug for OutputDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputDirectory").field("target", &self.target).finish_non_exhaustive()
    }
}

impl OutputDirectory {
    /// Begins a directory; the folders above it are created if necessary.
    ///
    /// An existing directory is replaced if it is empty, or if `own` lists its files (those in its
    /// manifest, and the manifest itself) and there are no others. Otherwise this fails.
    pub fn begin(
        target: &Path,
        own: impl Fn(&Path) -> Option<Vec<String>> + 'static,
    ) -> Result<Self> {
        if target.file_name().is_none() {
            return Err(refused(target, "is not the name of a directory", "name a new one"));
        }
        let above = target.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        if let Some(file) = above.clone().find(|path| path.exists() && !path.is_dir()) {
            let problem = format!("{} is not a directory", file.display());
            return Err(refused(target, &problem, "name another directory to write"));
        }
        let folder = parent(target);
        if folder.is_dir() {
            let _alone = alone(folder);
            recover(target, &own);
            check(target, &own)?;
        }
        fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        clear(target);
        let private = fs::symlink_metadata(target).is_ok();
        Ok(Self {
            target: target.to_path_buf(),
            work: Temporary::folder(target, private)?,
            own: Box::new(own),
        })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        self.work.path()
    }

    /// Syncs the directory and puts it in place of the previous one.
    pub fn finish(self) -> Result<()> {
        let Self { target, mut work, own } = self;
        let failed = |error| Error::io("write", &target, error);
        sync_all(work.path())?;
        let _alone = alone(parent(&target));
        // Hours may have passed since the first check.
        check(&target, &own)?;
        let previous = name_beside(&target, OLD).map_err(failed)?;
        let names = match fs::symlink_metadata(&target) {
            Ok(metadata) => {
                keep_modes(&target, work.path(), &metadata);
                let names = own(&target).unwrap_or_default();
                fs::rename(&target, &previous).map_err(failed)?;
                Some(names)
            }
            Err(_) => None,
        };
        if let Err(error) = work.rename(&target) {
            // There may be no previous one to put back.
            let _ = fs::rename(&previous, &target);
            return Err(failed(error));
        }
        sync_directory(parent(&target))?;
        if names.is_some_and(|names| !remove_files(&previous, names)) {
            let problem = "files were added to the directory while it was being replaced";
            let remedy = format!("they are kept in {}", previous.display());
            return Err(Error::new(problem).in_file(&target).remedy(remedy));
        }
        Ok(())
    }
}

/// Restores or removes what processes that were killed have left in a folder of the outputs whose
/// names `is_ours` accepts; `own` lists the files of a directory among them.
pub fn clear_leftovers(
    folder: &Path,
    is_ours: impl Fn(&str) -> bool,
    own: impl Fn(&Path) -> Option<Vec<String>> + 'static,
) {
    let _alone = alone(folder);
    for target in interrupted(folder) {
        let name = target.file_name().and_then(|name| name.to_str());
        if name.is_some_and(&is_ours) {
            recover(&target, &own);
            clear(&target);
        }
    }
}

/// Keeps other processes from replacing anything in the same folder until dropped: a directory that
/// one has set aside must not be mistaken for the leftover of a killed process. If the folder
/// cannot be locked in time, the work continues without the lock.
fn alone(folder: &Path) -> Option<fs::File> {
    let lock = fs::File::open(folder).ok()?;
    for _ in 0..LONGEST_WAIT {
        match lock.try_lock() {
            Ok(()) => return Some(lock),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            Err(fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// Restores or removes what a process that was killed during a replacement had set aside.
fn recover(target: &Path, own: &Own) {
    for previous in named(target, OLD) {
        if target.exists() {
            remove_files(&previous, own(&previous).unwrap_or_default());
        } else {
            let _ = fs::rename(&previous, target);
        }
    }
}

/// Fails if the target contains anything that is not ours.
fn check(target: &Path, own: &Own) -> Result<()> {
    let Ok(metadata) = fs::symlink_metadata(target) else { return Ok(()) };
    if metadata.is_symlink() {
        let to = fs::read_link(target).unwrap_or_default();
        let problem = format!("is a symbolic link to {}", to.display());
        return Err(refused(target, &problem, "name the directory itself"));
    }
    if !metadata.is_dir() {
        return Err(refused(target, "is not a directory", "name another path"));
    }
    let (found, empty_folders) = names_and_empty_folders_in(target)?;
    if found.is_empty() && empty_folders.is_empty() {
        return Ok(());
    }
    let Some(own) = own(target) else {
        let remedy = "name another directory, or empty this one";
        return Err(refused(target, "holds something that this command did not write", remedy));
    };
    let foreign = found.iter().filter(|name| !own.contains(name));
    match foreign.chain(&empty_folders).next() {
        None => Ok(()),
        Some(foreign) => {
            let problem = format!("holds {foreign}, which this command did not write");
            Err(refused(target, &problem, "move it away, or name another directory"))
        }
    }
}

/// Removes files of a directory by name, then its subfolders and the directory if they are empty;
/// returns whether nothing is left.
pub fn remove_files(directory: &Path, names: impl IntoIterator<Item = String>) -> bool {
    let mut folders = vec![directory.to_path_buf()];
    for name in names {
        let path = directory.join(name);
        // It may be missing.
        let _ = fs::remove_file(&path);
        let above = path.ancestors().skip(1).take_while(|folder| *folder != directory);
        folders.extend(above.map(Path::to_path_buf));
    }
    // Deepest first.
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    folders.dedup();
    for folder in folders {
        let _ = fs::remove_dir(folder);
    }
    directory.symlink_metadata().is_err()
}

/// Gives the replacement the permissions of what it replaces.
fn keep_modes(old: &Path, new: &Path, metadata: &fs::Metadata) {
    for name in names_in(new).unwrap_or_default() {
        if let Ok(metadata) = fs::symlink_metadata(old.join(&name))
            && metadata.is_file()
        {
            // Not worth failing for.
            let _ = fs::set_permissions(new.join(&name), metadata.permissions());
        }
    }
    let _ = fs::set_permissions(new, metadata.permissions());
}

/// Waits until everything in a directory is on disk.
fn sync_all(directory: &Path) -> Result<()> {
    let failed = |error| Error::io("sync", directory, error);
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            sync_all(&path)?;
        } else {
            // Flushing needs write access on some systems.
            let file = fs::File::options().write(true).open(&path);
            let synced = file.and_then(|file| file.sync_all());
            synced.map_err(|error| Error::io("sync", &path, error))?;
        }
    }
    sync_directory(directory)
}
