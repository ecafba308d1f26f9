//! The inputs and contents of a prepared directory, with a hash of everything.

use std::path::Path;

use abridge_base::files::read_text;
pub use abridge_base::manifest::{FileHash, FileList};
use serde::{Deserialize, Serialize};

use super::filter::FilterReport;
use super::recipe::Recipe;
use super::statistics::{DataTable, SplitStatistics};
use super::warnings::Warning;
use crate::{Error, Result};

/// The name of the manifest in a prepared directory.
pub const MANIFEST: &str = "manifest.json";
/// Increased whenever the same inputs would give a different directory.
const FORMAT: u32 = 1;
/// A larger manifest was not written by this program.
const LARGEST: u64 = 64 << 20;

/// The description of a prepared directory: the contents of its `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The version of the layout.
    pub format: u32,
    /// The program that wrote it.
    pub tool: String,
    /// What was requested.
    pub recipe: Recipe,
    /// Settings of generated text: those of the practice corpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<serde_json::Value>,
    /// The files that were read.
    pub inputs: Vec<FileHash>,
    /// The sizes of both vocabularies.
    pub vocabularies: Vocabularies,
    /// The numbers of each split.
    pub splits: Vec<SplitStatistics>,
    /// What filters removed from the training text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filtered: Vec<FilterReport>,
    /// Bad lines that were skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Suspicious properties of the data.
    pub warnings: Vec<Warning>,
    /// The files of the directory, except the manifest.
    pub outputs: FileList,
}

/// The number of pieces of each language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vocabularies {
    /// Of the source language.
    pub source: usize,
    /// Of the target language.
    pub target: usize,
}

/// What determines whether a directory is up to date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The program that prepares.
    pub tool: String,
    /// What is requested.
    pub recipe: Recipe,
    /// Settings of generated text.
    pub generated: Option<serde_json::Value>,
    /// The files that would be read.
    pub inputs: Vec<FileHash>,
}

impl Description {
    /// A description without results.
    pub fn new(origin: Origin) -> Self {
        Self {
            format: FORMAT,
            tool: origin.tool,
            recipe: origin.recipe,
            generated: origin.generated,
            inputs: origin.inputs,
            vocabularies: Vocabularies::default(),
            splits: Vec::new(),
            filtered: Vec::new(),
            skipped: Vec::new(),
            warnings: Vec::new(),
            outputs: FileList::default(),
        }
    }

    /// Reads the description of a prepared directory.
    pub fn load(directory: &Path) -> Result<Self> {
        let path = directory.join(MANIFEST);
        let remedy = "name a directory that `abridge prepare` has written, or prepare it again";
        let text = read_text(&path, LARGEST).map_err(|error| error.remedy(remedy))?;
        let broken = |problem: String| Error::new(problem).in_file(&path).remedy(remedy);
        let description: Self = serde_json::from_str(&text)
            .map_err(|error| broken(format!("not a manifest of a prepared directory: {error}")))?;
        if description.format != FORMAT {
            return Err(broken(format!(
                "the directory has format {}; this program reads {FORMAT}",
                description.format
            )));
        }
        Ok(description)
    }

    /// The files of a directory that `prepare` wrote, in this format or another.
    pub fn own_files(directory: &Path) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        struct Outputs {
            outputs: FileList,
        }
        let text = read_text(&directory.join(MANIFEST), LARGEST).ok()?;
        let Outputs { outputs } = serde_json::from_str(&text).ok()?;
        let names = outputs.iter().map(|output| output.file.clone());
        Some(names.chain([MANIFEST.to_owned()]).collect())
    }

    /// Whether preparing again would give the same directory, and all of it is still there.
    pub fn is_up_to_date(&self, origin: &Origin, directory: &Path) -> bool {
        self.tool == origin.tool
            && self.recipe == origin.recipe
            && self.generated == origin.generated
            && self.inputs == origin.inputs
            && self.outputs.verify(directory).is_ok()
    }

    /// The data table of the splits.
    pub fn table(&self) -> DataTable<'_> {
        let languages = &self.recipe.languages;
        DataTable { languages: (&languages.source, &languages.target), splits: &self.splits }
    }
}
