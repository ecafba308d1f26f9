//! COMET as a metric of a report: the mean of the lines' scores.

use crate::metric::{Metric, ResampleScore};
use crate::signature::Field;

/// The scores of one or several systems, computed beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct CometMetric {
    /// The model, as in [`super::Comet::signature_name`].
    pub model: String,
    /// The context size; 0 for plain COMET.
    pub context: usize,
    /// The scores of each system's lines.
    pub systems: Vec<Vec<f64>>,
    /// The number of truncated texts.
    pub cut: usize,
}

impl Metric for CometMetric {
    fn name(&self) -> String {
        if self.context > 0 { "DocCOMET".to_owned() } else { "COMET".to_owned() }
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            Field::new("model", "m", self.model.clone()),
            Field::new("context", "ctx", self.context.to_string()),
            Field::new("cut", "cut", self.cut.to_string()),
        ]
    }

    /// The sum of the scores and their number.
    fn counts(&self) -> usize {
        2
    }

    fn score(&self, sums: &[f64]) -> f64 {
        sums[0] / sums[1].max(1.0)
    }

    fn resample_score(&self, sums: &[f32]) -> ResampleScore {
        ResampleScore::Single(sums[0] / sums[1].max(1.0))
    }

    fn extra_decimals(&self) -> usize {
        3
    }
}
