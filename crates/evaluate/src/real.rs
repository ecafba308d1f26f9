//! Scores in double precision for a corpus and in single precision for its resamples.
//!
//! sacreBLEU keeps the statistics of resamples in single precision, and `NumPy` 2 then computes in
//! single precision, too. To get the same p-values, the formulas of the metrics are generic over
//! this trait.

use std::ops::{Add, Div, Mul, Sub};

/// `f32` or `f64`.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// The nearest number of this precision.
    fn of(value: f64) -> Self;
    /// The same number in double precision.
    fn wide(self) -> f64;
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }
    fn wide(self) -> f64 {
        self
    }
}

/// The mean, summed pairwise in blocks as in `NumPy`, so that the last bits agree.
pub(crate) fn mean<T: Real>(values: &[T]) -> T {
    pairwise_sum(values) / T::of(values.len() as f64)
}

fn pairwise_sum<T: Real>(values: &[T]) -> T {
    const LANES: usize = 8;
    const BLOCK: usize = 128;
    if values.len() < LANES {
        return values.iter().fold(T::of(0.0), |sum, &value| sum + value);
    }
    if values.len() > BLOCK {
        let half = values.len() / 2;
        let (left, right) = values.split_at(half - half % LANES);
        return pairwise_sum(left) + pairwise_sum(right);
    }
    let mut lanes = [T::of(0.0); LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = *lane + value;
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    rest.iter().fold(sum, |sum, &value| sum + value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairwise_sums_are_exact_for_integers_of_any_count() {
        for count in [0usize, 1, 7, 8, 9, 127, 128, 129, 1000, 1003] {
            let values: Vec<f64> = (0..count).map(|value| value as f64).collect();
            let expected = (count * count.saturating_sub(1) / 2) as f64;
            assert_eq!(pairwise_sum(&values).to_bits(), expected.to_bits(), "{count} values");
        }
    }
}
