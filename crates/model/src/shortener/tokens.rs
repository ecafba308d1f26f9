//! Every token is kept: Caching Tokens.

use burn::module::Module;

use super::{Shortened, ShortenerInput, Shortening};
use crate::ModelConfig;
use crate::init::Init;

/// Every token is kept.
#[derive(Module, Debug)]
pub struct EveryToken {}

impl Shortening for EveryToken {
    type Settings = ();

    fn new((): (), _: &ModelConfig, _: &mut Init<'_>) -> Self {
        Self {}
    }

    fn rows((): (), tokens: usize) -> usize {
        tokens
    }

    fn tokens_per_row((): (), _: usize) -> Option<usize> {
        Some(1)
    }

    fn keeps((): (), tokens: &str) -> String {
        format!("{tokens} vectors")
    }

    fn keeps_of((): (), tokens: usize) -> String {
        format!("all {tokens} tokens, one vector each")
    }

    fn forward(&self, input: &ShortenerInput<'_>) -> Shortened {
        Shortened { rows: input.states.clone(), segments: input.segments.clone(), weights: None }
    }
}
