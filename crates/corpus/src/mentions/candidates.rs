//! Sentences that can be made into documents.

use std::collections::BTreeMap;

use abridge_base::random::Random;

use super::english::{Subject, mentioned, subject};
use crate::Document;

/// Sentences of more characters than this are left out: their translations differ in too much.
const LONGEST: usize = 120;

/// What to take from a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateSettings {
    /// The most sentences with the same noun.
    pub per_noun: usize,
    /// The most documents per sentence, each with another mention of the noun.
    pub contexts: usize,
    /// Whether plurals are taken, too.
    pub plural: bool,
    /// The seed that picks sentences and their contexts.
    pub seed: u64,
}

/// A sentence that begins with a noun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// As it stands in the text: *The house was built in 1900.*
    pub named: String,
    /// *It was built in 1900.*
    pub pronominal: String,
    /// Whether the pronoun is *they*.
    pub plural: bool,
    /// Sentences that mention the noun, each with a neighbour at times; oldest first.
    pub contexts: Vec<Vec<String>>,
    /// What follows the noun.
    rest: String,
}

impl Candidate {
    /// The sentence with another noun.
    pub fn with_noun(&self, noun: &str) -> String {
        format!("The {noun}{}", self.rest)
    }
}

/// The place of a sentence: its document and its number in it.
type Place = (usize, usize);

/// Candidates from the source side of documents, in random order.
pub fn candidates(documents: &[Document], settings: &CandidateSettings) -> Vec<Candidate> {
    let text = |(document, place): Place| documents[document].segments[place].source.as_str();
    let mut subjects: Vec<(Place, Subject)> = Vec::new();
    // Where each noun is mentioned, and where it is the subject.
    let mut mentions: BTreeMap<String, [Vec<Place>; 2]> = BTreeMap::new();
    for (number, document) in documents.iter().enumerate() {
        for (place, segment) in document.segments.iter().enumerate() {
            if segment.source.len() > LONGEST {
                continue;
            }
            for noun in mentioned(&segment.source) {
                mentions.entry(noun).or_default()[0].push((number, place));
            }
            if let Some(found) = subject(&segment.source) {
                mentions.entry(found.noun.clone()).or_default()[1].push((number, place));
                subjects.push(((number, place), found));
            }
        }
    }
    let mut random = Random::keyed(&[settings.seed]);
    random.shuffle(&mut subjects);
    let (mut taken, mut seen) =
        (BTreeMap::<String, usize>::new(), std::collections::BTreeSet::new());
    let mut candidates = Vec::new();
    for (place, Subject { noun, plural, end }) in subjects {
        let named = text(place);
        let taken = taken.entry(noun.clone()).or_default();
        if *taken == settings.per_noun || (plural && !settings.plural) || !seen.insert(named) {
            continue;
        }
        let elsewhere = mentions[&noun].each_ref().map(|places| -> Vec<Place> {
            places.iter().copied().filter(|&other| text(other) != named).collect()
        });
        let mut contexts: Vec<Vec<String>> = Vec::new();
        for _ in 0..settings.contexts {
            // Half of them are about the noun, if there are such sentences; the others mention it.
            let of_kind = random.choose(&elsewhere).and_then(|places| random.choose(places));
            let mention = of_kind.or_else(|| elsewhere.iter().find_map(|some| random.choose(some)));
            let Some(&(document, place)) = mention else { break };
            let context = neighbourhood(&documents[document], place, &mut random);
            if !contexts.contains(&context) {
                contexts.push(context);
            }
        }
        if contexts.is_empty() {
            continue;
        }
        *taken += 1;
        let rest = named[end..].to_owned();
        let pronoun = if plural { "They" } else { "It" };
        let pronominal = format!("{pronoun}{rest}");
        candidates.push(Candidate { named: named.to_owned(), pronominal, plural, contexts, rest });
    }
    candidates
}

/// The sentence at a place; in a quarter of the cases the one after it, too, and in another quarter the
/// one before it, so that a mention is not always equally far back.
fn neighbourhood(document: &Document, place: usize, random: &mut Random) -> Vec<String> {
    let range = match random.below(4) {
        0 => place..place + 2,
        1 => place.saturating_sub(1)..place + 1,
        _ => place..place + 1,
    };
    let segments = document.segments.get(range).unwrap_or(&document.segments[place..=place]);
    if segments.iter().any(|segment| segment.source.len() > LONGEST) {
        return vec![document.segments[place].source.clone()];
    }
    segments.iter().map(|segment| segment.source.clone()).collect()
}

/// Up to `count` windows of `length` consecutive sentences from random places, without overlaps.
pub fn windows(documents: &[Document], count: usize, length: usize, seed: u64) -> Vec<Vec<String>> {
    let mut places: Vec<Place> = Vec::new();
    for (number, document) in documents.iter().enumerate() {
        let starts = (0..document.segments.len()).step_by(length.max(1));
        places.extend(starts.map(|start| (number, start)));
    }
    Random::keyed(&[seed, 1]).shuffle(&mut places);
    let window = |(number, start): Place| -> Vec<String> {
        let segments = documents[number].segments[start..].iter().take(length);
        segments
            .map(|segment| segment.source.clone())
            .filter(|source| !source.trim().is_empty())
            .collect()
    };
    places.into_iter().map(window).filter(|window| window.len() > 1).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;

    const SETTINGS: CandidateSettings =
        CandidateSettings { per_noun: 2, contexts: 3, plural: true, seed: 1 };

    fn documents() -> Vec<Document> {
        let document = |name: &str, sentences: &[&str]| {
            Document::new(name, sentences.iter().map(|&sentence| Segment::new(sentence)).collect())
        };
        vec![
            document(
                "a",
                &["I saw a house.", "The house was built in 1900.", "Nobody lives there."],
            ),
            document(
                "b",
                &["The house is old.", "The house has some doors.", "My doors are open."],
            ),
            document("c", &["The bridge is old.", "Nothing mentions what crosses the river."]),
        ]
    }

    #[test]
    fn the_noun_becomes_a_pronoun_after_a_mention() {
        let found = candidates(&documents(), &SETTINGS);
        // Two of the house, one of the doors; nothing else mentions the bridge.
        assert_eq!(found.len(), 3);
        for candidate in &found {
            let noun = if candidate.plural { "doors" } else { "house" };
            assert!((1..=3).contains(&candidate.contexts.len()));
            for context in &candidate.contexts {
                assert!(context.iter().any(|sentence| sentence.contains(noun)), "{context:?}");
                assert!(!context.contains(&candidate.named) || context.len() == 2, "{context:?}");
            }
        }
        let doors = found.iter().find(|candidate| candidate.plural).unwrap();
        assert_eq!((&*doors.named, &*doors.pronominal), ("My doors are open.", "They are open."));
        assert_eq!(doors.with_noun("houses"), "The houses are open.");
        let singular = CandidateSettings { plural: false, ..SETTINGS };
        assert!(candidates(&documents(), &singular).iter().all(|candidate| !candidate.plural));
    }

    #[test]
    fn the_same_seed_gives_the_same() {
        assert_eq!(candidates(&documents(), &SETTINGS), candidates(&documents(), &SETTINGS));
        assert_eq!(windows(&documents(), 9, 2, 1), windows(&documents(), 9, 2, 1));
    }

    #[test]
    fn windows_do_not_overlap() {
        let found = windows(&documents(), 9, 2, 1);
        assert_eq!(found.len(), 3, "single sentences are left out");
        let mut all: Vec<&String> = found.iter().flatten().collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
        assert_eq!(windows(&documents(), 1, 2, 1).len(), 1);
    }
}
