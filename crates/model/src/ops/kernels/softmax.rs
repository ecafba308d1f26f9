//! The exponential function, softmax and their relatives.

use super::{LANES, ROUND, halved, sum_of};

/// `exp(x)` to within two units in the last place, in operations that vectorise.
///
/// `x = n ln 2 + r` with an integer `n` and `|r| <= ln 2 / 2`; a polynomial of degree six gives
/// `exp(r)`, and `n` is added to the exponent. Below -87 the result is the smallest normal number.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // ln 2 in two parts, the first with few bits, so that `n * HIGH` is exact.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * HIGH) - n * LOW;
    // Taylor coefficients, slightly adjusted to spread the error over the interval.
    let mut p = 1.987_569_1e-4;
    p = p * r + 1.398_2e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_6e-1;
    p = p * r + 0.5;
    let y = p * r * r + r + 1.0;
    // The last bits of the shifted number are `n`; the others are shifted out.
    f32::from_bits(y.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// The largest value, or negative infinity if there is none.
#[inline(always)]
pub fn maximum(values: &[f32]) -> f32 {
    maximum_of(
        values,
        #[inline(always)]
        |value| value,
    )
}

/// The largest `f` of a value, or negative infinity if there is none.
#[inline(always)]
pub fn maximum_of(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut largest = [f32::NEG_INFINITY; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (largest, &value) in largest.iter_mut().zip(chunk) {
            *largest = larger(*largest, f(value));
        }
    }
    let rest = rest.iter().copied().map(f).fold(f32::NEG_INFINITY, larger);
    larger(halved(largest, larger), rest)
}

/// Turns scores into weights that add up to one, in place.
#[inline(always)]
pub fn softmax(scores: &mut [f32]) {
    let largest = maximum(scores);
    for score in scores.iter_mut() {
        *score = exp(*score - largest);
    }
    let scale = 1.0 / sum_of(scores, |weight| weight);
    for weight in scores.iter_mut() {
        *weight *= scale;
    }
}

/// [`softmax`] of the first `count` scores, which end within the last group of lanes; values beyond
/// them must not exceed their maximum, and become zero. There is no scalar loop over a remainder,
/// which with some tens of scores would take most of the time.
#[inline(always)]
pub fn softmax_in_lanes(scores: &mut [[f32; LANES]], count: usize) {
    /// A window of this has ones for valid lanes and zeros for those beyond.
    const COUNTS: [f32; 2 * LANES] = {
        let mut counts = [0.0; 2 * LANES];
        let mut lane = 0;
        while lane < LANES {
            counts[lane] = 1.0;
            lane += 1;
        }
        counts
    };
    let Some(last) = scores.len().checked_sub(1) else { return };
    let beyond = scores.len() * LANES - count;
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut largest = [f32::NEG_INFINITY; LANES];
    for scores in &*scores {
        for (largest, &score) in largest.iter_mut().zip(scores) {
            *largest = larger(*largest, score);
        }
    }
    let largest = halved(largest, larger);
    for scores in &mut *scores {
        for score in scores {
            *score = exp(*score - largest);
        }
    }
    for (weight, counts) in scores[last].iter_mut().zip(&COUNTS[beyond..][..LANES]) {
        *weight *= counts;
    }
    let mut sums = [0.0; LANES];
    for weights in &*scores {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += weight;
        }
    }
    let scale = 1.0 / halved(sums, |a, b| a + b);
    for weights in scores {
        for weight in weights {
            *weight *= scale;
        }
    }
}

/// The logarithm of the sum of the exponentials.
#[inline(always)]
pub fn log_sum_exp(scores: &[f32]) -> f32 {
    let largest = maximum(scores);
    largest + sum_of(scores, |score| exp(score - largest)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_close_everywhere() {
        for i in -8700..=8800 {
            let x = i as f32 / 100.0;
            let (ours, theirs) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / theirs - 1.0).abs() < 3e-7, "exp({x}): {ours} for {theirs}");
        }
        assert!(exp(-1e9) < 1e-37);
    }

    #[test]
    fn weights_add_up_to_one() {
        for length in [1usize, 7, 16, 33] {
            let mut scores: Vec<f32> = (0..length).map(|i| (i * 37 % 11) as f32 - 5.0).collect();
            let mut padded = scores.clone();
            padded.resize(length.next_multiple_of(LANES), scores[length - 1]);
            let sum: f64 = scores.iter().map(|&score| f64::from(score).exp()).sum();
            assert!((f64::from(log_sum_exp(&scores)) - sum.ln()).abs() < 1e-5);
            softmax(&mut scores);
            softmax_in_lanes(padded.as_chunks_mut().0, length);
            assert_eq!(padded[..length], scores);
            assert!(padded[length..].iter().all(|&weight| weight == 0.0));
            assert!((scores.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
    }
}
