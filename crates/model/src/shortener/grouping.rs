//! Latent Grouping: equations (3) and (4).

use burn::module::Module;
use burn::tensor::Tensor;

use super::{Categoriser, Shortened};
use crate::config::CategoriserConfig;
use crate::init::Init;
use crate::ops;
use crate::packed::Segments;

/// Each token is shared out over the K groups; a group is the weighted sum of the tokens.
///
/// `c_i = Sparsemax(FFN(h_i))` over the groups, then `g_k = sum over i of c_ik h_i`. The weights of
/// a *token* add up to one, so a group's size grows with what falls into it, and a group that no
/// token falls into is the zero vector.
#[derive(Module, Debug)]
pub struct Grouping {
    /// Scores of tokens for groups.
    pub categoriser: Categoriser,
}

impl Grouping {
    pub(crate) fn new(config: CategoriserConfig, width: usize, init: &mut Init<'_>) -> Self {
        Self { categoriser: Categoriser::new(config, width, init) }
    }

    /// # Shapes
    /// - states: `[tokens, width]`
    /// - rows of the result: `[sentences * groups, width]`
    pub fn forward(&self, states: Tensor<2>, segments: &Segments) -> Shortened {
        let scores = self.categoriser.forward(states.clone());
        let weights = ops::normalise_rows(scores, self.categoriser.normaliser());
        let rows = ops::weighted_sums(states, weights.clone(), segments);
        let groups = self.categoriser.groups();
        let segments = Segments::from_lengths(segments.lengths().map(|_| groups));
        Shortened { rows, segments, weights: Some(weights) }
    }
}
