//! Latent Selecting: equation (3) with the normaliser over the tokens.

use burn::module::Module;

use super::{Categoriser, Shortened, ShortenerInput, Shortening, Weighs};
use crate::ModelConfig;
use crate::config::CategoriserConfig;
use crate::init::Init;
use crate::ops;

/// Each of the K groups picks tokens of the sentence; a group is their weighted mean.
///
/// The weights of a *group* add up to one over the sentence, so a token may be picked by several
/// groups or by none.
#[derive(Module, Debug)]
pub struct Selecting {
    /// Scores of tokens for groups.
    pub categoriser: Categoriser,
}

impl Shortening for Selecting {
    type Settings = CategoriserConfig;

    const WEIGHS: Option<Weighs> = Some(Weighs::Groups);

    fn new(settings: CategoriserConfig, config: &ModelConfig, init: &mut Init<'_>) -> Self {
        Self { categoriser: Categoriser::new(settings, config.width, init) }
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
        let scores = self.categoriser.forward(input.states.clone());
        let weights =
            ops::normalise_segments(scores, input.segments, self.categoriser.normaliser());
        self.categoriser.gather(input, weights)
    }
}
