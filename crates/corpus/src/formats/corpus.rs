//! A corpus: documents, and the layout of the file that they come from.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use super::Format;
use super::file::count_newlines;
use crate::{Document, Error, Result};

/// Documents, and everything that is needed to write their translation in the same format.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The documents in the order of the file.
    pub documents: Vec<Document>,
    format: Format,
    layout: Arc<dyn Layout>,
}

/// What surrounds the segments in the source file.
pub(super) trait Layout: fmt::Debug + Send + Sync {
    /// The text of the file, and the offset at which a segment begins; `index` counts the segments
    /// of all documents.
    fn place(&self, document: usize, index: usize) -> Option<(&str, usize)>;

    /// Writes the file with the translations of each document.
    fn write(&self, translations: &[Vec<String>], out: &mut dyn Write) -> io::Result<()>;
}

impl Corpus {
    /// Documents of a format, and their layout.
    pub(super) fn new(
        documents: Vec<Document>,
        format: Format,
        layout: impl Layout + 'static,
    ) -> Self {
        Self { documents, format, layout: Arc::new(layout) }
    }

    /// The format that the documents were read from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The number of segments in all documents.
    pub fn segments(&self) -> usize {
        self.documents.iter().map(|document| document.segments.len()).sum()
    }

    /// The line of the source file, counted from 1, at which a segment begins; for JSON lines, the
    /// line of its document.
    pub fn line(&self, document: usize, segment: usize) -> Option<usize> {
        let before = self.documents.get(..document)?;
        if segment >= self.documents.get(document)?.segments.len() {
            return None;
        }
        let index = before.iter().map(|document| document.segments.len()).sum::<usize>() + segment;
        let (text, place) = self.layout.place(document, index)?;
        Some(count_newlines(&text.as_bytes()[..place]) + 1)
    }

    /// Writes the translations, one list per document with one text per segment, in the format and
    /// layout of the source file. Nothing else changes: output lines correspond to input lines.
    /// JSON lines have a field for translations, so there the source stays and the target is set.
    ///
    /// The counts must be those of the documents as they were read; they are checked before
    /// anything is written.
    pub fn write_translation(
        &self,
        translations: &[Vec<String>],
        mut out: impl Write,
    ) -> Result<()> {
        self.check_counts(translations)?;
        let written = self.layout.write(translations, &mut out);
        written.and_then(|()| out.flush()).map_err(|error| {
            Error::new(format!("cannot write the translation: {error}")).caused_by(error)
        })
    }

    fn check_counts(&self, translations: &[Vec<String>]) -> Result<()> {
        if translations.len() != self.documents.len() {
            return Err(Error::new(format!(
                "translations of {} documents for {} documents",
                translations.len(),
                self.documents.len()
            )));
        }
        for (document, translated) in self.documents.iter().zip(translations) {
            if document.segments.len() != translated.len() {
                return Err(Error::new(format!(
                    "{} translations for the {} segments of document `{}`",
                    translated.len(),
                    document.segments.len(),
                    document.id
                )));
            }
        }
        Ok(())
    }
}
