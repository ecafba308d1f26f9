//! Latent Grouping: equations (3) and (4).

use burn::module::Module;
use burn::tensor::Tensor;

use super::Weighs;
use super::categoriser::{Categorised, Categoriser};
use crate::config::Normaliser;
use crate::ops;
use crate::packed::Segments;

/// Each token is distributed over the K groups; a group is the weighted sum of the tokens.
///
/// `c_i = Sparsemax(FFN(h_i))` over the groups, then `g_k = sum over i of c_ik h_i`. The weights of
/// a *token* add up to one, so a group grows with the tokens assigned to it, and a group without
/// tokens is the zero vector.
#[derive(Module, Debug)]
pub struct Grouping {
    /// Scores of tokens for groups.
    pub categoriser: Categoriser,
}

impl From<Categoriser> for Grouping {
    fn from(categoriser: Categoriser) -> Self {
        Self { categoriser }
    }
}

impl Categorised for Grouping {
    const WEIGHS: Weighs = Weighs::Tokens;

    fn categoriser(&self) -> &Categoriser {
        &self.categoriser
    }

    fn normalise(scores: Tensor<2>, _: &Segments, normaliser: Normaliser) -> Tensor<2> {
        ops::normalise_rows(scores, normaliser)
    }
}
