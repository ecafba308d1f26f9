//! Shorteners turn the states of a sentence into the few vectors that the memory keeps.
//!
//! A [`Reduction`] makes the shortened tokens G̃ of equation (1); for pooling, grouping and
//! selecting a [`Refinement`] then lets them look at the whole sentence, equation (2), and marks
//! each with its place.

mod categoriser;
mod grouping;
mod pooling;
mod refinement;
mod selecting;

use burn::module::Module;
use burn::tensor::Tensor;

pub use categoriser::Categoriser;
pub use grouping::Grouping;
pub use pooling::WindowPooling;
pub use refinement::Refinement;
pub use selecting::Selecting;

use crate::config::{ModelConfig, ShortenerConfig};
use crate::init::Init;
use crate::ops;
use crate::packed::Segments;

/// States in, memory entries out.
#[derive(Module, Debug)]
pub struct Shortener {
    /// How tokens become fewer.
    pub reduction: Reduction,
    /// How the fewer look back at the whole sentence.
    pub refinement: Option<Refinement>,
}

/// How the tokens of a sentence become fewer.
#[derive(Module, Debug)]
pub enum Reduction {
    /// They do not.
    Tokens(EveryToken),
    /// One mean vector.
    Mean(Mean),
    /// One vector per window of neighbours.
    Pooling(WindowPooling),
    /// One vector per group, each token shared out over the groups.
    Grouping(Grouping),
    /// One vector per group, each group picking tokens.
    Selecting(Selecting),
}

/// Every token is kept.
#[derive(Module, Debug)]
pub struct EveryToken {}

/// The mean over the sentence.
#[derive(Module, Debug)]
pub struct Mean {}

/// Input of [`Shortener::forward`].
#[derive(Debug)]
pub struct ShortenerInput<'a> {
    /// The encoder's states, `[tokens, width]`.
    pub states: Tensor<2>,
    /// The sentences among them; none is empty.
    pub segments: &'a Segments,
    /// What the mean divides by: the sentences' lengths, unless the published implementation is
    /// reproduced, which divides by the padded length.
    pub mean_lengths: &'a [usize],
}

/// What a sentence is shortened to.
#[derive(Clone, Debug)]
pub struct Shortened {
    /// The vectors that the memory keeps, `[rows, width]`.
    pub rows: Tensor<2>,
    /// Which rows belong to which sentence.
    pub segments: Segments,
    /// For grouping and selecting the weight of each token for each group, `[tokens, groups]`.
    pub weights: Option<Tensor<2>>,
}

impl Shortener {
    pub(crate) fn new(
        shortener: ShortenerConfig,
        config: &ModelConfig,
        init: &mut Init<'_>,
    ) -> Self {
        let reduction = match shortener {
            ShortenerConfig::Tokens => Reduction::Tokens(EveryToken {}),
            ShortenerConfig::Mean => Reduction::Mean(Mean {}),
            ShortenerConfig::Pooling { operation, window } => {
                Reduction::Pooling(WindowPooling::new(operation, window, config, init))
            }
            ShortenerConfig::Grouping(categoriser) => {
                Reduction::Grouping(Grouping::new(categoriser, config.width, init))
            }
            ShortenerConfig::Selecting(categoriser) => {
                Reduction::Selecting(Selecting::new(categoriser, config.width, init))
            }
        };
        let places = match shortener {
            ShortenerConfig::Tokens | ShortenerConfig::Mean => None,
            ShortenerConfig::Pooling { .. } => Some(config.max_positions),
            ShortenerConfig::Grouping(categoriser) | ShortenerConfig::Selecting(categoriser) => {
                Some(categoriser.groups)
            }
        };
        Self { reduction, refinement: places.map(|places| Refinement::new(places, config, init)) }
    }

    /// Whether shortening has parameters that a gradient could train.
    pub fn is_learned(&self) -> bool {
        self.num_params() > 0
    }

    /// Shortens every sentence for itself.
    pub fn forward(&self, input: ShortenerInput<'_>) -> Shortened {
        let ShortenerInput { states, segments, mean_lengths } = input;
        let shortened = match &self.reduction {
            Reduction::Tokens(_) => {
                Shortened { rows: states.clone(), segments: segments.clone(), weights: None }
            }
            Reduction::Mean(_) => {
                let factors: Vec<f64> =
                    mean_lengths.iter().map(|&length| 1.0 / length as f64).collect();
                Shortened {
                    rows: ops::sum_over_segments(states.clone(), segments, &factors),
                    segments: Segments::from_lengths(segments.lengths().map(|_| 1)),
                    weights: None,
                }
            }
            Reduction::Pooling(pooling) => pooling.forward(states.clone(), segments),
            Reduction::Grouping(grouping) => grouping.forward(states.clone(), segments),
            Reduction::Selecting(selecting) => selecting.forward(states.clone(), segments),
        };
        match &self.refinement {
            Some(refinement) => refinement.forward(shortened, states, segments),
            None => shortened,
        }
    }
}
