//! The reference translations: one or several per segment.

use std::collections::BTreeSet;
use std::fmt;

use abridge_base::message::counted;
use abridge_corpus::{Error, Result};

use crate::documents::Documents;

/// One or several translations of every segment.
#[derive(Clone, Debug)]
pub struct References {
    /// The lines of each reference translation; a segment may be missing in some of them.
    streams: Vec<Vec<Option<String>>>,
}

/// How many references the segments have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceCount {
    /// All segments have the same number.
    Fixed(usize),
    /// Some segments have more than others.
    Variable,
}

impl fmt::Display for ReferenceCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(count) => write!(f, "{count}"),
            Self::Variable => f.write_str("var"),
        }
    }
}

impl References {
    /// One complete reference translation.
    pub fn single(lines: impl IntoIterator<Item = impl Into<String>>) -> Result<Self> {
        Self::new(vec![lines.into_iter().map(|line| Some(line.into())).collect()])
    }

    /// Several reference translations. A segment that a translation lacks is `None` (an empty
    /// string is an empty translation); every segment needs at least one.
    pub fn new(streams: Vec<Vec<Option<String>>>) -> Result<Self> {
        let Some(first) = streams.first() else {
            return Err(Error::new("no reference translation").remedy("give at least one"));
        };
        let count = first.len();
        if let Some((index, stream)) =
            streams.iter().enumerate().find(|(_, stream)| stream.len() != count)
        {
            return Err(Error::new(format!(
                "reference 1 has {} but reference {} has {}",
                counted(count, "line"),
                index + 1,
                stream.len()
            ))
            .remedy("give references of the same test set"));
        }
        if let Some(line) = (0..count).find(|&line| streams.iter().all(|s| s[line].is_none())) {
            return Err(Error::new("no reference has this segment")
                .at_line(line + 1)
                .remedy("add a reference translation or leave the segment out"));
        }
        Ok(Self { streams })
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.streams[0].len()
    }

    /// Whether there is no segment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The references of one segment, at least one.
    pub fn of_segment(&self, segment: usize) -> Vec<&str> {
        self.streams.iter().filter_map(|stream| stream[segment].as_deref()).collect()
    }

    /// The first reference of every segment.
    pub fn first(&self) -> Vec<String> {
        let first = |segment: usize| self.of_segment(segment).first().copied().unwrap_or_default();
        (0..self.len()).map(|segment| first(segment).to_owned()).collect()
    }

    /// How many references the segments have.
    pub fn count(&self) -> ReferenceCount {
        let counts: BTreeSet<usize> = (0..self.len())
            .map(|segment| self.streams.iter().filter(|stream| stream[segment].is_some()).count())
            .collect();
        match counts.first() {
            Some(&count) if counts.len() == 1 => ReferenceCount::Fixed(count),
            _ => ReferenceCount::Variable,
        }
    }

    /// The references of whole documents: the lines of each, joined by spaces. A reference
    /// translation that lacks a line of a document is not used for it.
    pub fn of_documents(&self, documents: &Documents) -> Result<Self> {
        let streams: Vec<Vec<Option<String>>> = self
            .streams
            .iter()
            .map(|stream| {
                documents
                    .iter()
                    .map(|document| {
                        let lines: Option<Vec<&str>> =
                            stream[document.lines.clone()].iter().map(Option::as_deref).collect();
                        lines.map(|lines| lines.join(" "))
                    })
                    .collect()
            })
            .collect();
        let lacking =
            documents.iter().enumerate().find(|&(d, _)| streams.iter().all(|s| s[d].is_none()));
        if let Some((_, document)) = lacking {
            return Err(Error::new(format!(
                "no reference translation has all lines of document `{}`",
                document.id
            ))
            .remedy("leave out d-bleu or complete a reference"));
        }
        Self::new(streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_missing_references() {
        let some = |text: &str| Some(text.to_owned());
        let references =
            References::new(vec![vec![some("a"), some("b")], vec![None, some("")]]).unwrap();
        assert_eq!(references.count(), ReferenceCount::Variable);
        assert_eq!(references.of_segment(0), ["a"]);
        assert_eq!(references.of_segment(1), ["b", ""]);
    }

    #[test]
    fn refuses_unequal_counts_and_segments_without_reference() {
        let some = |text: &str| Some(text.to_owned());
        let error = References::new(vec![vec![some("a")], vec![]]).unwrap_err().to_string();
        assert!(error.contains("has 1 line but reference 2 has 0"), "{error}");
        let error = References::new(vec![vec![some("a"), None]]).unwrap_err().to_string();
        assert!(error.starts_with("line 2: no reference"), "{error}");
        assert!(References::new(Vec::new()).is_err());
    }

    #[test]
    fn documents_join_the_lines_of_complete_references() {
        let some = |text: &str| Some(text.to_owned());
        let references = References::new(vec![
            vec![some("a"), some("b"), some("c")],
            vec![some("d"), None, some("e")],
        ])
        .unwrap();
        let documents = Documents::from_ids(["x", "x", "y"]).unwrap();
        let joined = references.of_documents(&documents).unwrap();
        assert_eq!(joined.of_segment(0), ["a b"]);
        assert_eq!(joined.of_segment(1), ["c", "e"]);
    }
}
