//! Makes a contrastive set from documents.

use abridge_base::random::Random;

use super::seen::SeenSentences;
use super::table::SwapTable;

use crate::{ContrastiveItem, ContrastiveSet, Document};

/// Settings for a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MakeSettings {
    /// The smallest number of sentences before an example.
    pub least_context: usize,
    /// The largest number of context sentences that are kept.
    pub most_context: usize,
    /// The largest number of examples per word; all by default.
    pub per_word: Option<usize>,
    /// The seed for choosing examples if there are more.
    pub seed: u64,
}

/// A set and how it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// The set.
    pub set: ContrastiveSet,
    /// Examples that were found per word, before they were balanced.
    pub found: Vec<(String, usize)>,
    /// The documents that are part of the training data; nothing is taken from them.
    pub refused: Vec<String>,
    /// Sentences of other documents that are in the training data, and were left out.
    pub seen_sentences: usize,
}

/// Makes a set from documents with translations. The words of a swap are equally frequent in it.
pub fn make(
    documents: &[Document],
    table: &SwapTable,
    seen: &SeenSentences,
    settings: &MakeSettings,
) -> Made {
    let mut made = Made::default();
    // The examples of each swap and each of its words.
    let mut found: Vec<Vec<Vec<ContrastiveItem>>> =
        table.swap.iter().map(|swap| vec![Vec::new(); swap.words.len()]).collect();
    for document in documents {
        if seen.has(document) {
            made.refused.push(document.id.clone());
            continue;
        }
        for place in settings.least_context..document.segments.len() {
            if let Some((swap, word, item)) = example(document, place, table, settings) {
                if seen.has_sentence(&item.source) {
                    made.seen_sentences += 1;
                } else {
                    found[swap][word].push(item);
                }
            }
        }
    }
    for (swap, by_word) in table.swap.iter().zip(found) {
        made.found.extend(swap.words.iter().cloned().zip(by_word.iter().map(Vec::len)));
        let fewest = by_word.iter().map(Vec::len).min().unwrap_or(0);
        let count = settings.per_word.map_or(fewest, |most| most.min(fewest));
        for (word, mut items) in by_word.into_iter().enumerate() {
            let mut random = Random::keyed(&[settings.seed, word as u64]);
            random.shuffle(&mut items);
            items.truncate(count);
            made.set.items.append(&mut items);
        }
    }
    // In the order of the text.
    let order: std::collections::BTreeMap<&str, usize> = documents
        .iter()
        .enumerate()
        .map(|(place, document)| (document.id.as_str(), place))
        .collect();
    made.set.items.sort_by_key(|item| {
        (item.document.as_deref().and_then(|id| order.get(id)).copied(), item.segment)
    });
    for (number, item) in made.set.items.iter_mut().enumerate() {
        item.id = number.to_string();
    }
    made
}

/// The example at a position in a document, with its swap and word.
fn example(
    document: &Document,
    place: usize,
    table: &SwapTable,
    settings: &MakeSettings,
) -> Option<(usize, usize, ContrastiveItem)> {
    let segment = &document.segments[place];
    let target = segment.target.as_deref()?;
    let (number, swap, found) = table.swap.iter().enumerate().find_map(|(number, swap)| {
        swap.find(&segment.source, target).map(|found| (number, swap, found))
    })?;
    let before = &document.segments[place.saturating_sub(settings.most_context)..place];
    let mut candidates = vec![target.to_owned()];
    candidates.extend(swap.swapped(target, &found));
    let others = swap.words.iter().enumerate().filter(|(word, _)| *word != found.word);
    let item = ContrastiveItem {
        source: segment.source.clone(),
        context: before.iter().map(|segment| segment.source.clone()).collect(),
        target_context: before.iter().map(|s| s.target.clone().unwrap_or_default()).collect(),
        candidates,
        pronoun: Some(swap.words[found.word].clone()),
        replacements: others.map(|(_, word)| word.clone()).collect(),
        source_pronoun: Some(found.source),
        document: Some(document.id.clone()),
        segment: Some(place),
        ..ContrastiveItem::default()
    };
    Some((number, found.word, item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;

    const SETTINGS: MakeSettings =
        MakeSettings { least_context: 1, most_context: 2, per_word: None, seed: 1 };

    fn documents() -> Vec<Document> {
        let document = |name: &str, pronouns: &[&str]| {
            let mut segments = vec![Segment::pair("It opens here today.", "Es öffnet heute hier.")];
            segments.extend(pronouns.iter().enumerate().map(|(n, pronoun)| {
                let target = format!("{pronoun} leuchtet in Stadt {name}{n}.");
                Segment::pair(format!("It shines in town {name}{n} every day."), target)
            }));
            Document::new(name, segments)
        };
        vec![document("a", &["Er", "Sie", "Es", "Er"]), document("b", &["Es", "Es", "Sie", "Er"])]
    }

    fn made(seen: &SeenSentences, settings: &MakeSettings) -> Made {
        make(&documents(), &SwapTable::built_in("de").unwrap(), seen, settings)
    }

    #[test]
    fn the_words_are_balanced_and_keep_their_context() {
        let made = made(&SeenSentences::default(), &SETTINGS);
        let count = |word: &str| {
            made.set.items.iter().filter(|item| item.pronoun.as_deref() == Some(word)).count()
        };
        assert_eq!([count("er"), count("sie"), count("es")], [2, 2, 2]);
        let found: Vec<_> = made.found.iter().map(|(word, n)| (word.as_str(), *n)).collect();
        // The first sentence of each document has no context.
        assert_eq!(found, [("er", 3), ("sie", 2), ("es", 3)]);
        for item in &made.set.items {
            assert!(!item.context.is_empty() && item.context.len() <= 2);
            assert_eq!(item.context.len(), item.target_context.len());
            assert_eq!(item.candidates.len(), 3);
            let place = item.segment.unwrap();
            let document = documents().into_iter().find(|d| Some(&d.id) == item.document.as_ref());
            assert_eq!(document.unwrap().segments[place].source, item.source);
        }
        assert_eq!(made.set.items[0].id, "0");
        let fewer = MakeSettings { per_word: Some(1), ..SETTINGS };
        assert_eq!(super::tests::made(&SeenSentences::default(), &fewer).set.items.len(), 3);
    }

    #[test]
    fn documents_of_the_training_data_are_left_out() {
        let mut seen = SeenSentences::of(&documents());
        seen.mark(&documents()[..1]);
        let made = made(&seen, &SETTINGS);
        assert_eq!(made.refused, ["a"]);
        assert!(made.set.items.iter().all(|item| item.document.as_deref() == Some("b")));
    }
}
