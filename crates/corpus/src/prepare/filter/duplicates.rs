//! Detects repeated pairs in constant memory.

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

/// Bits of the filter: 128 MiB. The false positive rate is one in a billion with 10 million pairs,
/// and one in 10,000 with 100 million.
const BITS: u64 = 1 << 30;
/// Bits that each pair sets.
const HASHES: u64 = 6;

/// Remembers pairs in a Bloom filter: there are no false negatives.
#[derive(Debug)]
pub struct Duplicates {
    sameness: Sameness,
    bits: Vec<u64>,
}

impl Duplicates {
    /// An empty filter.
    pub fn new(sameness: Sameness) -> Self {
        Self { sameness, bits: vec![0; (BITS / 64) as usize] }
    }

    /// Whether the pair was seen before; also records it.
    pub fn has_seen(&mut self, segment: &Segment) -> bool {
        let target = segment.target.as_deref();
        let first = match self.sameness {
            Sameness::Exact => hash((segment.source.trim(), target.map(str::trim))),
            Sameness::Near => hash((folded_words(&segment.source), target.map(folded_words))),
        };
        let step = hash(first) | 1;
        let mut seen = true;
        for index in 0..HASHES {
            let bit = first.wrapping_add(index.wrapping_mul(step)) % BITS;
            let word = &mut self.bits[(bit / 64) as usize];
            seen &= *word >> (bit % 64) & 1 == 1;
            *word |= 1 << (bit % 64);
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_duplicates_and_nothing_else() {
        let pair = |n: usize| Segment::pair(format!("Line {n} of it."), format!("Zeile {n}."));
        let mut exact = Duplicates::new(Sameness::Exact);
        assert!((0..20_000).all(|n| !exact.has_seen(&pair(n))));
        assert!((0..20_000).all(|n| exact.has_seen(&pair(n))));
        assert!(!exact.has_seen(&Segment::pair("LINE 1 of it.", "Zeile 1.")));
        let mut near = Duplicates::new(Sameness::Near);
        assert!(!near.has_seen(&pair(1)));
        assert!(near.has_seen(&Segment::pair("LINE 2 of it!", " zeile 7")));
        assert!(!near.has_seen(&Segment::pair("Line 1 of it.", "Spalte 1.")));
    }
}
