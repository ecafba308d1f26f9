//! Counter-based random numbers: a number depends only on its key and its position.
//!
//! A generator with state would make results depend on the order of calls, and so on threads,
//! on batches and on where a run was interrupted. Here the value at position `i` of stream `key` is
//! a hash of both, so it can be computed anywhere, at any time, in any order.
//!
//! Where numbers are drawn one after the other, [`Random`] walks its own stream, keyed for
//! instance by seed, split and document. All of this is part of the format: a seed means the same
//! corpus, the same batches and the same run in every later version.

/// The step of the counters: 2^64 divided by the golden ratio, made odd.
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// A well-mixed 64-bit value: that of the stream `key` at position `counter`.
///
/// The counter walks the stream in steps of the golden ratio, and two rounds of multiply and
/// xor-shift spread each bit over all others (the `SplitMix64` construction).
#[inline]
pub fn value(key: u64, counter: u64) -> u64 {
    mix(key.wrapping_add(counter.wrapping_add(1).wrapping_mul(GOLDEN_RATIO)))
}

/// Spreads every bit over all others: the finaliser of `SplitMix64`.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A well-mixed 32-bit value: that of the stream `key` at position `counter`.
///
/// Like [`value`], but with 32-bit operations only, for vectorised loops: eight at a time on
/// processors without a 64-bit vector multiplication.
#[inline(always)]
pub fn short_value(key: u64, counter: u32) -> u32 {
    let mut z = counter.wrapping_mul(0x9E37_79B9) ^ key as u32;
    z = (z ^ (z >> 16)).wrapping_mul(0x7FEB_352D) ^ (key >> 32) as u32;
    z = (z ^ (z >> 15)).wrapping_mul(0x846C_A68B);
    z ^ (z >> 16)
}

/// The key of a sub-stream: the same parts always give the same key.
pub fn key(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |key, &part| value(key, part))
}

/// A value in `[0, 1)` with 53 random bits.
#[inline]
pub fn uniform(key: u64, counter: u64) -> f64 {
    (value(key, counter) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A value of the standard normal distribution (Box-Muller).
pub fn normal(key: u64, counter: u64) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(key, 2 * counter)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(key, 2 * counter + 1)).cos()
}

/// A stream of numbers that depends only on its key (the `SplitMix64` generator).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of a key whose parts go from the outermost to the innermost scope.
    pub fn keyed(key: &[u64]) -> Self {
        Self { state: key.iter().fold(0, |state, &part| value(state ^ part, 0)) }
    }

    fn next(&mut self) -> u64 {
        let next = value(self.state, 0);
        self.state = self.state.wrapping_add(GOLDEN_RATIO);
        next
    }

    /// A uniformly distributed number below `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The high half of a 128-bit product; its bias is below 2⁻³² for any corpus.
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// True with a probability of `percent` / 100.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items, each equally likely; `None` if there are none.
    pub fn choose<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// Shuffles the items.
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
    fn moments_match_the_distributions() {
        let n = 200_000;
        let mean = |f: &dyn Fn(u64) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
        let key = key(&[1, 2]);
        assert!((mean(&|i| uniform(key, i)) - 0.5).abs() < 2e-3);
        assert!((mean(&|i| uniform(key, i).powi(2)) - 1.0 / 3.0).abs() < 2e-3);
        assert!(mean(&|i| normal(key, i)).abs() < 1e-2);
        assert!((mean(&|i| normal(key, i).powi(2)) - 1.0).abs() < 2e-2);
    }

    #[test]
    fn keys_differ_by_every_part_and_by_order() {
        let keys = [key(&[1, 2]), key(&[2, 1]), key(&[1, 2, 0]), key(&[1]), key(&[1, 3])];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b));
        }
    }

    #[test]
    fn a_key_determines_its_stream() {
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
    fn shuffling_is_uniform() {
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

    #[test]
    fn streams_are_the_same_in_every_version() {
        assert_eq!([value(1, 0), value(1, 1)], [0x910A_2DEC_8902_5CC1, 0xBEEB_8DA1_658E_EC67]);
        let mut random = Random::keyed(&[1, 2, 3]);
        assert_eq!([random.next(), random.next()], [0x1258_8D80_9DCE_88A7, 0xDD03_4EA7_D44E_8739]);
    }
}
