//! Compares two models on the same set by the items that only one of them gets right.

use abridge_corpus::ContrastiveSet;
use serde::Serialize;

use super::mean::strata;
use super::report::{Accuracy, classes, is_preferred};
use crate::controls::MeanDifference;
use crate::holm::holm;

/// Two models compared, in total, by distance and by pronoun.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContrastiveComparison {
    /// All items, then by distance, then by pronoun.
    pub rows: Vec<ComparisonRow>,
    /// The difference of the means over pronouns.
    pub mean: MeanDifference,
    /// Its p-value, corrected for the number of tests: the rows and this one.
    pub mean_holm: f64,
}

/// Two models on some of the items.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// Which items.
    pub name: String,
    /// The accuracy of the first model.
    pub first: Accuracy,
    /// The accuracy of the second model.
    pub second: Accuracy,
    /// The test of their difference.
    pub mcnemar: McNemar,
    /// Its p-value, corrected for the number of tests: the rows and that of the mean.
    pub holm: f64,
}

/// `McNemar`'s exact test: if the models are equally good, each item that only one of them gets
/// right is a fair coin toss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct McNemar {
    /// Items on which only the first model is right.
    pub only_first: usize,
    /// Items on which only the second model is right.
    pub only_second: usize,
    /// The probability of a split at least as uneven by chance (two-sided).
    pub p_value: f64,
}

impl McNemar {
    /// The test for these two counts.
    pub fn new(only_first: usize, only_second: usize) -> Self {
        let (n, k) = (only_first + only_second, only_first.min(only_second));
        // Terms of the binomial distribution grow up to k, so the last is the largest; logarithms
        // avoid underflow of 2⁻ⁿ.
        let mut logarithms = vec![-(n as f64) * std::f64::consts::LN_2];
        for i in 0..k {
            let last = logarithms[i];
            logarithms.push(last + ((n - i) as f64 / (i + 1) as f64).ln());
        }
        let tail: f64 = logarithms.iter().map(|logarithm| logarithm.exp()).sum();
        Self { only_first, only_second, p_value: (2.0 * tail).min(1.0) }
    }
}

impl ContrastiveComparison {
    /// Compares; both lists have the scores of every item, in the order of its candidates.
    pub fn new(set: &ContrastiveSet, first: &[Vec<f64>], second: &[Vec<f64>]) -> Self {
        assert_eq!(set.items.len(), first.len(), "one list of scores per item");
        assert_eq!(set.items.len(), second.len(), "one list of scores per item");
        let right: Vec<(bool, bool)> = first
            .iter()
            .zip(second)
            .map(|(first, second)| (is_preferred(first), is_preferred(second)))
            .collect();
        let rows = classes(set).into_iter().map(|(class, items)| {
            let mut accuracies = [Accuracy::default(); 2];
            let (mut only_first, mut only_second) = (0, 0);
            for item in items {
                let (first, second) = right[item];
                accuracies[0].count(first);
                accuracies[1].count(second);
                only_first += usize::from(first && !second);
                only_second += usize::from(second && !first);
            }
            let [first, second] = accuracies;
            ComparisonRow {
                name: class.to_string(),
                first,
                second,
                mcnemar: McNemar::new(only_first, only_second),
                holm: 1.0,
            }
        });
        let mut rows: Vec<ComparisonRow> = rows.collect();
        let (first, second): (Vec<bool>, Vec<bool>) = right.into_iter().unzip();
        let mean = MeanDifference::new(&strata(set), &first, &second);
        let p_values = rows.iter().map(|row| row.mcnemar.p_value).chain([mean.p_value]);
        let corrected = holm(&p_values.collect::<Vec<_>>());
        for (row, &corrected) in rows.iter_mut().zip(&corrected) {
            row.holm = corrected;
        }
        Self { mean_holm: corrected[rows.len()], rows, mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_corpus::ContrastiveItem;

    #[test]
    fn the_test_is_the_exact_binomial_one() {
        // scipy.stats.binomtest(k, n).pvalue
        for (first, second, expected) in [
            (0, 0, 1.0),
            (5, 5, 1.0),
            (1, 9, 0.021_484_375),
            (9, 1, 0.021_484_375),
            (59, 30, 0.002_785_268_996_304_216),
            (1200, 1000, 2.181_702_640_791_419_4e-5),
        ] {
            let found = McNemar::new(first, second).p_value;
            assert!((found - expected).abs() <= 1e-9 * expected, "{first}, {second}: {found}");
        }
        assert!(McNemar::new(0, 3000).p_value < 1e-300);
    }

    #[test]
    fn only_items_that_differ_count() {
        let item = |pronoun: &str| ContrastiveItem {
            pronoun: Some(pronoun.to_owned()),
            ..ContrastiveItem::default()
        };
        let set =
            ContrastiveSet { items: vec![item("er"), item("er"), item("sie")], notes: Vec::new() };
        let (right, wrong) = (vec![-1.0, -2.0], vec![-2.0, -1.0]);
        let first = [right.clone(), wrong.clone(), right.clone()];
        let second = [right.clone(), right, wrong];
        let comparison = ContrastiveComparison::new(&set, &first, &second);
        let found: Vec<_> = comparison
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.mcnemar.only_first, row.mcnemar.only_second))
            .collect();
        assert_eq!(found, [("all", 1, 1), ("er", 0, 1), ("sie", 1, 0)]);
    }

    #[test]
    fn the_mean_is_one_of_the_tests_that_are_corrected_for() {
        let item = |pronoun: &str| ContrastiveItem {
            pronoun: Some(pronoun.to_owned()),
            ..ContrastiveItem::default()
        };
        let items = (0..40).map(|n| item(if n % 2 == 0 { "er" } else { "sie" })).collect();
        let set = ContrastiveSet { items, notes: Vec::new() };
        let scores = |right: usize| -> Vec<Vec<f64>> {
            (0..40).map(|n| vec![if n < right { 1.0 } else { -1.0 }, 0.0]).collect()
        };
        let found = ContrastiveComparison::new(&set, &scores(24), &scores(16));
        // `all` has the smallest p-value of four, the mean the second.
        let p = found.rows[0].mcnemar.p_value;
        assert!(p < found.mean.p_value && found.mean.p_value < found.rows[1].mcnemar.p_value);
        assert!((found.rows[0].holm - 4.0 * p).abs() < 1e-12, "{found:?}");
        assert!((found.mean_holm - 3.0 * found.mean.p_value).abs() < 1e-12, "{found:?}");
    }
}
