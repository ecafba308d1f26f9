//! Shortened tokens attend to the whole sentence once more: equation (2).

use burn::module::Module;
use burn::tensor::Tensor;

use super::Shortened;
use crate::ModelConfig;
use crate::attention::{Attention, AttentionKeys};
use crate::embedding::LearnedPositions;
use crate::init::Init;
use crate::linear::ResidualNorm;
use crate::ops::{AttentionLayout, Block};
use crate::packed::Segments;

/// `G = LayerNorm(G̃ + Attn(G̃, H, H))`, and a learned vector for each position in G.
#[derive(Module, Debug)]
pub struct Refinement {
    /// Shortened tokens attend to the sentence's states.
    pub attention: Attention,
    /// After the attention; no dropout here.
    pub norm: ResidualNorm,
    /// The position of a vector among those of its sentence, added after the norm.
    pub positions: LearnedPositions,
}

impl Refinement {
    pub(crate) fn new(places: usize, config: &ModelConfig, init: &mut Init<'_>) -> Self {
        Self {
            attention: Attention::new(config.width, config.heads, init),
            norm: ResidualNorm::new(config.width, config.norm_epsilon, init),
            positions: LearnedPositions::new(places, config.width, init),
        }
    }

    /// # Shapes
    /// - states: `[tokens, width]`
    /// - rows in and out: `[rows, width]`
    pub fn forward(
        &self,
        shortened: Shortened,
        states: Tensor<2>,
        sentences: &Segments,
    ) -> Shortened {
        let Shortened { rows, segments, weights } = shortened;
        let seen: Vec<Vec<Block>> =
            sentences.ranges().map(|range| vec![Block::plain(range)]).collect();
        let layout = AttentionLayout::new(&segments, seen);
        let keys = self.attention.project(states);
        let keys = AttentionKeys { keys: &keys, shifts: None, layout: &layout };
        let update = self.attention.forward(rows.clone(), keys);
        let places = segments.lengths().flat_map(|length| 0..length);
        let rows = self.norm.forward(rows, update, None) + self.positions.forward(places);
        Shortened { rows, segments, weights }
    }
}
