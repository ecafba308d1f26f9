//! A random permutation that is computed without storing it.

use abridge_base::random::{Random, mix};

/// Rounds of the network; four already pass common statistical tests.
const ROUNDS: usize = 6;

/// A permutation of `0..count` that is computed element by element: a Feistel network over the next
/// power of four, applied until the result is below `count` (fewer than four steps on average).
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation for a key.
    pub fn new(count: usize, key: &[u64]) -> Self {
        let bits = usize::BITS - count.saturating_sub(1).leading_zeros();
        let mut random = Random::keyed(key);
        Self {
            count: count as u64,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| random.below(usize::MAX) as u64),
        }
    }

    /// The element at an index.
    ///
    /// # Panics
    /// If the index is out of bounds.
    pub fn at(&self, place: usize) -> usize {
        let mut number = place as u64;
        assert!(number < self.count, "index {place} is out of bounds for {}", self.count);
        loop {
            number = self.encrypt(number);
            if number < self.count {
                return number as usize;
            }
        }
    }

    fn encrypt(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ mix(right ^ key) & mask);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn everything_stands_somewhere_once(count in 1usize..3000, seed in any::<u64>()) {
            let permutation = Permutation::new(count, &[seed]);
            let mut all: Vec<usize> = (0..count).map(|place| permutation.at(place)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn elements_are_uniformly_distributed() {
        let mut counts = [[0_u32; 5]; 5];
        for seed in 0..10_000 {
            let permutation = Permutation::new(5, &[seed]);
            for (place, counts) in counts.iter_mut().enumerate() {
                counts[permutation.at(place)] += 1;
            }
        }
        assert!(counts.iter().flatten().all(|&count| (1_800..2_200).contains(&count)));
    }
}
