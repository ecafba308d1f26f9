//! The mean of the pronouns' accuracies.
//!
//! A set in which most references have *es* rewards a model that prefers *es*. The mean over
//! pronouns counts each pronoun once, so a preference for one of them gains nothing.

use abridge_corpus::ContrastiveSet;
use serde::Serialize;

use super::report::{Accuracy, Class, classes};
use crate::normal::Z95;

/// Accuracy with the same weight for each pronoun.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanAccuracy {
    /// The mean of the pronouns' accuracies.
    pub share: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
    /// The number of pronouns.
    pub pronouns: usize,
}

impl MeanAccuracy {
    /// The mean of accuracies; `None` if there are fewer than two.
    pub fn new(accuracies: &[Accuracy]) -> Option<Self> {
        let count = accuracies.len() as f64;
        let variance =
            accuracies.iter().map(|a| a.share() * (1.0 - a.share()) / a.items.max(1) as f64);
        (accuracies.len() > 1).then(|| Self {
            share: accuracies.iter().map(Accuracy::share).sum::<f64>() / count,
            half_width: Z95 * variance.sum::<f64>().sqrt() / count,
            pronouns: accuracies.len(),
        })
    }
}

/// The items of each pronoun, or all items if there are not several pronouns.
pub(super) fn strata(set: &ContrastiveSet) -> Vec<Vec<usize>> {
    let classes = classes(set);
    let pronouns: Vec<Vec<usize>> = classes
        .iter()
        .filter(|(class, _)| matches!(class, Class::Pronoun(_)))
        .map(|(_, items)| items.clone())
        .collect();
    if pronouns.len() > 1 { pronouns } else { vec![(0..set.items.len()).collect()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pronoun_counts_once() {
        let mean = MeanAccuracy::new(&[
            Accuracy { correct: 90, items: 100 },
            Accuracy { correct: 1, items: 10 },
        ])
        .unwrap();
        assert!((mean.share - 0.5).abs() < 1e-12);
        let variance: f64 = 0.09 / 100.0 + 0.09 / 10.0;
        assert!((mean.half_width - Z95 * variance.sqrt() / 2.0).abs() < 1e-12);
        assert_eq!(MeanAccuracy::new(&[Accuracy { correct: 1, items: 2 }]), None);
    }
}
