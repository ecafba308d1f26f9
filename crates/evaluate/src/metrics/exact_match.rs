//! How many lines are exactly the reference: an example of a new metric, for the book and its test.

use crate::metric::{Metric, ResampleScore, TextMetric};
use crate::signature::Field;

/// The share of lines that equal one of their references, in percent.
#[derive(Debug)]
pub struct ExactMatch;

impl Metric for ExactMatch {
    fn name(&self) -> String {
        "exact match".to_owned()
    }

    fn fields(&self) -> Vec<Field> {
        Vec::new()
    }

    /// Lines that match, and lines.
    fn counts(&self) -> usize {
        2
    }

    fn score(&self, sums: &[f64]) -> f64 {
        100.0 * sums[0] / sums[1]
    }

    fn resample_score(&self, sums: &[f32]) -> ResampleScore {
        ResampleScore::Single(100.0 * sums[0] / sums[1])
    }
}

impl TextMetric for ExactMatch {
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        vec![f64::from(references.contains(&hypothesis)), 1.0]
    }
}
