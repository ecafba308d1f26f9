//! What a careful person would notice about the data, counted, with the first places of each.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::splits::SplitDocuments;
use crate::store::{EncodedSide, StoreContent};

/// A pair is suspicious if one side has more than this many times the tokens of the other …
const SUSPICIOUS_RATIO: usize = 3;
/// … and at least this many.
const SUSPICIOUS_LENGTH: usize = 12;
/// Shorter sentences recur by nature ("Thank you very much."), so only longer ones count as seen.
const DUPLICATE_WORDS: usize = 6;
/// How many places a warning names.
const PLACES: usize = 3;

/// Something that is allowed but deserves a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The split in which it was seen.
    pub split: String,
    /// What it is.
    pub kind: WarningKind,
    /// How often.
    pub count: usize,
    /// Out of how many sentences or documents.
    pub of: usize,
    /// The first places: sentences counted from 1 through the split, or names of documents.
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
        }?;
        write!(f, " (first: {})", self.places.join(", "))
    }
}

/// The pairs of the training split, to recognise them elsewhere.
#[derive(Debug, Default)]
pub struct TrainingPairs {
    /// Hashes only; looked up, never iterated.
    seen: FxHashSet<u64>,
}

impl TrainingPairs {
    /// Remembers the pairs of the training splits.
    pub fn new(splits: &[SplitDocuments]) -> Self {
        let train = splits.iter().filter(|split| split.kind() == "train");
        let segments = train.flat_map(|split| &split.documents);
        let segments = segments.flat_map(|document| &document.segments);
        let long = segments.filter(|segment| is_long(&segment.source));
        Self { seen: long.map(|s| hash(&s.source, s.target.as_deref())).collect() }
    }
}

/// Looks at one split.
pub fn inspect(
    split: &SplitDocuments,
    content: &StoreContent,
    training: &TrainingPairs,
) -> Vec<Warning> {
    let mut empty = Found::default();
    let mut ratio = Found::default();
    let mut seen = Found::default();
    let mut alone = Found::default();
    let mut long = 0;
    let mut number = 0;
    for document in &split.documents {
        if document.segments.len() == 1 {
            alone.add(|| document.id.clone());
        }
        for segment in &document.segments {
            let place = || (number + 1).to_string();
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
            if split.kind() != "train" && is_long(source) {
                long += 1;
                if training.seen.contains(&hash(source, target)) {
                    seen.add(place);
                }
            }
            number += 1;
        }
    }
    let documents = split.documents.len();
    let all = [
        (WarningKind::EmptyLines, empty, number),
        (WarningKind::LengthRatio, ratio, number),
        (WarningKind::SeenInTraining, seen, long),
        (WarningKind::OneSentenceDocuments, alone, documents),
    ];
    all.into_iter()
        .filter(|(_, found, _)| found.count > 0)
        .map(|(kind, found, of)| Warning {
            split: split.name.clone(),
            kind,
            count: found.count,
            of,
            places: found.places,
        })
        .collect()
}

#[derive(Default)]
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
    use crate::{Document, Segment};

    #[test]
    fn each_kind_is_seen_and_counted() {
        let known =
            Segment::pair("One two three four five six.", "Eins zwei drei vier fünf sechs.");
        let train = SplitDocuments {
            name: "train".into(),
            documents: vec![Document::new("t", vec![known.clone(), known.clone()])],
        };
        let test = SplitDocuments {
            name: "test".into(),
            documents: vec![
                Document::new("a", vec![known, Segment::pair("", "Leer.")]),
                Document::new("b", vec![Segment::pair("Short.", "Lang.")]),
            ],
        };
        let content = StoreContent {
            documents: vec![("a".into(), 2), ("b".into(), 1)],
            source: EncodedSide { ids: vec![5; 9], ends: vec![6, 6, 9], vocabulary_size: 9 },
            target: Some(EncodedSide {
                ids: vec![5; 20],
                ends: vec![6, 8, 20],
                vocabulary_size: 9,
            }),
        };
        let training = TrainingPairs::new(&[train.clone(), test.clone()]);
        let warnings = inspect(&test, &content, &training);
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
        assert_eq!(warnings[3].places, ["b"]);
        let content = StoreContent {
            documents: vec![("t".into(), 2)],
            source: EncodedSide { ids: vec![5; 12], ends: vec![6, 12], vocabulary_size: 9 },
            target: Some(EncodedSide { ids: vec![5; 12], ends: vec![6, 12], vocabulary_size: 9 }),
        };
        assert_eq!(inspect(&train, &content, &training), []);
    }
}
