//! Pooling of neighbouring tokens: equation (1).

use burn::module::Module;
use serde::{Deserialize, Serialize};

use super::{Shortened, ShortenerInput, Shortening};
use crate::ModelConfig;
use crate::config::Pooling;
use crate::init::Init;
use crate::linear::Linear;
use crate::ops;
use crate::packed::Segments;

/// Windows of `window` neighbouring tokens become one vector each.
///
/// The last window of a sentence may be shorter: then the mean and the maximum are over its real
/// tokens only, and the linear map sees zeros for missing tokens. The published implementation also
/// counts missing tokens as zeros for the mean and the maximum.
#[derive(Module, Debug)]
pub struct WindowPooling {
    /// The learned map of linear pooling.
    pub linear: Option<Linear>,
    #[module(skip)]
    operation: Pooling,
    window: usize,
    zero_fill: bool,
}

/// The settings of pooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolingConfig {
    /// How a window of tokens becomes one vector.
    pub operation: Pooling,
    /// Tokens per window (K).
    pub window: usize,
}

impl Shortening for WindowPooling {
    type Settings = PoolingConfig;

    fn new(settings: PoolingConfig, config: &ModelConfig, init: &mut Init<'_>) -> Self {
        let PoolingConfig { operation, window } = settings;
        let linear = (operation == Pooling::Linear)
            .then(|| init.linear(window * config.width, config.width));
        Self { linear, operation, window, zero_fill: config.as_published }
    }

    fn problem(settings: PoolingConfig) -> Option<&'static str> {
        (settings.window == 0).then_some("a pooling window of 0 tokens has nothing to pool")
    }

    fn rows(settings: PoolingConfig, tokens: usize) -> usize {
        tokens.div_ceil(settings.window)
    }

    fn places(_: PoolingConfig, config: &ModelConfig) -> Option<usize> {
        Some(config.max_positions)
    }

    fn tokens_per_row(settings: PoolingConfig, _: usize) -> Option<usize> {
        Some(settings.window)
    }

    fn keeps(settings: PoolingConfig, tokens: &str) -> String {
        format!("{tokens}/{} vectors", settings.window)
    }

    fn keeps_of(settings: PoolingConfig, tokens: usize) -> String {
        let how = match settings.operation {
            Pooling::Average => "means",
            Pooling::Max => "maxima",
            Pooling::Linear => "learned combinations",
        };
        let (rows, window) = (Self::rows(settings, tokens), settings.window);
        format!("{rows} vectors: {how} of {window} neighbouring tokens each")
    }

    /// # Shapes
    /// - states: `[tokens, width]`
    /// - rows of the result: `[windows, width]`
    fn forward(&self, input: &ShortenerInput<'_>) -> Shortened {
        let (states, segments) = (input.states.clone(), input.segments);
        let windows = self.windows(segments);
        let rows = match (self.operation, &self.linear) {
            (Pooling::Linear, Some(linear)) => {
                linear.forward(ops::concatenate_windows(states, &windows, self.window))
            }
            (Pooling::Max, _) => {
                ops::max_over_segments(states, &windows, self.window, self.zero_fill)
            }
            _ => {
                let tokens = |length| if self.zero_fill { self.window } else { length };
                let factors: Vec<f64> =
                    windows.lengths().map(|length| 1.0 / tokens(length) as f64).collect();
                ops::sum_over_segments(states, &windows, &factors)
            }
        };
        let counts = segments.lengths().map(|length| length.div_ceil(self.window));
        Shortened { rows, segments: Segments::from_lengths(counts), weights: None }
    }
}

impl WindowPooling {
    /// The windows of all sentences; each sentence starts a new one.
    fn windows(&self, segments: &Segments) -> Segments {
        Segments::from_lengths(segments.lengths().flat_map(|length| {
            (0..length.div_ceil(self.window))
                .map(move |window| (length - window * self.window).min(self.window))
        }))
    }
}
