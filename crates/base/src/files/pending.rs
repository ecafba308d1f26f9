//! A pending file: written beside its target, synced, renamed.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::temporary::{Temporary, clear};
use crate::{Error, Result};

/// A file that appears when it is complete, and leaves nothing behind otherwise.
#[derive(Debug)]
pub struct Pending {
    temporary: Temporary,
}

impl Pending {
    /// Begins a file that will become `target`.
    pub fn new(target: &Path) -> Result<Self> {
        let replaced = fs::symlink_metadata(target).is_ok();
        Ok(Self { temporary: Temporary::file(target, replaced)? })
    }

    /// The file to write to.
    pub fn handle(&mut self) -> &mut File {
        self.temporary.handle()
    }

    /// Syncs the file and puts it in place, with the mode and owner of the file it replaces.
    pub fn commit(mut self, target: &Path) -> Result<()> {
        let failed = |error| Error::io("write", target, error);
        if let Ok(replaced) = fs::symlink_metadata(target) {
            adopt(self.temporary.handle(), &replaced).map_err(failed)?;
        }
        self.temporary.handle().sync_all().map_err(failed)?;
        self.temporary.rename(target).map_err(failed)?;
        sync_directory(parent(target))
    }
}

/// Replaces a file of our own atomically: afterwards it is complete and durable, or unchanged.
///
/// Outputs that the user names go through [`super::Outputs`] instead.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    clear(path);
    let mut pending = Pending::new(path)?;
    let written = pending.handle().write_all(content);
    written.map_err(|error| Error::io("write", path, error))?;
    pending.commit(path)
}

/// Writes a new file in a folder of our own, and syncs it to disk.
pub fn write_new(path: &Path, content: &[u8]) -> Result<()> {
    File::create_new(path)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .map_err(|error| Error::io("write", path, error))
}

/// Syncs the entries of a folder to disk.
pub fn sync_directory(folder: &Path) -> Result<()> {
    // Other systems cannot open folders for this; there the rename alone has to do.
    if cfg!(unix) {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| Error::io("sync", folder, error))?;
    }
    Ok(())
}

/// The folder that contains a path.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a file the mode and, where allowed, the owner of another.
fn adopt(file: &File, other: &fs::Metadata) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
            // Only root may change the owner; the group may be changed to one of the user's own.
            let _ = fchown(file, Some(other.uid()), Some(other.gid()))
                .or_else(|_| fchown(file, None, Some(other.gid())));
        }
    }
    file.set_permissions(other.permissions())
}
