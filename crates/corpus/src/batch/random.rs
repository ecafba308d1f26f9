//! Randomness from counters: the same for a seed on every machine, whatever ran before.

/// A stream of numbers that depends on nothing but its key.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream for a key, such as seed and epoch.
    pub fn new(key: &[u64]) -> Self {
        let mut random = Self { state: 0 };
        for &part in key {
            random.state ^= part;
            random.state = random.next();
        }
        random
    }

    /// The next 64 bits, by the `SplitMix64` step.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 up to but without `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        // The high half of a 128-bit product; its bias is below 2⁻³² for any corpus.
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
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
    fn keys_give_different_but_fixed_streams() {
        let draw = |key: &[u64]| {
            let mut random = Random::new(key);
            (0..8).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(&[42, 1]), draw(&[42, 1]));
        assert_ne!(draw(&[42, 1]), draw(&[42, 2]));
        assert_ne!(draw(&[42, 1]), draw(&[1, 42]));
    }

    #[test]
    fn every_place_is_reached_about_equally_often() {
        let mut counts = [[0_u32; 5]; 5];
        let mut random = Random::new(&[7]);
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
