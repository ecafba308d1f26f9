//! Randomness from counters: a number depends on its key and its place, on nothing else.
//!
//! A generator with a state would make results depend on the order of calls, and so on threads,
//! on batches and on where a run was interrupted. Here the value at place `i` of stream `key` is a
//! hash of both, so it can be computed anywhere, at any time, in any order.

/// A well-mixed 64-bit value of the stream `key` at place `counter`.
///
/// The counter walks the stream in steps of the golden ratio, and two rounds of multiply and
/// xor-shift spread each bit over all others (the `SplitMix64` construction).
pub fn value(key: u64, counter: u64) -> u64 {
    let mut z = key.wrapping_add(counter.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A well-mixed 32-bit value of the stream `key` at place `counter`.
///
/// As [`value`], of 32-bit steps only, for loops that fill vectors: eight at a time on processors
/// that cannot multiply 64-bit numbers side by side.
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
pub fn uniform(key: u64, counter: u64) -> f64 {
    (value(key, counter) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A value of the standard normal distribution (Box-Muller).
pub fn normal(key: u64, counter: u64) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(key, 2 * counter)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(key, 2 * counter + 1)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_distributions() {
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
}
