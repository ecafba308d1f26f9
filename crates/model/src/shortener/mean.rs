//! The mean over the sentence: Caching Sentence.

use burn::module::Module;

use super::{Shortened, ShortenerInput, Shortening};
use crate::ModelConfig;
use crate::init::Init;
use crate::ops;
use crate::packed::Segments;

/// The mean over the sentence.
#[derive(Module, Debug)]
pub struct Mean {}

impl Shortening for Mean {
    type Settings = ();

    fn new((): (), _: &ModelConfig, _: &mut Init<'_>) -> Self {
        Self {}
    }

    fn rows((): (), _: usize) -> usize {
        1
    }

    fn tokens_per_row((): (), tokens: usize) -> Option<usize> {
        Some(tokens)
    }

    fn keeps((): (), _: &str) -> String {
        "1 vector".into()
    }

    fn keeps_of((): (), tokens: usize) -> String {
        format!("one vector: the mean of {tokens} tokens")
    }

    fn forward(&self, input: &ShortenerInput<'_>) -> Shortened {
        let factors: Vec<f64> =
            input.mean_lengths.iter().map(|&length| 1.0 / length as f64).collect();
        Shortened {
            rows: ops::sum_over_segments(input.states.clone(), input.segments, &factors),
            segments: Segments::from_lengths(input.segments.lengths().map(|_| 1)),
            weights: None,
        }
    }
}
