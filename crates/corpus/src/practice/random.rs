//! Randomness that depends only on the seed and on the place where it is used.
//!
//! Each document has its own stream, keyed by seed, split and number, so that neither the number
//! of documents nor the order in which they are written changes any of them. The generator is
//! part of the format: with it, a seed means the same corpus in every later version.

/// The `SplitMix64` generator of Steele, Lea and Flood.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The stream of one place, which the numbers of `key` name from the outside in.
    pub fn keyed(key: &[u64]) -> Self {
        let mut random = Self { state: 0 };
        for &part in key {
            random.state ^= part;
            random.state = random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, each equally likely; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The high bits of a 128-bit product: its bias is below 2^-50 for the small bounds here.
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Whether something happens that happens `percent` times in a hundred.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the given, each equally likely; `None` when there are none.
    pub fn choose<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_gives_the_same_stream_and_another_key_another() {
        let draw = |key: &[u64]| {
            let mut random = Random::keyed(key);
            (0..8).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(&[1, 2, 3]), draw(&[1, 2, 3]));
        assert_ne!(draw(&[1, 2, 3]), draw(&[1, 3, 2]));
        assert_ne!(draw(&[0]), draw(&[0, 0]));
    }

    #[test]
    fn numbers_are_in_range_and_evenly_spread() {
        let mut random = Random::keyed(&[7]);
        let mut counts = [0usize; 5];
        for _ in 0..10_000 {
            counts[random.below(5)] += 1;
        }
        assert!(counts.iter().all(|&count| (1850..2150).contains(&count)), "{counts:?}");
        assert_eq!(random.choose::<u8>(&[]), None);
    }
}
