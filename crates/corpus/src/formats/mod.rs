//! Readers and writers of document formats.
//!
//! [`read`] turns files into a [`Corpus`]: documents, and a layout that keeps every byte that is
//! not translated. [`Corpus::write_translation`] puts translations into that layout.
//!
//! | format | documents | segments |
//! | --- | --- | --- |
//! | [`Format::Lines`] | from a `.docids` file, or between blank lines | lines |
//! | [`Format::Iwslt`] | `doc` elements, or talks between tags | `seg` elements, or lines |
//! | [`Format::Jsonl`] | lines | strings in a list |
//! | [`Format::Srt`], [`Format::Vtt`] | the file | sentences, which may span several cues |
//!
//! Files of every format may be compressed with gzip or Zstandard or be part of a tar archive.
//!
//! ```
//! use abridge_corpus::{Input, read};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("film.srt");
//! std::fs::write(
//!     &path,
//!     "1\n00:00:01,000 --> 00:00:02,000\nThe old lamp\n\n\
//!      2\n00:00:02,000 --> 00:00:03,000\nis broken.\n",
//! )?;
//!
//! let corpus = read(&Input::new(&path))?;
//! assert_eq!(corpus.documents[0].segments[0].source, "The old lamp is broken.");
//!
//! let mut translated = Vec::new();
//! corpus.write_translation(&[vec!["Die alte Lampe ist kaputt.".to_owned()]], &mut translated)?;
//! assert_eq!(
//!     String::from_utf8(translated)?,
//!     "1\n00:00:01,000 --> 00:00:02,000\nDie alte Lampe\n\n\
//!      2\n00:00:02,000 --> 00:00:03,000\nist kaputt.\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod bytes;
pub mod contrastive;
mod corpus;
pub mod ctxpro;
mod detect;
mod entities;
mod file;
mod ids;
mod iwslt;
mod jsonl;
mod line_reader;
mod lines;
mod slots;
mod stream;
mod subtitles;
#[cfg(test)]
mod tsv;
mod zstandard;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use bytes::STANDARD_INPUT;
pub use corpus::Corpus;
use file::TextFile;
use serde::{Deserialize, Serialize};
pub use stream::{BadLines, DocumentStream, LONGEST_DOCUMENT};

use crate::{Error, Result};

/// The name of a format, and how it is recognised and read.
struct Description {
    /// The name on the command line and in configuration.
    name: &'static str,
    /// The file name extension for output.
    ending: &'static str,
    /// The media type for HTTP.
    media_type: &'static str,
    /// File name endings that identify the format.
    known_endings: &'static [&'static str],
    /// File name prefixes that identify the format.
    known_beginnings: &'static [&'static str],
    /// Whether a text begins like a file of this format; true for at most one format.
    is_content: fn(&str) -> bool,
    /// Reads a file, or two parallel files.
    read: fn(&TextFile, Option<&TextFile>) -> Result<Corpus>,
}

macro_rules! formats {
    ($($(#[cfg($test:meta)])? $doc:literal $format:ident => $module:ident::$description:ident,)*) => {
        /// How documents are written in a file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Format {
            $($(#[cfg($test)])? #[doc = $doc] $format,)*
        }

        impl Format {
            /// Every format, in the order of the documentation.
            pub const ALL: &[Self] = &[$($(#[cfg($test)])? Self::$format,)*];

            fn description(self) -> &'static Description {
                match self {
                    $($(#[cfg($test)])? Self::$format => &$module::$description,)*
                }
            }
        }
    };
}

// To add a format, add a module and a line in this table.
formats! {
    "One segment per line; documents from a `.docids` file or between blank lines."
    Lines => lines::LINES,
    "The files of IWSLT: `train.tags.*`, and XML with `seg` elements in `doc` elements."
    Iwslt => iwslt::IWSLT,
    r#"One document per line: `{"id": …, "source": […], "target": […]}`."#
    Jsonl => jsonl::JSONL,
    "SRT subtitles."
    Srt => subtitles::SRT,
    "WebVTT subtitles."
    Vtt => subtitles::VTT,
    #[cfg(test)] "A document and a sentence per line, with a tab between." Tsv => tsv::TSV,
}

impl Format {
    /// The name on the command line and in configuration.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// The file name extension for output.
    pub fn ending(self) -> &'static str {
        self.description().ending
    }

    /// The media type for HTTP.
    pub fn media_type(self) -> &'static str {
        self.description().media_type
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|format| format.name() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
            Error::new(format!("unknown format `{name}`"))
                .remedy(format!("choose one of {}", names.join(", ")))
        })
    }
}

/// The files of one corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The source side, or the only file.
    pub source: PathBuf,
    /// The target side, if the format keeps it in a separate file.
    pub target: Option<PathBuf>,
    /// One document id per line, for [`Format::Lines`]. If not given, a file beside the source is
    /// used if it exists: `train.docids` for `train.en` or `train.en.gz`.
    pub docids: Option<PathBuf>,
    /// The format; detected from the file's name and content if not given.
    pub format: Option<Format>,
}

impl Input {
    /// A file without a target side.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    /// A source file with its target file.
    pub fn parallel(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), target: Some(target.into()), ..Self::default() }
    }

    /// Every file that [`read`] would read, including the document ids beside the source.
    pub fn files(&self) -> Vec<PathBuf> {
        let lines = self.format.is_none_or(|format| format == Format::Lines);
        let beside = || lines.then(|| lines::docids_beside(&self.source)).flatten();
        let docids = self.docids.clone().or_else(beside);
        [Some(self.source.clone()), self.target.clone(), docids].into_iter().flatten().collect()
    }
}

/// Reads documents from the bytes of a file, uncompressed and without a target side. The name is
/// used to detect the format, if it is not given, and in error messages.
pub fn read_bytes(name: &Path, bytes: Vec<u8>, format: Option<Format>) -> Result<Corpus> {
    let source = TextFile::from_bytes(name, bytes)?;
    let format = match format {
        Some(format) => format,
        None => detect::format(&source)?,
    };
    (format.description().read)(&source, None)
}

/// Reads a file as plain text: decompressed, extracted from its archive, and checked to be UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    Ok(TextFile::read(path)?.text)
}

/// Reads documents, with their translations if a target side is given.
pub fn read(input: &Input) -> Result<Corpus> {
    let source = TextFile::read(&input.source)?;
    let format = match input.format {
        Some(format) => format,
        None => detect::format(&source)?,
    };
    if let (Some(docids), true) = (&input.docids, format != Format::Lines) {
        return Err(Error::new(format!("document ids are for the format lines, not for {format}"))
            .in_file(docids)
            .remedy("leave the file out: this format has its own document ids"));
    }
    let target = input.target.as_deref().map(TextFile::read).transpose()?;
    if format == Format::Lines {
        let docids = input.docids.clone().or_else(|| lines::docids_beside(&input.source));
        let docids = docids.as_deref().map(TextFile::read).transpose()?;
        return lines::read(lines::Sides { source, target, docids });
    }
    (format.description().read)(&source, target.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_book_is_read_and_written() {
        let name = Path::new("talks.tsv");
        let corpus = read_bytes(name, b"a\tOne.\na\tTwo.\nb\tThree.\n".to_vec(), None).unwrap();
        let ids: Vec<&str> = corpus.documents.iter().map(|document| &*document.id).collect();
        assert_eq!((corpus.format(), ids), (Format::Tsv, vec!["a", "b"]));
        assert_eq!(corpus.line(1, 0), Some(3));
        let translated = [vec!["Eins.".to_owned(), "Zwei.".to_owned()], vec!["Drei.".to_owned()]];
        let mut out = Vec::new();
        corpus.write_translation(&translated, &mut out).unwrap();
        assert_eq!(out, b"a\tEins.\na\tZwei.\nb\tDrei.\n");
        let error = read_bytes(name, b"a\tOne.\nTwo.\n".to_vec(), None).unwrap_err().to_string();
        assert!(error.starts_with("talks.tsv:2: no tab"), "{error}");
    }

    #[test]
    fn names_round_trip() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), *format);
            assert_eq!(serde_json::to_string(format).unwrap(), format!("\"{format}\""));
        }
        let message = "docx".parse::<Format>().unwrap_err().to_string();
        assert!(message.starts_with("unknown format `docx`; choose one of lines"), "{message}");
    }
}
