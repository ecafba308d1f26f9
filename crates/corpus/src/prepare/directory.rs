//! A directory that appears complete or not at all, and how it is opened later.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{FileHash, MANIFEST, Manifest};
use super::splits::kind;
use crate::store::{Side, TokenStore};
use crate::{Error, Result, Tokenizer};

/// A directory that `prepare` has written.
#[derive(Debug)]
pub struct PreparedDirectory {
    path: PathBuf,
    manifest: Manifest,
}

impl PreparedDirectory {
    /// Opens a directory by its manifest; splits and tokenizers are read when asked for.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_path_buf(), manifest: Manifest::load(path)? })
    }

    /// What it was made from and what it holds.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The tokenizer of one language.
    pub fn tokenizer(&self, side: Side) -> Result<Tokenizer> {
        Tokenizer::load(&self.path, side_name(side))
    }

    /// The names of the corpora that have a split; the only corpus has an empty name.
    pub fn corpora(&self, split: &str) -> Vec<&str> {
        let named = self.manifest.splits.iter().filter(|s| kind(&s.name) == split);
        named.map(|s| s.name.rsplit_once('/').map_or("", |(corpus, _)| corpus)).collect()
    }

    /// The tokens of a split, as `europarl/train`, or of that split of all corpora, one after the
    /// other, as `train`; an error names the splits that there are.
    pub fn split(&self, name: &str) -> Result<TokenStore> {
        let names = || self.manifest.splits.iter().map(|split| split.name.as_str());
        let wanted: Vec<&str> = names().filter(|n| *n == name || kind(n) == name).collect();
        if wanted.is_empty() {
            return Err(Error::new(format!("has no split `{name}`"))
                .in_file(&self.path)
                .remedy(format!("it has {}", names().collect::<Vec<_>>().join(", "))));
        }
        let open = |name: &str| TokenStore::open(&self.path.join(store_name(name)));
        TokenStore::join(wanted.into_iter().map(open).collect::<Result<_>>()?)
    }
}

impl PreparedDirectory {
    /// The hash of a split's tokens, which must be as they were prepared.
    pub fn verified_hash(&self, split: &str) -> Result<String> {
        let file = store_name(split);
        let found = FileHash::of(&self.path.join(&file), &file)?;
        match self.manifest.outputs.iter().find(|output| output.file == file) {
            Some(expected) if *expected != found => {
                Err(Error::new("is not the file that was prepared")
                    .in_file(&self.path.join(&file))
                    .remedy("run `abridge prepare` again"))
            }
            _ => Ok(found.sha256),
        }
    }
}

/// The name under which a side's tokenizer is saved.
pub fn side_name(side: Side) -> &'static str {
    match side {
        Side::Source => "source",
        Side::Target => "target",
    }
}

/// The file name of a split's token store.
pub fn store_name(split: &str) -> String {
    format!("{split}.tokens")
}

/// A directory in the making, beside the one that it will become.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    work: PathBuf,
    previous: PathBuf,
    done: bool,
}

impl Staging {
    /// Sets a name aside, clears what an interrupted run left, and refuses to replace anything
    /// that is not a prepared directory.
    pub fn begin(target: &Path) -> Result<Self> {
        let wrong =
            |problem: &str, remedy: &str| Err(Error::new(problem).in_file(target).remedy(remedy));
        let Some(name) = target.file_name() else {
            return wrong("is not the name of a directory", "name a directory to write");
        };
        if let Some(file) = target.ancestors().skip(1).find(|path| path.is_file()) {
            return wrong(
                &format!("{} is a file, and no directory", file.display()),
                "name another directory to write",
            );
        }
        let beside =
            |ending: &str| target.with_file_name(format!(".{}.{ending}", name.to_string_lossy()));
        let staging = Self {
            target: target.to_path_buf(),
            work: beside("preparing"),
            previous: beside("previous"),
            done: false,
        };
        staging.recover()?;
        if target.exists() {
            let entries = fs::read_dir(target).map_err(|e| Error::io("read", target, e))?;
            if entries.count() > 0 && !target.join(MANIFEST).is_file() {
                return wrong(
                    "holds something that `abridge prepare` did not write",
                    "name another directory, or empty this one",
                );
            }
        }
        fs::create_dir_all(&staging.work)
            .map_err(|error| Error::io("create", &staging.work, error))?;
        Ok(staging)
    }

    /// Undoes what an interrupted run left behind.
    fn recover(&self) -> Result<()> {
        remove(&self.work)?;
        if self.previous.exists() {
            if self.target.exists() {
                remove(&self.previous)?;
            } else {
                rename(&self.previous, &self.target)?;
            }
        }
        Ok(())
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        &self.work
    }

    /// Makes the directory appear under its name, in place of the one before it.
    pub fn finish(mut self) -> Result<()> {
        sync_all(&self.work)?;
        if self.target.exists() {
            rename(&self.target, &self.previous)?;
        }
        rename(&self.work, &self.target)?;
        self.done = true;
        if let Some(parent) = self.target.parent().filter(|parent| parent.is_dir()) {
            sync(parent)?;
        }
        remove(&self.previous)
    }
}

impl Drop for Staging {
    /// After an error nothing half-written stays.
    fn drop(&mut self) {
        if !self.done {
            // A failure here is cleared by the next run.
            fs::remove_dir_all(&self.work).ok();
        }
    }
}

fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", directory, error))
        }
        _ => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|error| Error::io("rename", from, error))
}

/// Waits until everything below a directory is on the disk.
fn sync_all(directory: &Path) -> Result<()> {
    let failed = |error| Error::io("sync", directory, error);
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            sync_all(&path)?;
        } else {
            // Flushing needs write access on some systems.
            let file = fs::File::options().write(true).open(&path);
            file.and_then(|file| file.sync_all()).map_err(|e| Error::io("sync", &path, e))?;
        }
    }
    sync(directory)
}

/// Waits until the names in a directory are on the disk.
fn sync(directory: &Path) -> Result<()> {
    // Directories cannot be opened for this on every system; there the rename has to do.
    if cfg!(unix) {
        let synced = fs::File::open(directory).and_then(|file| file.sync_all());
        synced.map_err(|error| Error::io("sync", directory, error))?;
    }
    Ok(())
}
