//! The files of IWSLT: `train.tags.*` for training, and XML for the other sets.

mod pair;
mod tags;
mod xml;

use std::ops::Range;

use super::corpus::Corpus;
use super::file::TextFile;
use super::ids::DocumentIds;
use super::slots::{Escape, SlotLayout};
use super::{Description, Format};
use crate::{Document, Result};

pub(super) const IWSLT: Description = Description {
    name: "iwslt",
    ending: "xml",
    media_type: "application/xml",
    known_endings: &["xml", "sgm", "sgml"],
    known_beginnings: &["train.tags."],
    is_content: |text| is_iwslt(text.trim_start()),
    read,
};

/// A document with the positions of its segments in the file.
#[derive(Clone, Debug)]
struct MarkedDocument {
    id: String,
    /// The line at which it begins.
    line: usize,
    segments: Vec<MarkedSegment>,
}

#[derive(Clone, Debug)]
struct MarkedSegment {
    range: Range<usize>,
    text: String,
}

/// The two kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tags,
    Xml,
}

/// Reads one file or two parallel files.
fn read(source: &TextFile, target: Option<&TextFile>) -> Result<Corpus> {
    let (kind, documents) = parse(source)?;
    let target = match target {
        Some(file) => Some((parse(file)?.1, file)),
        None => None,
    };
    let mut corpus = Vec::new();
    let mut slots = Vec::new();
    for pair in pair::documents((documents, source), target)? {
        if pair.segments.is_empty() {
            continue;
        }
        let (ranges, segments): (Vec<_>, Vec<_>) = pair.segments.into_iter().unzip();
        slots.extend(ranges);
        corpus.push(Document::new(pair.id, segments));
    }
    let escape = match kind {
        Kind::Tags => Escape::Line,
        Kind::Xml => Escape::Xml,
    };
    let layout = SlotLayout { text: source.text.clone(), slots, escape };
    Ok(Corpus::new(corpus, Format::Iwslt, layout))
}

fn parse(file: &TextFile) -> Result<(Kind, Vec<MarkedDocument>)> {
    let (kind, documents) = match kind(&file.text[file.start()..]) {
        Kind::Tags => (Kind::Tags, tags::parse(file)?),
        Kind::Xml => (Kind::Xml, xml::parse(file)?),
    };
    let mut ids = DocumentIds::default();
    for document in &documents {
        ids.begin(&document.id, document.line, file)?;
    }
    Ok((kind, documents))
}

/// XML begins with a declaration, a document type or the element around a set; tags do not. Both
/// may begin with a `doc` element, but only XML has `seg` elements.
fn kind(text: &str) -> Kind {
    let opening: String = text.trim_start().chars().take(8).collect();
    let opening = opening.to_ascii_lowercase();
    let xml = ["<?xml", "<!", "<mteval", "<srcset", "<refset", "<tstset", "<root"];
    let is_xml = xml.iter().any(|start| opening.starts_with(start))
        || (opening.starts_with("<doc") && (text.contains("<seg ") || text.contains("<seg>")));
    if is_xml { Kind::Xml } else { Kind::Tags }
}

/// Whether the first line is in this format.
fn is_iwslt(text: &str) -> bool {
    kind(text) == Kind::Xml || tags::is_metadata(text.lines().next().unwrap_or_default())
}

/// The value of an attribute in the text of a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    // ASCII lower-casing keeps lengths, so offsets in the copy are offsets in the tag.
    let lower = tag.to_ascii_lowercase();
    for (at, _) in lower.match_indices(name) {
        let spaced = tag[..at].ends_with(char::is_whitespace);
        let value = tag[at + name.len()..].trim_start().strip_prefix('=').map(str::trim_start);
        if let (true, Some(value)) = (spaced, value) {
            let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
            return value[1..].split_once(quote).map(|(value, _)| value);
        }
    }
    None
}

#[cfg(test)]
mod tests;
