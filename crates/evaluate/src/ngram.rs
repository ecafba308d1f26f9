//! Counts of the n-grams that a hypothesis shares with its references.
//!
//! The n-grams of each order have integer names: the name of an n-gram is looked up by the name of
//! its first n − 1 tokens and its last token, so n-grams are compared without building them. Only
//! n-grams of the references get names; an n-gram of the hypothesis whose prefix is in no reference
//! cannot match and is not looked up.

use rustc_hash::{FxBuildHasher, FxHashMap};

/// The name of an n-gram that is in no reference.
const ABSENT: u32 = u32::MAX;

/// The counts of the references' n-grams of one order.
pub(crate) struct OrderCounts {
    /// Counts in the hypothesis, by name.
    pub(crate) hypothesis: Vec<u32>,
    /// Counts in each reference, by name.
    pub(crate) references: Vec<Vec<u32>>,
}

/// Walks through the orders 1, 2, 3 … of one segment.
pub(crate) struct NgramMatcher<'a> {
    order: usize,
    hypothesis: Sequence<'a>,
    references: Vec<Sequence<'a>>,
    names: FxHashMap<u64, u32>,
}

/// Tokens, and the names of the n-grams of the current order by start position.
struct Sequence<'a> {
    tokens: &'a [u32],
    names: Vec<u32>,
}

impl<'a> Sequence<'a> {
    fn new(tokens: &'a [u32]) -> Self {
        // The only n-gram of order 0 is the empty one, and it starts everywhere.
        Self { tokens, names: vec![0; tokens.len()] }
    }

    /// Updates the names to the n-grams of `order`.
    fn extend(&mut self, order: usize, mut name: impl FnMut(u64) -> u32) {
        self.names.truncate((self.tokens.len() + 1).saturating_sub(order));
        for (start, current) in self.names.iter_mut().enumerate() {
            if *current != ABSENT {
                let last = self.tokens[start + order - 1];
                *current = name(u64::from(*current) << 32 | u64::from(last));
            }
        }
    }

    fn counts(&self, names: usize) -> Vec<u32> {
        let mut counts = vec![0; names];
        for &name in self.names.iter().filter(|&&name| name != ABSENT) {
            counts[name as usize] += 1;
        }
        counts
    }
}

impl<'a> NgramMatcher<'a> {
    /// Starts before order 1.
    pub(crate) fn new(
        hypothesis: &'a [u32],
        references: impl IntoIterator<Item = &'a [u32]>,
    ) -> Self {
        let references: Vec<Sequence<'a>> = references.into_iter().map(Sequence::new).collect();
        // Capacity for all n-grams of an order, so that the table never grows.
        let room = references.iter().map(|reference| reference.tokens.len()).sum();
        Self {
            order: 0,
            hypothesis: Sequence::new(hypothesis),
            references,
            names: FxHashMap::with_capacity_and_hasher(room, FxBuildHasher),
        }
    }

    /// The counts of the next order.
    pub(crate) fn next_order(&mut self) -> OrderCounts {
        self.order += 1;
        self.names.clear();
        for reference in &mut self.references {
            reference.extend(self.order, |key| {
                let next = self.names.len() as u32;
                *self.names.entry(key).or_insert(next)
            });
        }
        self.hypothesis.extend(self.order, |key| self.names.get(&key).copied().unwrap_or(ABSENT));
        OrderCounts {
            hypothesis: self.hypothesis.counts(self.names.len()),
            references: self.references.iter().map(|r| r.counts(self.names.len())).collect(),
        }
    }
}

/// Assigns numbers to words.
#[derive(Default)]
pub(crate) struct WordNumbers<'a> {
    numbers: FxHashMap<&'a str, u32>,
}

impl<'a> WordNumbers<'a> {
    /// The numbers of the words, in order.
    pub(crate) fn number(&mut self, words: impl IntoIterator<Item = &'a str>) -> Vec<u32> {
        words
            .into_iter()
            .map(|word| {
                let next = self.numbers.len() as u32;
                *self.numbers.entry(word).or_insert(next)
            })
            .collect()
    }
}

/// How many n-grams of `order` a sequence of `length` tokens has.
pub(crate) fn ngram_total(length: usize, order: usize) -> usize {
    (length + 1).saturating_sub(order)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn counted(tokens: &[u32], order: usize) -> BTreeMap<Vec<u32>, u32> {
        let mut counts = BTreeMap::new();
        for window in tokens.windows(order) {
            *counts.entry(window.to_vec()).or_insert(0) += 1;
        }
        counts
    }

    proptest! {
        #[test]
        fn matches_equal_those_of_counted_windows(
            hypothesis in prop::collection::vec(0u32..4, 0..20),
            references in prop::collection::vec(prop::collection::vec(0u32..4, 0..20), 1..4),
        ) {
            let mut matcher =
                NgramMatcher::new(&hypothesis, references.iter().map(Vec::as_slice));
            for order in 1..7 {
                let counts = matcher.next_order();
                let expected = counted(&hypothesis, order);
                prop_assert_eq!(
                    ngram_total(hypothesis.len(), order) as u32, expected.values().sum::<u32>()
                );
                for (reference, found) in references.iter().zip(&counts.references) {
                    let there = counted(reference, order);
                    let matched: u32 = expected
                        .iter()
                        .map(|(ngram, &count)| count.min(there.get(ngram).copied().unwrap_or(0)))
                        .sum();
                    let ours: u32 = counts.hypothesis.iter().zip(found).map(|(h, r)| h.min(r)).sum();
                    prop_assert_eq!(ours, matched);
                }
            }
        }
    }
}
