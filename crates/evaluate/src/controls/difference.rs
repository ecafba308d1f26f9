//! A paired test of two results on the same examples, with equal weights for all groups.

use serde::Serialize;

use crate::normal::{Z95, two_sided};

/// The difference between two results on the same items, and its significance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanDifference {
    /// The first mean over groups minus the second.
    pub difference: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
    /// The probability of a difference at least as large by chance (two-sided).
    pub p_value: f64,
}

impl MeanDifference {
    /// Compares which examples two systems get right, group by group: `McNemar`'s test with the
    /// groups as strata.
    ///
    /// If both are equally good, each of the `b + c` examples of a group on which they differ is a
    /// fair coin toss, so the difference has the variance `Σ (b + c) / n² / P²` over `P` groups of
    /// `n` examples each. The difference is discrete, so half of its smallest step is subtracted
    /// before it is compared with the normal distribution (continuity correction).
    pub fn new(strata: &[Vec<usize>], first: &[bool], second: &[bool]) -> Self {
        let count = strata.len().max(1) as f64;
        let (mut difference, mut null, mut variance) = (0.0, 0.0, 0.0);
        let mut half_step = f64::INFINITY;
        for items in strata {
            let n = items.len().max(1) as f64;
            let (mut only_first, mut only_second) = (0.0, 0.0);
            for &item in items {
                match (first[item], second[item]) {
                    (true, false) => only_first += 1.0,
                    (false, true) => only_second += 1.0,
                    _ => {}
                }
            }
            let mean = (only_first - only_second) / n;
            difference += mean / count;
            null += (only_first + only_second) / (n * n) / (count * count);
            half_step = half_step.min(1.0 / n / count);
            variance += ((only_first + only_second) / n - mean * mean) / n / (count * count);
        }
        let beyond_step = (difference.abs() - half_step).max(0.0);
        let p_value = if null > 0.0 { two_sided(beyond_step / null.sqrt()) } else { 1.0 };
        Self { difference, half_width: Z95 * variance.max(0.0).sqrt(), p_value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_for_the_frequent_pronoun_gains_nothing() {
        // The first always chooses `es`, the second `er`: 80 % and 20 % right, but equally good.
        let strata = [(0..80).collect(), (80..100).collect()];
        let first: Vec<bool> = (0..100).map(|i| i < 80).collect();
        let second: Vec<bool> = first.iter().map(|right| !right).collect();
        let found = MeanDifference::new(&strata, &first, &second);
        assert!(found.difference.abs() < 1e-12, "{found:?}");
        assert!((found.p_value - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn one_stratum_is_mcnemars_test() {
        // 30 against 10: z = 19 / √40, statsmodels mcnemar(exact=False, correction=True).
        let first: Vec<bool> = (0..100).map(|i| i < 30).collect();
        let second: Vec<bool> = (0..100).map(|i| i >= 90).collect();
        let found = MeanDifference::new(&[(0..100).collect()], &first, &second);
        assert!((found.difference - 0.2).abs() < 1e-12);
        assert!((found.p_value - 0.002_663_119_259_138_559_4).abs() < 1e-12, "{found:?}");
    }
}
