//! A document: sentences in order, with their translations if known.

use serde::{Deserialize, Serialize};

/// Consecutive segments that belong together: a talk, a film, a chapter.
///
/// Context never crosses from one document into the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The name of the document in its source; unique within a corpus.
    pub id: String,
    /// The segments in reading order.
    pub segments: Vec<Segment>,
}

/// The unit of translation: a sentence, or what the source of the text treats as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The text in the source language.
    pub source: String,
    /// Its translation, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl Segment {
    /// A segment without a translation.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), target: None }
    }

    /// A segment with its translation.
    pub fn pair(source: impl Into<String>, target: impl Into<String>) -> Self {
        Self { source: source.into(), target: Some(target.into()) }
    }
}

impl Document {
    /// A document of the given segments.
    pub fn new(id: impl Into<String>, segments: Vec<Segment>) -> Self {
        Self { id: id.into(), segments }
    }
}
