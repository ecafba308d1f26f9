//! Files whose lines belong together: sentences, candidates and their contexts.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::file::TextFile;
use crate::{Error, Result};

/// A file as a list of lines.
#[derive(Debug)]
pub(super) struct LineFile {
    pub file: TextFile,
    lines: Vec<Range<usize>>,
}

impl LineFile {
    pub fn read(path: &Path) -> Result<Self> {
        TextFile::read(path).map(Self::new)
    }

    pub fn new(file: TextFile) -> Self {
        let lines = file.lines();
        Self { file, lines }
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// A line without the spaces around it.
    pub fn get(&self, index: usize) -> &str {
        self.lines.get(index).map_or("", |line| self.file.text[line.clone()].trim())
    }

    /// Checks that this file has as many lines as another.
    pub fn same_length_as(&self, other: &Self) -> Result<()> {
        if self.len() == other.len() {
            return Ok(());
        }
        let problem = format!(
            "{} lines, but {} has {} lines",
            self.len(),
            other.file.path.display(),
            other.len()
        );
        Err(Error::new(problem).in_file(&self.file.path).remedy("fetch the set again"))
    }
}

/// Context lines: the same number for each line of text, oldest first.
#[derive(Debug)]
pub(super) struct ContextFile {
    lines: LineFile,
    per_text_line: usize,
}

impl ContextFile {
    /// The contexts of the lines of `text`.
    pub fn new(lines: LineFile, text: &LineFile) -> Result<Self> {
        let per_text_line = if text.len() == 0 { 0 } else { lines.len() / text.len() };
        if per_text_line * text.len() == lines.len() {
            return Ok(Self { lines, per_text_line });
        }
        let problem = format!(
            "{} lines, which is not a multiple of the {} lines of {}",
            lines.len(),
            text.len(),
            text.file.path.display()
        );
        let remedy = "a context file has the same number of lines for each line of text";
        Err(Error::new(problem).in_file(&lines.file.path).remedy(remedy))
    }

    pub fn read(path: Option<PathBuf>, text: &LineFile) -> Result<Option<Self>> {
        path.map(|path| Self::new(LineFile::read(&path)?, text)).transpose()
    }

    /// The nearest `limit` context sentences of a line, oldest first, without the empty ones before
    /// the start of the document.
    pub fn of_line(&self, index: usize, limit: usize) -> Vec<String> {
        let end = (index + 1) * self.per_text_line;
        let start = end - self.per_text_line.min(limit);
        let lines = (start..end).map(|line| self.lines.get(line));
        lines.skip_while(|line| line.is_empty()).map(str::to_owned).collect()
    }
}
