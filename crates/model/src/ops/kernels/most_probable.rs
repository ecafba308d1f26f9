//! The most probable words of a row of logits, and the sum that turns logits into probabilities.
//!
//! Logits come in tiles and are examined once, while they are still in the cache: a row of a whole
//! vocabulary never has to exist.

use super::softmax::{exp, maximum};
use super::{sum_of, vectorised};

/// Which words a search asks for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// How many.
    pub count: usize,
    /// Never these.
    pub forbidden: &'a [u32],
    /// Only this one, even if it is forbidden.
    pub only: Option<u32>,
}

/// Which words the logits of a tile belong to.
#[derive(Clone, Copy, Debug)]
pub enum Words<'a> {
    /// Consecutive words, from this one on.
    From(usize),
    /// These words, in ascending order.
    Listed(&'a [u32]),
}

impl Words<'_> {
    fn at(self, place: usize) -> u32 {
        match self {
            Self::From(first) => (first + place) as u32,
            Self::Listed(words) => words[place],
        }
    }

    /// Where the logit of a word would be.
    fn place_of(self, word: u32) -> Option<usize> {
        match self {
            Self::From(first) => (word as usize).checked_sub(first),
            Self::Listed(words) => words.binary_search(&word).ok(),
        }
    }
}

/// What was found in a row.
#[derive(Clone, Debug)]
pub struct MostProbable {
    /// The largest logit so far.
    largest: f32,
    /// The sum of `exp(logit - largest)`. In single precision the sum of a whole vocabulary would
    /// lose the fifth digit.
    sum: f64,
    /// Words and their logits.
    best: Vec<(u32, f32)>,
    /// Only a logit above this can be among the best.
    threshold: f32,
}

/// Logits that are skipped together if none of them is large enough.
const CHUNK: usize = 128;

impl Default for MostProbable {
    fn default() -> Self {
        Self {
            largest: f32::NEG_INFINITY,
            sum: 0.0,
            best: Vec::new(),
            threshold: f32::NEG_INFINITY,
        }
    }
}

impl MostProbable {
    /// What is found in a whole row.
    pub fn of_row(logits: &[f32], wanted: &Wanted<'_>) -> Self {
        let mut found = Self::default();
        vectorised(
            #[inline(always)]
            || {
                for (stretch, logits) in logits.chunks(super::packed_product::TILE).enumerate() {
                    let first = stretch * super::packed_product::TILE;
                    found.look(Words::From(first), logits, wanted);
                }
            },
        );
        found.finish(wanted);
        found
    }

    /// What is found in a whole row among the words of a list, in ascending order.
    pub fn of_listed(logits: &[f32], words: &[u32], wanted: &Wanted<'_>) -> Self {
        let listed: Vec<f32> = words.iter().map(|&word| logits[word as usize]).collect();
        let mut found = Self::default();
        vectorised(
            #[inline(always)]
            || found.look(Words::Listed(words), &listed, wanted),
        );
        found.finish(wanted);
        found
    }

    /// The logarithm of the sum of the exponentials of all logits, including forbidden words.
    pub fn total(&self) -> f32 {
        self.largest + self.sum.ln() as f32
    }

    /// Words and their logits, the most probable first; of equal ones the smaller word.
    pub fn best(&self) -> &[(u32, f32)] {
        &self.best
    }

    /// Begins another row.
    pub fn clear(&mut self) {
        let mut best = std::mem::take(&mut self.best);
        best.clear();
        *self = Self { best, ..Self::default() };
    }

    /// Examines the logits of some words.
    #[inline(always)]
    pub fn look(&mut self, words: Words<'_>, logits: &[f32], wanted: &Wanted<'_>) {
        let largest = maximum(logits);
        if largest > self.largest {
            self.sum *= f64::from(exp(self.largest - largest));
            self.largest = largest;
        }
        if self.largest > f32::NEG_INFINITY {
            let largest = self.largest;
            self.sum += f64::from(sum_of(
                logits,
                #[inline(always)]
                |logit| exp(logit - largest),
            ));
        }
        match wanted.only {
            Some(word) => {
                let logit = words.place_of(word).and_then(|place| logits.get(place));
                self.best.extend(logit.map(|&logit| (word, logit)));
            }
            None if largest > self.threshold => {
                for (place, chunk) in logits.chunks(CHUNK).enumerate() {
                    if maximum(chunk) > self.threshold {
                        self.choose(words, place * CHUNK, chunk, wanted);
                    }
                }
            }
            None => {}
        }
    }

    #[inline(never)]
    fn choose(&mut self, words: Words<'_>, first: usize, logits: &[f32], wanted: &Wanted<'_>) {
        for (place, &logit) in (first..).zip(logits) {
            if logit <= self.threshold {
                continue;
            }
            let word = words.at(place);
            if !wanted.forbidden.contains(&word) {
                self.best.push((word, logit));
                if self.best.len() >= 2 * wanted.count {
                    self.finish(wanted);
                }
            }
        }
    }

    /// Sorts and truncates.
    pub fn finish(&mut self, wanted: &Wanted<'_>) {
        self.best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        self.best.truncate(wanted.count);
        if self.best.len() == wanted.count {
            self.threshold = self.best.last().map_or(f32::INFINITY, |last| last.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_sorting_all(length in 1usize..2000, count in 1usize..12, seed: u64, spread in 1u64..50) {
            // Few distinct values: many are equal.
            let value = |i: u64| (random::value(seed, i) % (7 * spread)) as f32 / 9.0 - 3.0;
            let logits: Vec<f32> = (0..length as u64).map(value).collect();
            let forbidden = [1, (length / 2) as u32];
            let found =
                MostProbable::of_row(&logits, &Wanted { count, forbidden: &forbidden, only: None });
            let mut all: Vec<(u32, f32)> = (0..).zip(logits.iter().copied()).collect();
            all.retain(|(word, _)| !forbidden.contains(word));
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.truncate(count);
            prop_assert_eq!(found.best(), all);
            let sum: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
            prop_assert!((f64::from(found.total()) - sum.ln()).abs() < 2e-6 * (1.0 + sum.ln().abs()));

            // Every third word alone, as if the others were forbidden.
            let listed: Vec<u32> = (0..length as u32).step_by(3).collect();
            let logits: Vec<f32> = listed.iter().map(|&word| logits[word as usize]).collect();
            let wanted = Wanted { count, forbidden: &forbidden, only: None };
            let mut found = MostProbable::default();
            found.look(Words::Listed(&listed), &logits, &wanted);
            found.finish(&wanted);
            all = listed.into_iter().zip(logits).collect();
            all.retain(|(word, _)| !forbidden.contains(word));
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.truncate(count);
            prop_assert_eq!(found.best(), all);
        }
    }

    #[test]
    fn one_word_alone() {
        let logits: Vec<f32> = (0..1500).map(|i| i as f32 / 100.0).collect();
        for word in [0, 511, 512, 1499] {
            let wanted = Wanted { count: 5, forbidden: &[word], only: Some(word) };
            let found = MostProbable::of_row(&logits, &wanted);
            assert_eq!(found.best(), [(word, logits[word as usize])]);
        }
    }

    #[test]
    fn never_chooses_the_impossible() {
        let logits = [f32::NEG_INFINITY, -1.0, f32::NEG_INFINITY];
        let wanted = Wanted { count: 3, forbidden: &[], only: None };
        let mut found = MostProbable::of_row(&logits, &wanted);
        assert_eq!(found.best(), [(1, -1.0)]);
        assert!((found.total() + 1.0).abs() < 1e-6);
        found.clear();
        assert_eq!(found.best(), []);
    }
}
