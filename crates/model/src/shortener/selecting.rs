//! Latent Selecting: equation (3) with the normaliser over the tokens.

use burn::module::Module;
use burn::tensor::Tensor;

use super::Weighs;
use super::categoriser::{Categorised, Categoriser};
use crate::config::Normaliser;
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

impl From<Categoriser> for Selecting {
    fn from(categoriser: Categoriser) -> Self {
        Self { categoriser }
    }
}

impl Categorised for Selecting {
    const WEIGHS: Weighs = Weighs::Groups;

    fn categoriser(&self) -> &Categoriser {
        &self.categoriser
    }

    fn normalise(scores: Tensor<2>, sentences: &Segments, normaliser: Normaliser) -> Tensor<2> {
        ops::normalise_segments(scores, sentences, normaliser)
    }
}
