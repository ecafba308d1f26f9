//! Latent Selecting: equation (3) with the normaliser over the tokens.

use burn::module::Module;
use burn::tensor::Tensor;

use super::{Categoriser, Shortened};
use crate::config::CategoriserConfig;
use crate::init::Init;
use crate::ops;
use crate::packed::Segments;

/// Each of the K groups picks tokens of the sentence; a group is their weighted mean.
///
/// The weights of a *group* add up to one over the sentence, so a token may be picked by several
/// groups or by none.
#[derive(Module, Debug)]
pub struct Selecting {
    /// Scores of tokens for groups.
    pub categoriser: Categoriser,
}

impl Selecting {
    pub(crate) fn new(config: CategoriserConfig, width: usize, init: &mut Init<'_>) -> Self {
        Self { categoriser: Categoriser::new(config, width, init) }
    }

    /// # Shapes
    /// - states: `[tokens, width]`
    /// - rows of the result: `[sentences * groups, width]`
    pub fn forward(&self, states: Tensor<2>, segments: &Segments) -> Shortened {
        let scores = self.categoriser.forward(states.clone());
        let weights = ops::normalise_segments(scores, segments, self.categoriser.normaliser());
        let rows = ops::weighted_sums(states, weights.clone(), segments);
        let groups = self.categoriser.groups();
        let segments = Segments::from_lengths(segments.lengths().map(|_| groups));
        Shortened { rows, segments, weights: Some(weights) }
    }
}
