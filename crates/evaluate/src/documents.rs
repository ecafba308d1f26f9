//! The lines of each document.

use std::collections::BTreeMap;
use std::ops::Range;

use abridge_corpus::{Error, Result};

/// The documents of a test set, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documents {
    documents: Vec<DocumentLines>,
}

/// One document: its name and its lines, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentLines {
    /// The name.
    pub id: String,
    /// The lines.
    pub lines: Range<usize>,
}

impl Documents {
    /// Documents from one id per line. The lines of a document must be consecutive. A line with an
    /// empty id belongs to no document.
    pub fn from_ids<S: AsRef<str>>(ids: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut documents: Vec<DocumentLines> = Vec::new();
        let mut firsts: BTreeMap<String, usize> = BTreeMap::new();
        for (line, id) in ids.into_iter().enumerate() {
            let id = id.as_ref();
            match documents.last_mut() {
                _ if id.is_empty() => {}
                Some(document) if document.id == id => document.lines.end = line + 1,
                _ => {
                    if let Some(first) = firsts.insert(id.to_owned(), line + 1) {
                        return Err(Error::new(format!(
                            "document `{id}` started on line {first} and reappears here"
                        ))
                        .at_line(line + 1)
                        .remedy("keep the lines of a document together or give it another id"));
                    }
                    documents.push(DocumentLines { id: id.to_owned(), lines: line..line + 1 });
                }
            }
        }
        Ok(Self { documents })
    }

    /// Documents between separating lines, named by their number. A separator belongs to none.
    pub fn between(separators: impl IntoIterator<Item = bool>) -> Self {
        let mut documents: Vec<DocumentLines> = Vec::new();
        let mut inside = false;
        for (line, separates) in separators.into_iter().enumerate() {
            match documents.last_mut() {
                _ if separates => {}
                Some(document) if inside => document.lines.end = line + 1,
                _ => {
                    let id = (documents.len() + 1).to_string();
                    documents.push(DocumentLines { id, lines: line..line + 1 });
                }
            }
            inside = !separates;
        }
        Self { documents }
    }

    /// The last `size` lines before this one in its document; none for a line outside of documents.
    pub fn before(&self, line: usize, size: usize) -> Range<usize> {
        let place = self.documents.partition_point(|document| document.lines.end <= line);
        match self.documents.get(place) {
            Some(document) if document.lines.start <= line => {
                document.lines.start.max(line.saturating_sub(size))..line
            }
            _ => line..line,
        }
    }

    /// The documents.
    pub fn iter(&self) -> std::slice::Iter<'_, DocumentLines> {
        self.documents.iter()
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The number of lines up to the end of the last document.
    pub fn line_count(&self) -> usize {
        self.documents.last().map_or(0, |document| document.lines.end)
    }

    /// Each document's lines joined by spaces into one.
    pub fn join<S: AsRef<str>>(&self, lines: &[S]) -> Vec<String> {
        self.iter()
            .map(|document| {
                let lines: Vec<&str> =
                    lines[document.lines.clone()].iter().map(AsRef::as_ref).collect();
                lines.join(" ")
            })
            .collect()
    }
}

impl<'a> IntoIterator for &'a Documents {
    type Item = &'a DocumentLines;
    type IntoIter = std::slice::Iter<'a, DocumentLines>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_with_one_id_are_one_document() {
        let documents = Documents::from_ids(["a", "a", "b"]).unwrap();
        let found: Vec<_> = documents.iter().map(|d| (d.id.as_str(), d.lines.clone())).collect();
        assert_eq!(found, [("a", 0..2), ("b", 2..3)]);
        assert_eq!(documents.join(&["x", "y", "z"]), ["x y", "z"]);
        assert_eq!(documents.line_count(), 3);
    }

    #[test]
    fn separators_end_documents_and_belong_to_none() {
        let documents = Documents::between([true, false, false, true, true, false, true]);
        let found: Vec<_> = documents.iter().map(|d| (d.id.as_str(), d.lines.clone())).collect();
        assert_eq!(found, [("1", 1..3), ("2", 5..6)]);
    }

    #[test]
    fn context_stays_within_its_document() {
        let documents = Documents::between([false, false, true, false, false, false]);
        let before: Vec<Range<usize>> = (0..6).map(|line| documents.before(line, 2)).collect();
        assert_eq!(before, [0..0, 0..1, 2..2, 3..3, 3..4, 3..5]);
    }

    #[test]
    fn a_repeated_id_is_an_error_with_both_lines() {
        let error = Documents::from_ids(["a", "b", "a"]).unwrap_err().to_string();
        assert!(error.starts_with("line 3: document `a` started on line 1"), "{error}");
    }
}
