//! Pairs the two sides of a set, document by document.

use std::ops::Range;

use super::super::file::TextFile;
use super::MarkedDocument;
use crate::{Error, Result, Segment};

/// A document with the positions of its segments in the source file.
pub(super) struct PairedDocument {
    pub id: String,
    pub segments: Vec<(Range<usize>, Segment)>,
}

type Side<'a> = (Vec<MarkedDocument>, &'a TextFile);

/// Pairs documents by order and segments by order within them. A segment without text on either
/// side is left out, because a blank line between tags is not a sentence.
pub(super) fn documents(source: Side<'_>, target: Option<Side<'_>>) -> Result<Vec<PairedDocument>> {
    let (documents, file) = source;
    let Some((translated, other)) = target else {
        return Ok(documents.into_iter().map(alone).collect());
    };
    if documents.len() != translated.len() {
        let problem = format!(
            "{} documents, but {} has {}",
            documents.len(),
            other.path.display(),
            translated.len()
        );
        return Err(Error::new(problem).in_file(&file.path).remedy(SAME_SET));
    }
    documents
        .into_iter()
        .zip(translated)
        .map(|(left, right)| together(left, right, file, other))
        .collect()
}

const SAME_SET: &str = "give the two sides of the same set";

fn alone(document: MarkedDocument) -> PairedDocument {
    let segments = document.segments.into_iter().filter(|segment| !segment.text.is_empty());
    PairedDocument {
        id: document.id,
        segments: segments.map(|segment| (segment.range, Segment::new(segment.text))).collect(),
    }
}

fn together(
    mut left: MarkedDocument,
    mut right: MarkedDocument,
    file: &TextFile,
    other: &TextFile,
) -> Result<PairedDocument> {
    if left.id != right.id {
        let problem = format!(
            "document `{}`, but {}:{} has document `{}` in its place",
            left.id,
            other.path.display(),
            right.line,
            right.id
        );
        return Err(file.error(left.line, problem).remedy(SAME_SET));
    }
    if left.segments.len() != right.segments.len() {
        // One side may have blank lines between its sentences that the other lacks.
        left.segments.retain(|segment| !segment.text.is_empty());
        right.segments.retain(|segment| !segment.text.is_empty());
    }
    if left.segments.len() != right.segments.len() {
        let problem = format!(
            "{} segments in document `{}`, but {} at {}:{}",
            left.segments.len(),
            left.id,
            right.segments.len(),
            other.path.display(),
            right.line
        );
        return Err(file.error(left.line, problem).remedy(SAME_SET));
    }
    let pairs = left.segments.into_iter().zip(right.segments);
    let pairs = pairs.filter(|(left, right)| !left.text.is_empty() || !right.text.is_empty());
    let segments = pairs.map(|(left, right)| (left.range, Segment::pair(left.text, right.text)));
    Ok(PairedDocument { id: left.id, segments: segments.collect() })
}
