//! The documents that ContraPro's JSON points into: one file per document and language, in a
//! directory or one level below it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::file::without_compression;
use super::parallel_lines::LineFile;
use crate::{Error, Result};

/// Both sides of a document.
#[derive(Debug)]
pub(super) struct SubtitleDocument {
    pub source: LineFile,
    pub target: LineFile,
}

/// Documents by name; each is read on first access.
#[derive(Debug)]
pub(super) struct DocumentDirectory {
    directory: PathBuf,
    files: BTreeMap<String, PathBuf>,
    languages: [String; 2],
    read: BTreeMap<String, SubtitleDocument>,
}

impl DocumentDirectory {
    /// Lists the files of a directory and its subdirectories.
    pub fn open(directory: &Path, source: &str, target: &str) -> Result<Self> {
        let mut files = BTreeMap::new();
        for path in list(directory)? {
            if path.is_dir() {
                for path in list(&path)? {
                    insert(&mut files, path);
                }
            } else {
                insert(&mut files, path);
            }
        }
        Ok(Self {
            directory: directory.to_path_buf(),
            files,
            languages: [source.to_owned(), target.to_owned()],
            read: BTreeMap::new(),
        })
    }

    /// The document with this name, which has no language suffix.
    pub fn get(&mut self, name: &str) -> Result<&SubtitleDocument> {
        if !self.read.contains_key(name) {
            let [source, target] =
                self.languages.each_ref().map(|language| self.path(name, language));
            let document = SubtitleDocument {
                source: LineFile::read(&source?)?,
                target: LineFile::read(&target?)?,
            };
            document.source.same_length_as(&document.target)?;
            self.read.insert(name.to_owned(), document);
        }
        self.read.get(name).ok_or_else(|| Error::new(format!("no document `{name}`")))
    }

    fn path(&self, name: &str, language: &str) -> Result<PathBuf> {
        let file = format!("{name}.{language}");
        self.files.get(&file).cloned().ok_or_else(|| {
            Error::new(format!("no file {file} here or one directory below"))
                .in_file(&self.directory)
                .remedy("extract the documents as the set's own script does, one file per film and language")
        })
    }
}

fn list(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| Error::io("list", directory, error);
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

fn insert(files: &mut BTreeMap<String, PathBuf>, path: PathBuf) {
    if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
        files.insert(without_compression(name).to_owned(), path);
    }
}
