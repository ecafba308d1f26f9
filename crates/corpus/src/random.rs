//! Randomness that depends only on a key: the same on every machine, whatever ran before.
//!
//! Each place has its own stream, keyed for instance by seed, split and document, so that neither
//! the number of documents nor the order in which they are made changes any of them. The generator
//! is part of the format: with it, a seed means the same corpus in every later version.

/// The `SplitMix64` generator of Steele, Lea and Flood.
#[derive(Clone, Debug)]
pub(crate) struct Random {
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
        // The high half of a 128-bit product; its bias is below 2⁻³² for any corpus.
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

    /// Puts the items into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
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

    #[test]
    fn every_place_is_reached_about_equally_often() {
        let mut counts = [[0_u32; 5]; 5];
        let mut random = Random::keyed(&[7]);
        for _ in 0..10_000 {
            let mut items = [0, 1, 2, 3, 4];
            random.shuffle(&mut items);
            for (place, &item) in items.iter().enumerate() {
                counts[item][place] += 1;
            }
        }
        assert!(counts.iter().flatten().all(|&count| (1_800..2_200).contains(&count)));
    }
}
