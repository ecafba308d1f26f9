//! The content of a directory of ours: the name, size and hash of every file.
//!
//! Manifests are untrusted input, so names must be plain: no `..`, no absolute paths, and no
//! characters that cannot be part of a name. An empty list would verify nothing and is rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::{read_regular, write_new};
use crate::{Error, Result, hash};

/// A larger manifest was not written by this program.
const LARGEST: u64 = 64 << 20;

/// A file with the size and hash of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// The name in the directory, or the path of an input as it was given.
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

impl FileHash {
    /// Hashes a file; `name` is what a manifest calls it.
    pub fn of(path: &Path, name: &str) -> Result<Self> {
        Self::of_with(path, name, &mut |_| {})
    }

    /// The same for a file that may be large; `reached` gets the number of bytes so far.
    pub fn of_with(path: &Path, name: &str, reached: &mut dyn FnMut(u64)) -> Result<Self> {
        let (bytes, sha256) = hash::of_file_with(path, reached)?;
        Ok(Self { file: name.to_owned(), bytes, sha256 })
    }
}

/// The files of a directory: at least one, no duplicates, plain names only. The default, an empty
/// list, is for a directory that is not written yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Listed", into = "Vec<FileHash>")]
pub struct FileList(Vec<FileHash>);

/// How lists are stored: as a list, or as a map by name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    List(Vec<FileHash>),
    Map(BTreeMap<String, Content>),
}

#[derive(Deserialize)]
struct Content {
    bytes: u64,
    sha256: String,
}

impl TryFrom<Listed> for FileList {
    type Error = String;

    fn try_from(listed: Listed) -> Result<Self, String> {
        let files = match listed {
            Listed::List(files) => files,
            Listed::Map(files) => files
                .into_iter()
                .map(|(file, content)| FileHash {
                    file,
                    bytes: content.bytes,
                    sha256: content.sha256,
                })
                .collect(),
        };
        Self::new(files)
    }
}

impl From<FileList> for Vec<FileHash> {
    fn from(list: FileList) -> Self {
        list.0
    }
}

impl FileList {
    fn new(files: Vec<FileHash>) -> Result<Self, String> {
        if files.is_empty() {
            return Err("it lists no files".into());
        }
        if let Some(file) = files.iter().find(|file| !is_plain_path(&file.file)) {
            return Err(format!("{:?} is not a plain file name", file.file));
        }
        let mut names = BTreeSet::new();
        match files.iter().find(|file| !names.insert(file.file.as_str())) {
            Some(twice) => Err(format!("{:?} is listed twice", twice.file)),
            None => Ok(Self(files)),
        }
    }

    /// Hashes every file in a directory and its subfolders, except for `except`.
    pub fn of_directory(directory: &Path, except: &str) -> Result<Self> {
        Self::of_directory_knowing(directory, except, &[])
    }

    /// The same without reading the files in `known`, which were hashed when they were written.
    pub fn of_directory_knowing(
        directory: &Path,
        except: &str,
        known: &[FileHash],
    ) -> Result<Self> {
        let names = names_in(directory)?;
        let names = names.iter().filter(|name| *name != except);
        let files = names.map(|name| match known.iter().find(|known| known.file == *name) {
            Some(known) => Ok(known.clone()),
            None => FileHash::of(&directory.join(name), name),
        });
        Self::new(files.collect::<Result<_>>()?)
            .map_err(|problem| Error::new(problem).in_file(directory))
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &FileHash> {
        self.0.iter()
    }

    /// The file with this name.
    pub fn get(&self, name: &str) -> Option<&FileHash> {
        self.0.iter().find(|file| file.file == name)
    }

    /// Whether no file is in a subfolder.
    pub fn is_flat(&self) -> bool {
        self.0.iter().all(|file| !file.file.contains('/'))
    }

    /// Checks every file of a directory against the list.
    pub fn verify(&self, directory: &Path) -> Result<()> {
        for expected in &self.0 {
            let path = directory.join(&expected.file);
            let found = FileHash::of(&path, &expected.file)?;
            if found.bytes != expected.bytes {
                return Err(Error::new(format!(
                    "damaged or changed: {} bytes, but {} were written",
                    found.bytes, expected.bytes
                ))
                .in_file(&path));
            }
            if found != *expected {
                return Err(Error::new("damaged or changed: its hash differs").in_file(&path));
            }
        }
        Ok(())
    }
}

/// The files of a directory and their provenance, sealed by a hash of the manifest itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the layout.
    pub format: u32,
    /// The program that wrote it.
    pub tool: String,
    /// Where the content comes from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provenance: BTreeMap<String, String>,
    /// The files, without the manifest.
    pub files: FileList,
    /// The hash of all fields above, so that changes to the manifest itself are noticed too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl Manifest {
    /// The name of the file.
    pub const FILE: &str = "MANIFEST.json";

    /// Describes the files of a directory without subfolders.
    pub fn of_directory(
        directory: &Path,
        format: u32,
        provenance: BTreeMap<String, String>,
    ) -> Result<Self> {
        let files = FileList::of_directory(directory, Self::FILE)?;
        Ok(Self { format, tool: tool(), provenance, files, sha256: None })
    }

    /// Writes the manifest into a directory that has none, and syncs it to disk.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let path = directory.join(Self::FILE);
        let mut sealed = self.clone();
        sealed.sha256 = Some(String::new());
        sealed.sha256 = Some(hash::of_bytes(to_json(&sealed, &path)?));
        write_new(&path, to_json(&sealed, &path)?.as_bytes())
    }

    /// Reads the manifest of a directory and verifies its seal. Only the first format has no seal.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(Self::FILE);
        let damaged = |problem: &dyn std::fmt::Display| {
            Error::new(format!("damaged: {problem}")).in_file(&path)
        };
        let text = read_regular(&path, LARGEST)?;
        let manifest: Self = serde_json::from_slice(&text).map_err(|error| damaged(&error))?;
        if !manifest.files.is_flat() {
            return Err(damaged(&"it lists files in subfolders"));
        }
        if manifest.sha256.is_none() && manifest.format > 1 {
            return Err(damaged(&"its own hash is missing"));
        }
        if let Some(seal) = &manifest.sha256 {
            let mut open = manifest.clone();
            open.sha256 = Some(String::new());
            let is_whole = *seal == hash::of_bytes(to_json(&open, &path)?)
                && to_json(&manifest, &path)?.as_bytes() == text;
            if !is_whole {
                return Err(damaged(&"its own hash does not match"));
            }
        }
        Ok(manifest)
    }

    /// The files of the directory, including the manifest.
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.file.clone()).chain([Self::FILE.to_owned()]).collect()
    }
}

/// The names of all files below a directory, sorted, with `/` between folders.
pub(crate) fn names_in(directory: &Path) -> Result<Vec<String>> {
    Ok(names_and_empty_folders_in(directory)?.0)
}

/// The same, and the names of folders without any content.
pub(crate) fn names_and_empty_folders_in(directory: &Path) -> Result<(Vec<String>, Vec<String>)> {
    let (mut names, mut empty) = (Vec::new(), Vec::new());
    let mut folders = vec![(directory.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        let failed = |error| Error::io("read", &folder, error);
        let mut is_empty = true;
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            is_empty = false;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            // A link to a folder counts as a file: nothing behind it is ours.
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push((entry.path(), format!("{name}/")));
            } else {
                names.push(name);
            }
        }
        if is_empty && folder != directory {
            empty.push(prefix);
        }
    }
    names.sort();
    empty.sort();
    Ok((names, empty))
}

/// Whether a string is a plain file name: one component of a path, and nothing special.
pub fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= 255
        && !name.contains(['/', '\\', ':'])
        && !name.contains(char::is_control)
}

/// Whether a string is a plain relative path: plain names separated by `/`.
pub fn is_plain_path(path: &str) -> bool {
    path.split('/').all(is_plain_name)
}

fn to_json(manifest: &Manifest, path: &Path) -> Result<String> {
    serde_json::to_string_pretty(manifest)
        .map_err(|error| Error::new(format!("cannot serialise it: {error}")).in_file(path))
}

/// The name and version of this program.
pub fn tool() -> String {
    concat!("abridge ", env!("CARGO_PKG_VERSION")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "one").unwrap();
        fs::write(folder.path().join("b"), "two").unwrap();
        folder
    }

    fn with_files(files: &str) -> Result<Manifest, serde_json::Error> {
        serde_json::from_str(&format!("{{\"format\": 1, \"tool\": \"x\", \"files\": {files}}}"))
    }

    #[test]
    fn any_damage_is_detected() {
        let folder = directory();
        let manifest = Manifest::of_directory(folder.path(), 2, BTreeMap::new()).unwrap();
        manifest.write(folder.path()).unwrap();
        let read = Manifest::read(folder.path()).unwrap();
        assert_eq!(read.names(), ["a", "b", "MANIFEST.json"]);
        read.files.verify(folder.path()).unwrap();

        fs::write(folder.path().join("b"), "twi").unwrap();
        let error = read.files.verify(folder.path()).unwrap_err().to_string();
        assert!(error.contains("b: damaged or changed: its hash"), "{error}");
        fs::write(folder.path().join("b"), "t").unwrap();
        let error = read.files.verify(folder.path()).unwrap_err().to_string();
        assert!(error.contains("1 bytes, but 3 were written"), "{error}");

        let path = folder.path().join(Manifest::FILE);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 4;
            fs::write(&path, flipped).unwrap();
            assert!(Manifest::read(folder.path()).is_err(), "byte {at}");
        }
    }

    #[test]
    fn rejects_empty_lists_duplicates_and_special_names() {
        let one = |name: &str| format!("{{{name:?}: {{\"bytes\": 1, \"sha256\": \"x\"}}}}");
        assert!(with_files(&one("model.safetensors")).is_ok());
        for name in ["", ".", "..", "../x", "/etc/passwd", "a/../b", "a//b", "a\\b", "c:x", "a\nb"]
        {
            assert!(with_files(&one(name)).is_err(), "{name:?}");
        }
        for none in ["{}", "[]"] {
            let error = with_files(none).unwrap_err().to_string();
            assert!(error.contains("it lists no files"), "{error}");
        }
        let file = r#"{"file": "a", "bytes": 1, "sha256": "x"}"#;
        assert!(with_files(&format!("[{file}]")).is_ok());
        assert!(with_files(&format!("[{file}, {file}]")).is_err());
    }
}
