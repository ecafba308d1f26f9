//! The first tokens of a sentence alone: an example of a new shortener, for the book and its test.

use burn::module::Module;
use serde::{Deserialize, Serialize};

use super::{Shortened, ShortenerInput, Shortening};
use crate::ModelConfig;
use crate::init::Init;
use crate::ops::indices;
use crate::packed::Segments;

/// The settings, `shortener = { kind = "first", tokens = 3 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstConfig {
    /// How many tokens are kept.
    pub tokens: usize,
}

/// Keeps the first tokens of each sentence.
#[derive(Module, Debug)]
pub struct FirstTokens {
    tokens: usize,
}

impl Shortening for FirstTokens {
    type Settings = FirstConfig;

    fn new(settings: FirstConfig, _: &ModelConfig, _: &mut Init<'_>) -> Self {
        Self { tokens: settings.tokens }
    }

    fn problem(settings: FirstConfig) -> Option<&'static str> {
        (settings.tokens == 0).then_some("the first 0 tokens are nothing to remember")
    }

    fn rows(settings: FirstConfig, tokens: usize) -> usize {
        tokens.min(settings.tokens)
    }

    fn tokens_per_row(_: FirstConfig, _: usize) -> Option<usize> {
        Some(1)
    }

    fn keeps(settings: FirstConfig, _: &str) -> String {
        format!("at most {} vectors", settings.tokens)
    }

    fn forward(&self, input: &ShortenerInput<'_>) -> Shortened {
        let kept = |length: usize| length.min(self.tokens);
        let rows = input.segments.ranges().flat_map(|range| range.clone().take(kept(range.len())));
        let rows = indices(rows, &input.states.device());
        Shortened {
            rows: input.states.clone().select(0, rows),
            segments: Segments::from_lengths(input.segments.lengths().map(kept)),
            weights: None,
        }
    }
}
