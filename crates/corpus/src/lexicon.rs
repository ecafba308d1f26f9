//! Word translation probabilities, learned from sentence pairs alone.
//!
//! This is IBM model 1 (Brown et al., 1993). Every target word of a pair comes from one of its
//! source words, but it is unknown which one, so its count is shared among them in proportion to
//! the current table:
//!
//! `count(t | s) = sum over pairs of p(t | s) / sum over s' of p(t | s')`
//!
//! and the normalised counts are the next table.

use std::collections::HashSet;

use crate::store::{Side, TokenStore};
use crate::{Error, Result};

/// Rounds after the first, in which all words of a sentence are equally likely.
const ROUNDS: usize = 4;
/// Target words per source word that are kept after the first round.
const KEPT: usize = 400;

/// The target words of each source word, most probable first.
#[derive(Clone, Debug, PartialEq)]
pub struct Lexicon {
    entries: Vec<Vec<Entry>>,
}

/// A target word of a source word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The word.
    pub target: u32,
    /// Its probability.
    pub probability: f32,
}

impl Lexicon {
    /// Learns from all pairs; `done` is called after each round.
    pub fn learn(pairs: &TokenStore, done: &mut dyn FnMut(usize, usize)) -> Result<Self> {
        if !pairs.has_target() {
            return Err(Error::new("the split has no translations to learn from"));
        }
        let mut lexicon = Self::first_round(pairs);
        done(1, 1 + ROUNDS);
        for round in 0..ROUNDS {
            lexicon.round(pairs);
            done(2 + round, 1 + ROUNDS);
        }
        for entries in &mut lexicon.entries {
            entries.sort_by(|a, b| {
                b.probability.total_cmp(&a.probability).then(a.target.cmp(&b.target))
            });
        }
        Ok(lexicon)
    }

    /// The target words of a source word, most probable first; none for an unseen word.
    pub fn entries(&self, source: u32) -> &[Entry] {
        self.entries.get(source as usize).map_or(&[], Vec::as_slice)
    }

    /// The first round, in which all words of a sentence are equally likely. It goes word by word,
    /// so that only the sums of one word are in memory; the most likely are kept, in the order of
    /// the words.
    fn first_round(pairs: &TokenStore) -> Self {
        let mut sentences_of: Vec<Vec<u32>> = vec![Vec::new(); pairs.vocabulary_size(Side::Source)];
        let mut tokens = Vec::new();
        for sentence in 0..pairs.sentences() {
            load(pairs, Side::Source, sentence, &mut tokens);
            for &source in &tokens {
                let sentences = &mut sentences_of[source as usize];
                if sentences.last() != Some(&(sentence as u32)) {
                    sentences.push(sentence as u32);
                }
            }
        }
        let mut counts = vec![0.0f32; pairs.vocabulary_size(Side::Target)];
        let mut touched = HashSet::new();
        let entries = sentences_of.iter().map(|sentences| {
            for &sentence in sentences {
                let share = 1.0 / pairs.length(Side::Source, sentence as usize) as f32;
                load(pairs, Side::Target, sentence as usize, &mut tokens);
                for &target in &tokens {
                    counts[target as usize] += share;
                    touched.insert(target);
                }
            }
            let mut entries: Vec<Entry> = touched
                .drain()
                .map(|target| Entry {
                    target,
                    probability: std::mem::take(&mut counts[target as usize]),
                })
                .collect();
            entries.sort_by(|a, b| {
                b.probability.total_cmp(&a.probability).then(a.target.cmp(&b.target))
            });
            entries.truncate(KEPT);
            entries.sort_by_key(|entry| entry.target);
            normalise(&mut entries);
            entries
        });
        Self { entries: entries.collect() }
    }

    /// The next table; entries are in the order of the target words.
    fn round(&mut self, pairs: &TokenStore) {
        let mut counts: Vec<Vec<f32>> =
            self.entries.iter().map(|entries| vec![0.0; entries.len()]).collect();
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        let mut shares: Vec<(usize, usize, f32)> = Vec::new();
        for sentence in 0..pairs.sentences() {
            load(pairs, Side::Source, sentence, &mut sources);
            load(pairs, Side::Target, sentence, &mut targets);
            for &target in &targets {
                shares.clear();
                shares.extend(sources.iter().filter_map(|&source| {
                    let entries = &self.entries[source as usize];
                    let place = entries.binary_search_by_key(&target, |entry| entry.target).ok()?;
                    Some((source as usize, place, entries[place].probability))
                }));
                let sum: f32 = shares.iter().map(|(_, _, probability)| probability).sum();
                for &(source, place, probability) in &shares {
                    counts[source][place] += probability / sum;
                }
            }
        }
        for (entries, counts) in self.entries.iter_mut().zip(counts) {
            for (entry, count) in entries.iter_mut().zip(counts) {
                entry.probability = count;
            }
            normalise(entries);
        }
    }
}

fn load(pairs: &TokenStore, side: Side, sentence: usize, tokens: &mut Vec<u32>) {
    tokens.clear();
    pairs.append(side, sentence, tokens);
}

/// Normalises the probabilities to sum to one, and drops zeros.
fn normalise(entries: &mut Vec<Entry>) {
    let sum: f32 = entries.iter().map(|entry| entry.probability).sum();
    entries.retain(|entry| entry.probability > 1e-7 * sum);
    for entry in entries {
        entry.probability /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{EncodedSide, StoreContent};

    /// Sentences and their translations.
    fn store(source: &[&[u32]], target: &[&[u32]]) -> TokenStore {
        let side = |sentences: &[&[u32]]| {
            let mut side = EncodedSide { vocabulary_size: 10, ..EncodedSide::default() };
            for sentence in sentences {
                side.ids.extend_from_slice(sentence);
                side.ends.push(side.ids.len());
            }
            side
        };
        let content = StoreContent {
            documents: vec![("all".into(), source.len())],
            source: side(source),
            target: Some(side(target)),
        };
        TokenStore::from_bytes(content.to_bytes().unwrap()).unwrap()
    }

    #[test]
    fn cooccurring_words_are_disambiguated() {
        // "the house", "the book", "a book": Brown et al.'s example of how counts settle.
        let (the, house, book, a) = (5, 6, 7, 8);
        let (das, haus, buch, ein) = (5, 9, 6, 7);
        let pairs = store(
            &[&[the, house], &[the, book], &[a, book]],
            &[&[das, haus], &[das, buch], &[ein, buch]],
        );
        let mut rounds = Vec::new();
        let lexicon = Lexicon::learn(&pairs, &mut |round, of| rounds.push((round, of))).unwrap();
        for (source, target) in [(the, das), (house, haus), (book, buch), (a, ein)] {
            let best = lexicon.entries(source)[0];
            assert_eq!(best.target, target);
            assert!(best.probability > 0.6, "{best:?}");
            let sum: f32 = lexicon.entries(source).iter().map(|entry| entry.probability).sum();
            assert!((sum - 1.0).abs() < 1e-5);
        }
        assert_eq!(lexicon.entries(4), []);
        assert_eq!(lexicon.entries(1000), []);
        assert_eq!(rounds.last(), Some(&(5, 5)));
    }
}
