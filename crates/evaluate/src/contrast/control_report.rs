//! Compares the accuracy with the true context to that with each control.

use abridge_corpus::ContrastiveSet;
use serde::Serialize;

use super::mean::strata;
use super::report::{ContrastiveReport, is_preferred};
use super::scoring::Scores;
use crate::controls::{ControlTests, Controls};

/// The true context compared with its controls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlReport {
    /// For each control, the accuracy with each of its draws.
    pub reports: Vec<Vec<ContrastiveReport>>,
    /// The gain of the true context over each, as the mean over pronouns.
    #[serde(flatten)]
    pub tests: ControlTests,
}

impl ControlReport {
    /// Compares; `scores` has those of the true context first, then those of each of
    /// [`Controls::contexts`].
    pub fn new(set: &ContrastiveSet, controls: Controls<'_>, scores: &[Scores]) -> Self {
        let of = |scores: &Scores| ContrastiveReport::new(set, scores);
        let right: Vec<Vec<bool>> = scores
            .iter()
            .map(|scores| scores.iter().map(|scores| is_preferred(scores)).collect())
            .collect();
        Self {
            reports: controls
                .by_control(&scores[1..])
                .into_iter()
                .map(|(_, draws)| draws.iter().map(of).collect())
                .collect(),
            tests: ControlTests::new(&strata(set), controls, &right),
        }
    }
}
