//! The documents of a split, kept apart from those of the others.

use std::collections::BTreeMap;

use abridge_base::random::Random;

use super::annotated::{AnnotatedDocument, annotate};
use super::{PracticeConfig, plan};
use crate::{Document, Error, Result};

/// A part of the corpus. The numbers are part of the format: they key the randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Split {
    Train = 1,
    Valid = 2,
    Test = 3,
    Contrastive = 4,
}

impl Split {
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Valid => "valid",
            Self::Test => "test",
            Self::Contrastive => "contrastive",
        }
    }
}

/// How often a document is regenerated, with other random numbers, if it repeats something.
pub(super) const MOST_ATTEMPTS: u64 = 1_000;

/// Each pair of consecutive source sentences, and the split that has it.
#[derive(Debug, Default)]
pub(super) struct SplitOwners {
    pairs: BTreeMap<[String; 2], Split>,
    documents: BTreeMap<String, Split>,
}

impl SplitOwners {
    /// Whether the document is new and shares no two consecutive sentences with another split.
    pub fn allows(&self, document: &Document, split: Split) -> bool {
        !self.documents.contains_key(&text(document))
            && pairs(document).all(|pair| self.pairs.get(&pair).is_none_or(|owner| *owner == split))
    }

    /// Gives the document to the split.
    pub fn insert(&mut self, document: &Document, split: Split) {
        self.documents.insert(text(document), split);
        self.pairs.extend(pairs(document).map(|pair| (pair, split)));
    }
}

fn text(document: &Document) -> String {
    let lines: Vec<&str> =
        document.segments.iter().map(|segment| segment.source.as_str()).collect();
    lines.join("\n")
}

fn pairs(document: &Document) -> impl Iterator<Item = [String; 2]> {
    document.segments.windows(2).map(|pair| [pair[0].source.clone(), pair[1].source.clone()])
}

/// Writes the documents of a split.
pub(super) fn generate(
    config: &PracticeConfig,
    split: Split,
    count: usize,
    owners: &mut SplitOwners,
) -> Result<Vec<AnnotatedDocument>> {
    (0..count).map(|index| document(config, split, index, owners)).collect()
}

fn document(
    config: &PracticeConfig,
    split: Split,
    index: usize,
    owners: &mut SplitOwners,
) -> Result<AnnotatedDocument> {
    let id = format!("practice-{}-{index:05}", split.name());
    for attempt in 0..MOST_ATTEMPTS {
        let random = Random::keyed(&[config.seed, split as u64, index as u64, attempt]);
        let Some(sentences) = plan::document(config, random) else { continue };
        let annotated = annotate(id.clone(), &sentences, config.language);
        if owners.allows(&annotated.document, split) {
            owners.insert(&annotated.document, split);
            return Ok(annotated);
        }
    }
    Err(exhausted(&format!("document {index} of the {} split", split.name())))
}

/// The error if the grammar produces nothing new.
pub(super) fn exhausted(what: &str) -> Error {
    Error::new(format!("the grammar found nothing new for {what} in {MOST_ATTEMPTS} attempts"))
        .remedy("ask for fewer or longer documents")
}
