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
    pub fn new(strata: &[Vec<usize>], first: &[bool], second: &[bool]) -> Self {
        Self::from_draws(strata, first, &[second])
    }

    /// Compares one result with the mean of several draws on the same examples: `McNemar`'s test
    /// for one case and `k` matched controls (Miettinen, 1969), with the groups as strata.
    ///
    /// If the one result is like another draw, then of the `k + 1` results of an example, `s` of
    /// which are right, it is each with the same probability. So the example's difference from the
    /// mean of the others has the variance `(k + 1)² / k² · p (1 - p)` with `p = s / (k + 1)`, and
    /// the mean over `P` groups of `n` examples has the sum of these, divided by `n² P²`. (If `k`
    /// is 1, the variance is 1 where the two differ: a fair coin toss.) The difference is discrete,
    /// so half of its smallest step is subtracted before it is compared with the normal
    /// distribution (continuity correction).
    pub fn from_draws<D: AsRef<[bool]>>(
        strata: &[Vec<usize>],
        single: &[bool],
        draws: &[D],
    ) -> Self {
        let count = strata.len().max(1) as f64;
        let k = draws.len() as f64;
        let step = (k + 1.0) / k;
        let (mut difference, mut null, mut variance) = (0.0, 0.0, 0.0);
        let mut half_step = f64::INFINITY;
        for items in strata {
            let n = items.len().max(1) as f64;
            let (mut sum, mut squares) = (0.0, 0.0);
            for &item in items {
                let right = draws.iter().filter(|draw| draw.as_ref()[item]).count() as f64;
                let own = f64::from(u8::from(single[item]));
                let beyond = own - right / k;
                sum += beyond;
                squares += beyond * beyond;
                let p = (right + own) / (k + 1.0);
                null += step * step * p * (1.0 - p) / (n * n) / (count * count);
            }
            let mean = sum / n;
            difference += mean / count;
            half_step = half_step.min(step / 2.0 / n / count);
            variance += (squares / n - mean * mean) / n / (count * count);
        }
        let beyond_step = (difference.abs() - half_step).max(0.0);
        let p_value = if null > 0.0 { two_sided(beyond_step / null.sqrt()) } else { 1.0 };
        Self { difference, half_width: Z95 * variance.max(0.0).sqrt(), p_value }
    }

    /// The same test in the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { difference: -self.difference, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_model::random;

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

    /// 120 examples, each right with its own probability in all draws; the first result is better
    /// by `gain`.
    fn drawn(draws: usize, gain: f64) -> Vec<Vec<bool>> {
        let right = |draw: usize, item: u64| {
            let ease = random::uniform(random::key(&[7]), item);
            let bonus = if draw == 0 { gain } else { 0.0 };
            random::uniform(random::key(&[8, draw as u64]), item) < ease + bonus
        };
        (0..=draws).map(|draw| (0..120).map(|item| right(draw, item)).collect()).collect()
    }

    #[test]
    fn several_draws_are_tested_as_by_approximate_randomisation() {
        const SAMPLES: u64 = 20_000;
        let strata = [(0..80).collect::<Vec<usize>>(), (80..120).collect()];
        for gain in [0.0, 0.08, 0.15] {
            let results = drawn(3, gain);
            let found = MeanDifference::from_draws(&strata, &results[0], &results[1..]);
            // In every sample, any of the four results of an example is the single one.
            let beyond = |place: &dyn Fn(usize) -> usize| {
                let of_item = |&item: &usize| {
                    let sum = results.iter().filter(|result| result[item]).count() as f64;
                    let own = f64::from(u8::from(results[place(item)][item]));
                    own - (sum - own) / 3.0
                };
                let mean = |items: &Vec<usize>| {
                    items.iter().map(of_item).sum::<f64>() / items.len() as f64
                };
                strata.iter().map(mean).sum::<f64>() / 2.0
            };
            assert!((beyond(&|_| 0) - found.difference).abs() < 1e-12, "{found:?}");
            let as_large = (0..SAMPLES).filter(|&sample| {
                let key = random::key(&[9, sample]);
                let place = |item| (4.0 * random::uniform(key, item as u64)) as usize;
                beyond(&place).abs() >= found.difference.abs() - 1e-12
            });
            let p_value = (as_large.count() + 1) as f64 / (SAMPLES + 1) as f64;
            let error = 4.0 * (p_value * (1.0 - p_value) / SAMPLES as f64).sqrt();
            assert!((p_value - found.p_value).abs() < error + 0.01, "{p_value}, {found:?}");
        }
    }

    #[test]
    fn draws_that_differ_narrow_the_interval() {
        let results = drawn(6, 0.1);
        let strata = [(0..120).collect::<Vec<usize>>()];
        let one = MeanDifference::from_draws(&strata, &results[0], &results[1..2]);
        let six = MeanDifference::from_draws(&strata, &results[0], &results[1..]);
        assert!(six.half_width < one.half_width, "{one:?}, {six:?}");
        // The same draw six times says no more than once.
        let same = vec![results[1].clone(); 6];
        let same = MeanDifference::from_draws(&strata, &results[0], &same);
        assert!((same.half_width - one.half_width).abs() < 1e-12, "{one:?}, {same:?}");
    }
}
