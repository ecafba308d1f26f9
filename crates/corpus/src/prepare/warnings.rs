//! Warnings about suspicious data, counted, with the first occurrences of each.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::splits::kind;
use crate::Document;
use crate::formats::LONGEST_DOCUMENT;
use crate::store::{EncodedSide, StoreContent};

/// A pair is suspicious if one side has more than this many times the tokens of the other …
const SUSPICIOUS_RATIO: usize = 3;
/// … and at least this many.
const SUSPICIOUS_LENGTH: usize = 12;
/// Shorter sentences recur naturally ("Thank you very much."), so only longer ones count as seen.
const DUPLICATE_WORDS: usize = 6;
/// How many occurrences a warning lists.
const PLACES: usize = 3;

/// Something that is allowed but suspicious.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The split in which it was found.
    pub split: String,
    /// What it is.
    pub kind: WarningKind,
    /// The number of occurrences.
    pub count: usize,
    /// The total number of sentences or documents.
    pub of: usize,
    /// The first occurrences: sentences of the split, counted from 1, or names of documents.
    pub places: Vec<String>,
}

/// The kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// One side is empty.
    EmptyLines,
    /// One side is several times as long as the other.
    LengthRatio,
    /// A pair that also occurs in the training split.
    SeenInTraining,
    /// A document without context in it.
    OneSentenceDocuments,
    /// A document that is as long as documents may be, because it was cut there.
    LongDocuments,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { split, count, of, .. } = self;
        match self.kind {
            WarningKind::EmptyLines => {
                write!(f, "{split}: {count} of {of} sentences are empty on one side or both")
            }
            WarningKind::LengthRatio => write!(
                f,
                "{split}: {count} of {of} pairs have more than {SUSPICIOUS_RATIO} times as many \
                 tokens on one side"
            ),
            WarningKind::SeenInTraining => write!(
                f,
                "{split}: {count} of {of} pairs of at least {DUPLICATE_WORDS} words also occur in \
                 train"
            ),
            WarningKind::OneSentenceDocuments => {
                write!(f, "{split}: {count} of {of} documents have only one sentence")
            }
            WarningKind::LongDocuments => write!(
                f,
                "{split}: {count} of {of} documents have {LONGEST_DOCUMENT} sentences and were cut \
                 there, as longer ones are; if these are several documents, put blank lines between \
                 them or their ids into a .docids file"
            ),
        }?;
        write!(f, " (first: {})", self.places.join(", "))
    }
}

/// Pairs of other splits that also occur in the training text, which may be large and is not kept.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TrainingPairs {
    /// Hashes of pairs to look for; looked up, never iterated.
    #[serde(skip)]
    wanted: FxHashSet<u64>,
    /// The hashes that were found.
    seen: BTreeSet<u64>,
}

impl TrainingPairs {
    /// Adds the pairs of a document that should not be in the training text.
    pub fn look_for(&mut self, document: &Document) {
        self.wanted.extend(long_pairs(document));
    }

    /// Checks a document of the training text.
    pub fn look_at(&mut self, document: &Document) {
        self.seen.extend(long_pairs(document).filter(|pair| self.wanted.contains(pair)));
    }
}

fn long_pairs(document: &Document) -> impl Iterator<Item = u64> {
    let long = document.segments.iter().filter(|segment| is_long(&segment.source));
    long.map(|segment| hash(&segment.source, segment.target.as_deref()))
}

/// Checks a shard of a split, whose first sentence has the given number in the split, counted from
/// 0; returns at most one warning of each kind.
pub fn inspect(
    split: &str,
    documents: &[Document],
    first: usize,
    content: &StoreContent,
    training: &TrainingPairs,
) -> Vec<Warning> {
    let mut empty = Found::default();
    let mut ratio = Found::default();
    let mut seen = Found::default();
    let mut alone = Found::default();
    let mut long = 0;
    let mut number = 0;
    for document in documents {
        if document.segments.len() == 1 {
            alone.add(|| document.id.clone());
        }
        for segment in &document.segments {
            let place = || (first + number + 1).to_string();
            let (source, target) = (segment.source.as_str(), segment.target.as_deref());
            let is_empty = source.trim().is_empty() || target.is_some_and(|t| t.trim().is_empty());
            if is_empty {
                empty.add(place);
            } else if let Some(side) = &content.target {
                let (a, b) = (length(&content.source, number), length(side, number));
                let (short, long) = (a.min(b), a.max(b));
                if long >= SUSPICIOUS_LENGTH && long > SUSPICIOUS_RATIO * short {
                    ratio.add(place);
                }
            }
            if kind(split) != "train" && is_long(source) {
                long += 1;
                if training.seen.contains(&hash(source, target)) {
                    seen.add(place);
                }
            }
            number += 1;
        }
    }
    let documents = documents.len();
    let all = [
        (WarningKind::EmptyLines, empty, number),
        (WarningKind::LengthRatio, ratio, number),
        (WarningKind::SeenInTraining, seen, long),
        (WarningKind::OneSentenceDocuments, alone, documents),
    ];
    all.into_iter()
        .map(|(kind, found, of)| Warning {
            split: split.to_owned(),
            kind,
            count: found.count,
            of,
            places: found.places,
        })
        .collect()
}

/// The warnings of a split from those of its shards, one of each kind at most.
pub fn join(shards: impl Iterator<Item = Vec<Warning>>) -> Vec<Warning> {
    let mut joined: Vec<Warning> = Vec::new();
    for warning in shards.flatten() {
        match joined.iter_mut().find(|other| other.kind == warning.kind) {
            None => joined.push(warning),
            Some(other) => {
                other.count += warning.count;
                other.of += warning.of;
                other.places.extend(warning.places);
                other.places.truncate(PLACES);
            }
        }
    }
    joined.retain(|warning| warning.count > 0);
    joined
}

/// Looks at documents as they are read, before anything takes sentences out of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lengths {
    long: Found,
    documents: usize,
}

impl Lengths {
    /// Looks at a document.
    pub fn look_at(&mut self, document: &Document) {
        self.documents += 1;
        if document.segments.len() >= LONGEST_DOCUMENT {
            self.long.add(|| document.id.clone());
        }
    }

    /// What was seen of a split.
    pub fn finish(self, split: &str) -> Option<Warning> {
        let Found { count, places } = self.long;
        let (split, of) = (split.to_owned(), self.documents);
        let kind = WarningKind::LongDocuments;
        (count > 0).then_some(Warning { split, kind, count, of, places })
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Found {
    count: usize,
    places: Vec<String>,
}

impl Found {
    fn add(&mut self, place: impl FnOnce() -> String) {
        self.count += 1;
        if self.places.len() < PLACES {
            self.places.push(place());
        }
    }
}

fn length(side: &EncodedSide, sentence: usize) -> usize {
    let start = if sentence == 0 { 0 } else { side.ends[sentence - 1] };
    side.ends[sentence] - start
}

fn is_long(source: &str) -> bool {
    source.split_whitespace().nth(DUPLICATE_WORDS - 1).is_some()
}

fn hash(source: &str, target: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (source.trim(), target.map(str::trim)).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;

    #[test]
    fn each_kind_is_found_and_counted() {
        let known =
            Segment::pair("One two three four five six.", "Eins zwei drei vier fünf sechs.");
        let train = vec![Document::new("t", vec![known.clone(), known.clone()])];
        let test = vec![
            Document::new("a", vec![known, Segment::pair("", "Leer.")]),
            Document::new("b", vec![Segment::pair("Short.", "Lang.")]),
        ];
        let content = StoreContent {
            documents: vec![("a".into(), 2), ("b".into(), 1)],
            source: EncodedSide { ids: vec![5; 9], ends: vec![6, 6, 9], vocabulary_size: 9 },
            target: Some(EncodedSide {
                ids: vec![5; 20],
                ends: vec![6, 8, 20],
                vocabulary_size: 9,
            }),
        };
        let mut training = TrainingPairs::default();
        for document in &test {
            training.look_for(document);
        }
        for document in &train {
            training.look_at(document);
        }
        let look = |first: usize| inspect("test", &test, first, &content, &training);
        let warnings = join([look(0)].into_iter());
        let seen: Vec<_> = warnings.iter().map(|w| (w.kind, w.count, w.of)).collect();
        assert_eq!(
            seen,
            [
                (WarningKind::EmptyLines, 1, 3),
                (WarningKind::LengthRatio, 1, 3),
                (WarningKind::SeenInTraining, 1, 1),
                (WarningKind::OneSentenceDocuments, 1, 2),
            ]
        );
        assert_eq!(warnings[0].places, ["2"]);
        let twice = join([look(0), look(3)].into_iter());
        assert_eq!((twice[0].count, twice[0].of), (2, 6));
        assert_eq!(twice[0].places, ["2", "5"], "sentences are counted through the shards");
        assert_eq!(warnings[3].places, ["b"]);
        let content = StoreContent {
            documents: vec![("t".into(), 2)],
            source: EncodedSide { ids: vec![5; 12], ends: vec![6, 12], vocabulary_size: 9 },
            target: Some(EncodedSide { ids: vec![5; 12], ends: vec![6, 12], vocabulary_size: 9 }),
        };
        let warnings = join([inspect("train", &train, 0, &content, &training)].into_iter());
        assert_eq!(warnings, []);
    }
}
