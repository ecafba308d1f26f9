//! The share of correct translations, in total and by rule.

use abridge_corpus::CtxProSet;
use serde::Serialize;

use super::has_expected;
use crate::contrast::{Accuracy, MeanAccuracy};
use crate::controls::{ControlTests, Controls};

/// The translations of a set, scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CtxProReport {
    /// All examples.
    pub total: Accuracy,
    /// The unweighted mean over rules.
    pub mean: Option<MeanAccuracy>,
    /// By rule, in the order of the set.
    pub rules: Vec<CtxProRow>,
    /// Which examples were right.
    #[serde(skip)]
    pub right: Vec<bool>,
}

/// The examples of one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CtxProRow {
    /// The rule.
    pub rule: String,
    /// The expected word of its first example.
    pub form: String,
    /// How many were right.
    pub accuracy: Accuracy,
}

impl CtxProReport {
    /// Scores one translation per example, in a language.
    pub fn new<S: AsRef<str>>(set: &CtxProSet, translations: &[S], language: &str) -> Self {
        assert_eq!(set.items.len(), translations.len(), "one translation per example");
        let right: Vec<bool> = set
            .items
            .iter()
            .zip(translations)
            .map(|(item, text)| has_expected(text.as_ref(), &item.expected, language))
            .collect();
        let rules: Vec<CtxProRow> = strata(set)
            .into_iter()
            .map(|items| {
                let first = &set.items[items[0]];
                CtxProRow {
                    rule: first.rule.clone(),
                    form: first.expected.clone(),
                    accuracy: Accuracy::of(items, &right),
                }
            })
            .collect();
        let accuracies: Vec<Accuracy> = rules.iter().map(|row| row.accuracy).collect();
        Self {
            total: Accuracy::of(0..right.len(), &right),
            mean: MeanAccuracy::new(&accuracies),
            rules,
            right,
        }
    }

    /// The mean over rules, or the total if there is only one rule.
    pub fn share(&self) -> f64 {
        self.mean.map_or_else(|| self.total.share(), |mean| mean.share)
    }
}

/// Compares the true context with controls: the first report is that of the true context, followed
/// by one for each of [`Controls::contexts`]. Each rule has the same weight.
pub fn ctxpro_tests(
    set: &CtxProSet,
    controls: Controls<'_>,
    reports: &[CtxProReport],
) -> ControlTests {
    let right: Vec<Vec<bool>> = reports.iter().map(|report| report.right.clone()).collect();
    ControlTests::new(&strata(set), controls, &right)
}

/// The examples of each rule, in the order of the set.
fn strata(set: &CtxProSet) -> Vec<Vec<usize>> {
    let mut rules: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, item) in set.items.iter().enumerate() {
        match rules.iter_mut().find(|(rule, _)| *rule == item.rule) {
            Some((_, items)) => items.push(index),
            None => rules.push((&item.rule, vec![index])),
        }
    }
    rules.into_iter().map(|(_, items)| items).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_corpus::CtxProItem;

    #[test]
    fn rules_are_counted_in_the_order_of_the_set() {
        let item = |rule: &str, expected: &str| CtxProItem {
            rule: rule.into(),
            expected: expected.into(),
            ..CtxProItem::default()
        };
        let set = CtxProSet { items: vec![item("B", "du"), item("A", "sie"), item("B", "du")] };
        let report = CtxProReport::new(&set, &["Du.", "Er.", "Sie."], "de");
        assert_eq!(report.total, Accuracy { correct: 1, items: 3 });
        let rules: Vec<_> =
            report.rules.iter().map(|row| (row.rule.as_str(), row.accuracy)).collect();
        assert_eq!(
            rules,
            [("B", Accuracy { correct: 1, items: 2 }), ("A", Accuracy { correct: 0, items: 1 })]
        );
        assert!((report.share() - 0.25).abs() < 1e-12);
        assert_eq!(report.right, [true, false, false]);
    }
}
