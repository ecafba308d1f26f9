//! Compares the accuracy with the true context to that with each control.

use abridge_corpus::ContrastiveSet;
use serde::Serialize;

use super::mean::strata;
use super::report::{ContrastiveReport, is_preferred};
use super::scoring::Scores;
use crate::controls::{Control, ControlTests};

/// The true context compared with its controls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlReport {
    /// The accuracy with each control.
    pub reports: Vec<ContrastiveReport>,
    /// The gain of the true context over each, as the mean over pronouns.
    #[serde(flatten)]
    pub tests: ControlTests,
}

impl ControlReport {
    /// Compares; `scores` has those of the true context first, then those of each control.
    pub fn new(set: &ContrastiveSet, controls: &[Control], scores: &[Scores]) -> Self {
        let right: Vec<Vec<bool>> = scores
            .iter()
            .map(|scores| scores.iter().map(|scores| is_preferred(scores)).collect())
            .collect();
        Self {
            reports: scores[1..].iter().map(|s| ContrastiveReport::new(set, s)).collect(),
            tests: ControlTests::new(&strata(set), controls, &right),
        }
    }
}
