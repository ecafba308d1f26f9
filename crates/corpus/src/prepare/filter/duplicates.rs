//! Detects repeated pairs in constant memory.

use abridge_base::random;
use serde::{Deserialize, Serialize};

use super::fold::{folded_words, hash};
use crate::Segment;

/// What counts as the same pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sameness {
    /// Both sides are the same, except for surrounding spaces.
    Exact,
    /// Both sides are the same, ignoring case, punctuation, spaces and digits.
    Near,
}

/// Bits per expected pair: after the last of them, one new pair in 3,000 is taken for a duplicate;
/// on average over all, one in 20,000.
const BITS_PER_PAIR: u64 = 20;
/// The smallest filter: 1 MiB.
const LEAST: u64 = 1 << 23;
/// The largest filter: 1 GiB, for up to 400 million pairs.
const MOST: u64 = 1 << 33;
/// Bits that each pair sets.
const HASHES: u64 = 6;

/// Remembers pairs in a Bloom filter: there are no false negatives.
#[derive(Debug)]
pub struct Duplicates {
    sameness: Sameness,
    bits: Vec<u64>,
    /// Pairs that were not seen before.
    different: u64,
}

impl Duplicates {
    /// An empty filter for about this many pairs.
    pub fn new(sameness: Sameness, pairs: u64) -> Self {
        Self { sameness, bits: vec![0; (bits_for(pairs) / 64) as usize], different: 0 }
    }

    /// About how many pairs were taken for duplicates though they had not occurred before.
    pub fn wrong(&self) -> usize {
        let bits = self.bits.len() as u64 * 64;
        // They are among the pairs that had not occurred before, of which only the others are counted.
        let more = |wrong: f64| expected_wrong(self.different as f64 + wrong, bits);
        (0..30).fold(0.0, |wrong, _| more(wrong)).round() as usize
    }

    /// Whether the pair was seen before; also records it.
    pub fn has_seen(&mut self, segment: &Segment) -> bool {
        let target = segment.target.as_deref();
        let first = match self.sameness {
            Sameness::Exact => hash((segment.source.trim(), target.map(str::trim))),
            Sameness::Near => hash((folded_words(&segment.source), target.map(folded_words))),
        };
        let bits = self.bits.len() as u64 * 64;
        let mut seen = true;
        for index in 0..HASHES {
            let bit = random::value(first, index) % bits;
            let word = &mut self.bits[(bit / 64) as usize];
            seen &= *word >> (bit % 64) & 1 == 1;
            *word |= 1 << (bit % 64);
        }
        self.different += u64::from(!seen);
        seen
    }
}

/// The size of a filter for about this many pairs: a power of two.
fn bits_for(pairs: u64) -> u64 {
    pairs.saturating_mul(BITS_PER_PAIR).clamp(LEAST, MOST).next_power_of_two()
}

/// The expected number of false positives while a filter of this many bits takes in different pairs.
///
/// After `n` pairs, a bit is set with the probability `1 - exp(-HASHES n / bits)`, and a new pair
/// meets as many set bits as there are hashes with that to the power of `HASHES`.
fn expected_wrong(pairs: f64, bits: u64) -> f64 {
    /// Enough for three digits of the integral.
    const STEPS: u32 = 1000;
    let rate = |n: f64| (-(-(HASHES as f64) * n / bits as f64).exp_m1()).powi(HASHES as i32);
    let width = pairs / f64::from(STEPS);
    (0..STEPS).map(|step| width * rate((f64::from(step) + 0.5) * width)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_duplicates_and_nothing_else() {
        let pair = |n: usize| Segment::pair(format!("Line {n} of it."), format!("Zeile {n}."));
        let mut exact = Duplicates::new(Sameness::Exact, 20_000);
        assert!((0..20_000).all(|n| !exact.has_seen(&pair(n))));
        assert!((0..20_000).all(|n| exact.has_seen(&pair(n))));
        assert!(!exact.has_seen(&Segment::pair("LINE 1 of it.", "Zeile 1.")));
        let mut near = Duplicates::new(Sameness::Near, 10);
        assert!(!near.has_seen(&pair(1)));
        assert!(near.has_seen(&Segment::pair("LINE 2 of it!", " zeile 7")));
        assert!(!near.has_seen(&Segment::pair("Line 1 of it.", "Spalte 1.")));
    }

    #[test]
    fn the_size_follows_the_expected_pairs() {
        assert_eq!(bits_for(0), LEAST);
        assert_eq!(bits_for(10_000_000), 1 << 28);
        assert_eq!(bits_for(100_000_000), 1 << 31);
        assert_eq!(bits_for(u64::MAX), MOST);
    }

    #[test]
    fn false_positives_are_counted_as_they_are_expected() {
        // The integral, computed in Python: 0.11 % of 100 million pairs in 128 MiB, 2.8 % of 220
        // million.
        let share = |pairs: u64, bits| expected_wrong(pairs as f64, bits) / pairs as f64;
        assert!((share(100_000_000, 1 << 30) - 0.0011).abs() < 5e-5);
        assert!((share(220_000_000, 1 << 30) - 0.028).abs() < 5e-4);
        // As large as the filter is made: at most one pair in 20,000.
        for pairs in [1_000_000, 10_000_000, 100_000_000, 220_000_000, 400_000_000] {
            assert!(share(pairs, bits_for(pairs)) < 1.0 / 20_000.0, "{pairs}");
        }
        // 2 million pairs in a filter that is too small for them.
        let mut small = Duplicates::new(Sameness::Exact, 1);
        let pair = |n: u32| Segment::pair(n.to_string(), String::new());
        let wrong = (0..2_000_000).filter(|&n| small.has_seen(&pair(n))).count();
        let expected = small.wrong();
        assert!(
            wrong > 1000 && wrong.abs_diff(expected) < 4 * expected.isqrt() + expected / 20,
            "{wrong}, {expected}"
        );
    }
}
