//! The network that scores every token for every group.

use burn::module::Module;
use burn::tensor::Tensor;

use crate::attention::FeedForward;
use crate::config::{Activation, CategoriserConfig, Normaliser};
use crate::init::Init;

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
}
