//! The network that scores every token for every group.

use burn::module::Module;
use burn::tensor::Tensor;

use super::{Shortened, ShortenerInput, Shortening, Weighs};
use crate::ModelConfig;
use crate::attention::FeedForward;
use crate::config::{Activation, CategoriserConfig, Normaliser};
use crate::init::Init;
use crate::ops::{self, Products};
use crate::packed::Segments;

/// The feed-forward network of equation (3), before its normaliser.
#[derive(Module, Debug)]
pub struct Categoriser {
    /// Width to hidden to groups.
    pub scores: FeedForward,
    groups: usize,
    #[module(skip)]
    normaliser: Normaliser,
    #[module(skip)]
    products: Products,
}

impl Categoriser {
    pub(crate) fn new(config: CategoriserConfig, width: usize, init: &mut Init<'_>) -> Self {
        Self {
            scores: FeedForward::new([width, config.hidden, config.groups], Activation::Relu, init),
            groups: config.groups,
            normaliser: config.normaliser,
            products: init.products.clone(),
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

    /// Each group of each sentence as the weighted sum of its tokens' states.
    ///
    /// # Shapes
    /// - weights: `[tokens, groups]`
    /// - rows of the result: `[sentences * groups, width]`
    fn gather(&self, input: &ShortenerInput<'_>, weights: Tensor<2>) -> Shortened {
        let (states, segments) = (input.states.clone(), input.segments);
        let rows = ops::weighted_sums(states, weights.clone(), segments, &self.products);
        let segments = Segments::from_lengths(input.segments.lengths().map(|_| self.groups));
        Shortened { rows, segments, weights: Some(weights) }
    }
}

/// A shortener whose vectors are weighted sums of the tokens: grouping or selecting.
pub(crate) trait Categorised: From<Categoriser> {
    /// Whose weights add up to one.
    const WEIGHS: Weighs;

    /// Scores of tokens for groups.
    fn categoriser(&self) -> &Categoriser;

    /// Turns the scores into weights.
    ///
    /// # Shapes
    /// - scores and result: `[tokens, groups]`
    fn normalise(scores: Tensor<2>, sentences: &Segments, normaliser: Normaliser) -> Tensor<2>;
}

impl<S: Categorised> Shortening for S {
    type Settings = CategoriserConfig;

    const WEIGHS: Option<Weighs> = Some(S::WEIGHS);

    fn new(settings: CategoriserConfig, config: &ModelConfig, init: &mut Init<'_>) -> Self {
        Self::from(Categoriser::new(settings, config.width, init))
    }

    fn problem(settings: CategoriserConfig) -> Option<&'static str> {
        settings.problem()
    }

    fn rows(settings: CategoriserConfig, _: usize) -> usize {
        settings.groups
    }

    fn places(settings: CategoriserConfig, _: &ModelConfig) -> Option<usize> {
        Some(settings.groups)
    }

    fn tokens_per_row(_: CategoriserConfig, _: usize) -> Option<usize> {
        None
    }

    fn keeps(settings: CategoriserConfig, _: &str) -> String {
        format!("{} vectors", settings.groups)
    }

    /// # Shapes
    /// - states: `[tokens, width]`
    /// - rows of the result: `[sentences * groups, width]`
    fn forward(&self, input: &ShortenerInput<'_>) -> Shortened {
        let categoriser = self.categoriser();
        let scores = categoriser.forward(input.states.clone());
        let weights = Self::normalise(scores, input.segments, categoriser.normaliser());
        categoriser.gather(input, weights)
    }
}
