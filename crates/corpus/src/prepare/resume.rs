//! The saved work of an interrupted preparation, so that it need not be repeated.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use abridge_base::files::replace;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::manifest::{FileHash, Origin};
use super::reading::Text;
use super::statistics::SplitStatistics;
use super::warnings::Warning;
use crate::{Error, Result};

/// The names of everything in the folder.
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

#[derive(Serialize, Deserialize)]
struct State {
    origin: Origin,
    text: Text,
}

/// Text, notes and finished files of a preparation, in a folder beside its output directory. The
/// folder is removed when the preparation ends, with success or an error; only a killed process
/// leaves it to the next one.
#[derive(Debug)]
pub struct Notes {
    folder: PathBuf,
    /// Held during the preparation, so that no second process works here.
    _lock: File,
}

impl Notes {
    /// Starts over, or resumes what was left for the same recipe and inputs if `origin` is given.
    pub fn open(output: &Path, origin: Option<&Origin>) -> Result<Self> {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let folder = output.with_file_name(format!(".{name}.preparing"));
        let private = output.with_file_name(format!(".{name}.preparing-{}", unique()));
        // A folder that is not ours or in use is not touched.
        let is_ours = !folder.exists() || folder.join(LOCK).is_file();
        let free = is_ours.then(|| lock(&folder)).transpose()?.flatten();
        let notes = if let Some(lock) = free {
            Self { folder, _lock: lock }
        } else {
            let taken = || Error::new("another process is preparing it").in_file(output);
            let lock = lock(&private)?.ok_or_else(taken)?;
            Self { folder: private, _lock: lock }
        };
        if origin.is_none_or(|origin| notes.text(origin).is_none()) {
            for part in [STATE, TOKENIZERS] {
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

    /// Where text is spooled.
    pub fn text_folder(&self) -> PathBuf {
        self.folder.join(TEXT)
    }

    /// Where files of the directory are written.
    pub fn files(&self) -> PathBuf {
        self.folder.join(FILES)
    }

    /// Moves all files into a directory.
    pub fn move_files(&self, directory: &Path) -> Result<()> {
        let files = self.files();
        let failed = |error| Error::io("move", &files, error);
        for entry in std::fs::read_dir(&files).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            std::fs::rename(entry.path(), directory.join(entry.file_name())).map_err(failed)?;
        }
        Ok(())
    }

    /// The text that was read for the same recipe and inputs.
    pub fn text(&self, origin: &Origin) -> Option<Text> {
        let state: State = read(&self.folder.join(STATE))?;
        (state.origin == *origin).then_some(state.text)
    }

    /// Records that all text is read.
    pub fn save_text(&self, origin: &Origin, text: Text) -> Result<Text> {
        let state = State { origin: origin.clone(), text };
        write(&self.folder.join(STATE), &state)?;
        Ok(state.text)
    }

    /// Whether the tokenizers are finished.
    pub fn has_tokenizers(&self) -> bool {
        self.folder.join(TOKENIZERS).is_file()
    }

    /// Records that the tokenizers are finished.
    pub fn save_tokenizers(&self) -> Result<()> {
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
        // Renamed first, so that no process begins to work in a folder that is about to be removed.
        // A failure only costs space.
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let gone = self.folder.with_file_name(format!("{name}-{}", unique()));
        if std::fs::rename(&self.folder, &gone).is_ok() {
            std::fs::remove_dir_all(&gone).ok();
        }
    }
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
