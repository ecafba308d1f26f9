//! What a prepared directory was made from and what it holds, with a hash of everything.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::filter::FilterReport;
use super::recipe::Recipe;
use super::statistics::{DataTable, SplitStatistics};
use super::warnings::Warning;
use crate::{Error, Result};

/// The name of the manifest in a prepared directory.
pub const MANIFEST: &str = "manifest.json";
/// Raised whenever the same inputs would give another directory.
const FORMAT: u32 = 1;

/// The description of a prepared directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the layout.
    pub format: u32,
    /// The program that wrote it.
    pub tool: String,
    /// What was asked for.
    pub recipe: Recipe,
    /// Settings of text that no file holds: the generator of the practice corpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<serde_json::Value>,
    /// The files that were read.
    pub inputs: Vec<FileHash>,
    /// The sizes of both vocabularies.
    pub vocabularies: Vocabularies,
    /// The numbers of each split.
    pub splits: Vec<SplitStatistics>,
    /// What filters took out of the training text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filtered: Vec<FilterReport>,
    /// What deserves a look.
    pub warnings: Vec<Warning>,
    /// The files of the directory, this one excepted.
    pub outputs: Vec<FileHash>,
}

/// The number of pieces of each language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vocabularies {
    /// Of the source language.
    pub source: usize,
    /// Of the target language.
    pub target: usize,
}

/// A file and its content in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// Inputs: the path as given. Outputs: the name in the directory.
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

impl FileHash {
    /// Hashes a file; `name` is what the manifest calls it.
    pub fn of(path: &Path, name: &str) -> Result<Self> {
        let hash = || {
            let mut file = File::open(path)?;
            let mut hasher = Sha256::new();
            let mut buffer = vec![0; 1 << 20];
            let mut bytes = 0;
            loop {
                let count = file.read(&mut buffer)?;
                if count == 0 {
                    return Ok((bytes, hasher.finalize()));
                }
                hasher.update(&buffer[..count]);
                bytes += count as u64;
            }
        };
        let (bytes, digest) = hash().map_err(|error| Error::io("read", path, error))?;
        Ok(Self { file: name.to_owned(), bytes, sha256: format!("{digest:x}") })
    }
}

/// What decides whether a directory is still right.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// What is asked for.
    pub recipe: Recipe,
    /// Settings of generated text.
    pub generated: Option<serde_json::Value>,
    /// The files that would be read.
    pub inputs: Vec<FileHash>,
}

impl Manifest {
    /// A manifest without results, of text of which some was taken out.
    pub fn new(origin: Origin, filtered: Vec<FilterReport>) -> Self {
        Self {
            format: FORMAT,
            tool: tool(),
            recipe: origin.recipe,
            generated: origin.generated,
            inputs: origin.inputs,
            vocabularies: Vocabularies::default(),
            splits: Vec::new(),
            filtered,
            warnings: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Reads the manifest of a prepared directory.
    pub fn load(directory: &Path) -> Result<Self> {
        let path = directory.join(MANIFEST);
        let remedy = "name a directory that `abridge prepare` has written, or prepare it again";
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::io("read", &path, error).remedy(remedy))?;
        let broken = |problem: String| Error::new(problem).in_file(&path).remedy(remedy);
        let manifest: Self = serde_json::from_str(&text)
            .map_err(|error| broken(format!("not a manifest of a prepared directory: {error}")))?;
        if manifest.format != FORMAT {
            return Err(broken(format!(
                "the directory has format {}; this program reads {FORMAT}",
                manifest.format
            )));
        }
        Ok(manifest)
    }

    /// Whether preparing again would give the same directory, and all of it is still there.
    pub fn is_up_to_date(&self, origin: &Origin, directory: &Path) -> bool {
        self.tool == tool()
            && self.recipe == origin.recipe
            && self.generated == origin.generated
            && self.inputs == origin.inputs
            && self.outputs.iter().all(|output| {
                FileHash::of(&directory.join(&output.file), &output.file)
                    .is_ok_and(|found| found == *output)
            })
    }

    /// The data table of the splits.
    pub fn table(&self) -> DataTable<'_> {
        let languages = &self.recipe.languages;
        DataTable { languages: (&languages.source, &languages.target), splits: &self.splits }
    }
}

fn tool() -> String {
    concat!("abridge ", env!("CARGO_PKG_VERSION")).to_owned()
}
