//! The saved work of an interrupted preparation, so that it need not be repeated.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use abridge_base::files::replace;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::description::{FileHash, Origin};
use super::directory::side_name;
use super::reading::{ReadSoFar, Text};
use super::spool::SHARD;
use super::statistics::SplitStatistics;
use super::warnings::Warning;
use crate::store::Side;
use crate::{Error, Result, Tokenizer};

/// The names of everything in the folder.
const READING: &str = "reading.json";
const STATE: &str = "state.json";
const TOKENIZERS: &str = "tokenizers";
const TEXT: &str = "text";
const FILES: &str = "files";
const LOCK: &str = "lock";

/// A shard that was encoded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EncodedShard {
    /// Its token file, relative to the directory.
    pub file: FileHash,
    /// Its statistics.
    pub statistics: SplitStatistics,
    /// Suspicious properties of the data.
    pub warnings: Vec<Warning>,
}

/// What was saved, and for which recipe and inputs.
#[derive(Serialize, Deserialize)]
struct Saved<O, T> {
    origin: O,
    saved: T,
}

/// Text, notes and finished files of a preparation, in a folder beside its output directory. The
/// folder is removed when the preparation ends; only a killed process or a full disk leaves it to the
/// next one.
#[derive(Debug)]
pub struct Notes {
    folder: PathBuf,
    /// The recipe and inputs; `None` if they do not determine the text, so nothing can be resumed.
    origin: Option<Origin>,
    /// Sentences per shard of text.
    pub shard: usize,
    is_kept: bool,
    /// Held during the preparation, so that no second process works here.
    _lock: File,
}

impl Notes {
    /// Resumes what was left for the same recipe and inputs, or starts over: if nothing was, if
    /// `force` demands it, or if there is no `origin`.
    pub fn open(output: &Path, origin: Option<&Origin>, force: bool) -> Result<Self> {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let folder = output.with_file_name(format!(".{name}.preparing"));
        let private = output.with_file_name(format!(".{name}.preparing-{}", unique()));
        clear_leftovers(&folder);
        // A folder that is not ours or in use is not touched.
        let is_ours = !folder.exists() || folder.join(LOCK).is_file();
        let free = is_ours.then(|| lock(&folder)).transpose()?.flatten();
        let (folder, lock) = if let Some(lock) = free {
            (folder, lock)
        } else {
            let taken = || Error::new("another process is preparing it").in_file(output);
            let lock = lock(&private)?.ok_or_else(taken)?;
            (private, lock)
        };
        let origin = origin.cloned();
        let notes = Self { folder, origin, shard: SHARD, is_kept: false, _lock: lock };
        if force || (notes.text().is_none() && notes.read_so_far().is_none()) {
            for part in [READING, STATE, TOKENIZERS] {
                remove(&notes.folder.join(part), |path| std::fs::remove_file(path))?;
            }
            for part in [TEXT, FILES] {
                remove(&notes.folder.join(part), |path| std::fs::remove_dir_all(path))?;
            }
        }
        for folder in [notes.text_folder(), notes.files()] {
            std::fs::create_dir_all(&folder)
                .map_err(|error| Error::io("create", &folder, error))?;
        }
        Ok(notes)
    }

    /// Keeps the notes after a failure that has nothing to do with what was read, and says so.
    pub fn keep_after(mut self, error: Error) -> Error {
        if self.origin.is_none() || !is_full_disk(&error) {
            return error;
        }
        self.is_kept = true;
        error.remedy(format!(
            "free some space and run the same command again, which continues; what is done is kept \
             in {}",
            self.folder.display()
        ))
    }

    /// Where text is spooled.
    pub fn text_folder(&self) -> PathBuf {
        self.folder.join(TEXT)
    }

    /// Where files of the directory are written.
    pub fn files(&self) -> PathBuf {
        self.folder.join(FILES)
    }

    /// Places finished files into a directory. They stay here, too, where the file system has links,
    /// so that a preparation that is killed now need not make them again.
    pub fn place(&self, names: impl Iterator<Item = String>, directory: &Path) -> Result<()> {
        for name in names {
            let (from, to) = (self.files().join(&name), directory.join(&name));
            let folder = to.parent().unwrap_or(directory);
            std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
            std::fs::hard_link(&from, &to)
                .or_else(|_| std::fs::rename(&from, &to))
                .map_err(|error| Error::io("write", &to, error))?;
        }
        Ok(())
    }

    /// The text that was read for the same recipe and inputs.
    pub fn text(&self) -> Option<Text> {
        self.saved(STATE)
    }

    /// Records that all text is read.
    pub fn save_text(&self, text: &Text) -> Result<()> {
        self.save(STATE, text)
    }

    /// How far the text was read for the same recipe and inputs.
    pub fn read_so_far(&self) -> Option<ReadSoFar> {
        self.saved(READING)
    }

    /// Records how far the text is read.
    pub fn save_read_so_far(&self, read: &ReadSoFar) -> Result<()> {
        self.save(READING, read)
    }

    fn saved<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let wanted = self.origin.as_ref()?;
        let Saved { origin, saved }: Saved<Origin, T> = read(&self.folder.join(name))?;
        (origin == *wanted).then_some(saved)
    }

    fn save(&self, name: &str, saved: &impl Serialize) -> Result<()> {
        let Some(origin) = &self.origin else { return Ok(()) };
        write(&self.folder.join(name), &Saved { origin, saved })
    }

    /// The tokenizers of both sides, if they are finished.
    pub fn tokenizers(&self) -> Option<[Tokenizer; 2]> {
        let load = |side| Tokenizer::load(&self.files(), side_name(side)).ok();
        let is_finished = self.folder.join(TOKENIZERS).is_file();
        is_finished.then(|| Some([load(Side::Source)?, load(Side::Target)?]))?
    }

    /// Saves the tokenizers of both sides.
    pub fn save_tokenizers(&self, source: &Tokenizer, target: &Tokenizer) -> Result<()> {
        source.save(&self.files(), side_name(Side::Source))?;
        target.save(&self.files(), side_name(Side::Target))?;
        write(&self.folder.join(TOKENIZERS), &())
    }

    /// A shard of a split that was encoded and is unchanged.
    pub fn shard(&self, split: &str, shard: usize) -> Option<EncodedShard> {
        let encoded: EncodedShard = read(&self.shard_path(split, shard))?;
        let found = FileHash::of(&self.files().join(&encoded.file.file), &encoded.file.file);
        found.is_ok_and(|found| found == encoded.file).then_some(encoded)
    }

    /// Records an encoded shard.
    pub fn save_shard(&self, split: &str, shard: usize, encoded: &EncodedShard) -> Result<()> {
        write(&self.shard_path(split, shard), encoded)
    }

    fn shard_path(&self, split: &str, shard: usize) -> PathBuf {
        self.text_folder().join(split).join(format!("{shard:05}.json"))
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // Renamed first, so that no process begins to work in a folder that is about to be removed.
        // A failure only costs space.
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let gone = self.folder.with_file_name(format!("{name}-{}", unique()));
        if std::fs::rename(&self.folder, &gone).is_ok() {
            std::fs::remove_dir_all(&gone).ok();
        }
    }
}

/// Whether an error says that the disk, or what the user may write there, is full.
fn is_full_disk(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
    cause.is_some_and(|cause: &std::io::Error| {
        matches!(cause.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
    })
}

/// Removes what killed processes left beside the shared folder: private folders, and folders that
/// were being removed. A failure only costs space.
fn clear_leftovers(shared: &Path) {
    let name = shared.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!("{name}-");
    let parent = shared.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(parent.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(&prefix));
        let is_unique = |rest: &str| {
            let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            rest.split_once('-').is_some_and(|(process, count)| number(process) && number(count))
        };
        if rest.is_some_and(is_unique) && is_abandoned(&entry.path()) {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Whether a folder has our lock file, and nobody holds it.
fn is_abandoned(folder: &Path) -> bool {
    let lock = File::options().write(true).open(folder.join(LOCK));
    lock.is_ok_and(|lock| lock.try_lock().is_ok())
}

/// A name that no other preparation uses now.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The lock of a folder, which is created if necessary; `None` if another preparation holds it.
fn lock(folder: &Path) -> Result<Option<File>> {
    let path = folder.join(LOCK);
    let failed = |error| Error::io("write", &path, error);
    loop {
        std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        let opened = File::options().create(true).write(true).truncate(false).open(&path);
        let mut file = match opened {
            // The previous preparation has just ended.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            opened => opened.map_err(failed)?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
            Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        // The lock may belong to a removed folder; its content tells.
        let mark = unique();
        file.set_len(0).and_then(|()| file.write_all(mark.as_bytes())).map_err(failed)?;
        if std::fs::read_to_string(&path).is_ok_and(|found| found == mark) {
            return Ok(Some(file));
        }
    }
}

fn remove(path: &Path, how: impl Fn(&Path) -> std::io::Result<()>) -> Result<()> {
    match how(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Unreadable files count as missing.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let text = serde_json::to_vec(value)
        .map_err(|error| Error::new(format!("cannot save the state: {error}")))?;
    replace(path, &text)
}
