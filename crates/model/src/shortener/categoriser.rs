//! The network that scores every token for every group.

use burn::module::Module;
use burn::tensor::Tensor;

use super::{Shortened, ShortenerInput};
use crate::attention::FeedForward;
use crate::config::{Activation, CategoriserConfig, Normaliser};
use crate::init::Init;
use crate::ops;
use crate::packed::Segments;

/// The feed-forward network of equation (3), before its normaliser.
#[derive(Module, Debug)]
pub struct Categoriser {
    /// Width to hidden to groups.
    pub scores: FeedForward,
    groups: usize,
    #[module(skip)]
    normaliser: Normaliser,
}

impl Categoriser {
    pub(crate) fn new(config: CategoriserConfig, width: usize, init: &mut Init<'_>) -> Self {
        Self {
            scores: FeedForward::new([width, config.hidden, config.groups], Activation::Relu, init),
            groups: config.groups,
            normaliser: config.normaliser,
        }
    }

    /// The number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// What turns scores into weights.
    pub fn normaliser(&self) -> Normaliser {
        self.normaliser
    }

    /// # Shapes
    /// - states: `[tokens, width]`
    /// - result: `[tokens, groups]`
    pub fn forward(&self, states: Tensor<2>) -> Tensor<2> {
        self.scores.forward(states)
    }

    /// Each group of each sentence as the sum of its tokens' states by their weights.
    ///
    /// # Shapes
    /// - weights: `[tokens, groups]`
    /// - rows of the result: `[sentences * groups, width]`
    pub(super) fn gather(&self, input: &ShortenerInput<'_>, weights: Tensor<2>) -> Shortened {
        let rows = ops::weighted_sums(input.states.clone(), weights.clone(), input.segments);
        let segments = Segments::from_lengths(input.segments.lengths().map(|_| self.groups));
        Shortened { rows, segments, weights: Some(weights) }
    }
}
