//! Latent Grouping: equations (3) and (4).

use burn::module::Module;

use super::{Categoriser, Shortened, ShortenerInput, Shortening, Weighs};
use crate::ModelConfig;
use crate::config::CategoriserConfig;
use crate::init::Init;
use crate::ops;

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

impl Shortening for Grouping {
    type Settings = CategoriserConfig;

    const WEIGHS: Option<Weighs> = Some(Weighs::Tokens);

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
        let weights = ops::normalise_rows(scores, self.categoriser.normaliser());
        self.categoriser.gather(input, weights)
    }
}
