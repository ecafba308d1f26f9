//! Shorteners turn the states of a sentence into the few vectors that the memory keeps.
//!
//! A [`Reduction`] makes the shortened tokens G̃ of equation (1); for pooling, grouping and
//! selecting a [`Refinement`] then lets them attend to the whole sentence, equation (2), and adds
//! their positions. Each kind has its own file and a line in the table in `table.rs`.

mod categoriser;
#[cfg(test)]
mod first;
mod grouping;
mod mean;
mod pooling;
mod refinement;
mod selecting;
mod table;
#[cfg(test)]
mod tests;
mod tokens;

use burn::module::Module;
use burn::tensor::Tensor;

pub use categoriser::Categoriser;
pub use grouping::Grouping;
pub use mean::Mean;
pub use pooling::{PoolingConfig, WindowPooling};
pub use refinement::Refinement;
pub use selecting::Selecting;
pub use table::{Reduction, ShortenerConfig};
pub use tokens::EveryToken;

use crate::config::ModelConfig;
use crate::init::Init;
use crate::packed::Segments;

/// What defines a kind of shortener: its settings, what they mean, and the network that shortens.
pub(crate) trait Shortening: Sized {
    /// Its part of a configuration.
    type Settings: Copy;

    /// Whose weights add up to one, if there are weights.
    const WEIGHS: Option<Weighs> = None;

    /// Builds the network.
    fn new(settings: Self::Settings, config: &ModelConfig, init: &mut Init<'_>) -> Self;

    /// What is invalid about the settings, if anything.
    fn problem(_: Self::Settings) -> Option<&'static str> {
        None
    }

    /// How many rows a sentence of `tokens` tokens becomes.
    fn rows(settings: Self::Settings, tokens: usize) -> usize;

    /// The most rows that a sentence can become, if they are refined by equation (2).
    fn places(_: Self::Settings, _: &ModelConfig) -> Option<usize> {
        None
    }

    /// How many consecutive tokens each row is made from; `None` if weights determine it.
    fn tokens_per_row(settings: Self::Settings, tokens: usize) -> Option<usize>;

    /// What the memory keeps of a sentence of `tokens` tokens, for display.
    fn keeps(settings: Self::Settings, tokens: &str) -> String;

    /// What the memory keeps of one sentence, for a picture of it.
    fn keeps_of(settings: Self::Settings, tokens: usize) -> String {
        Self::keeps(settings, &tokens.to_string())
    }

    /// Shortens every sentence separately.
    fn forward(&self, input: &ShortenerInput<'_>) -> Shortened;
}

/// Whose weights add up to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighs {
    /// Each token's, over the groups.
    Tokens,
    /// Each group's, over the tokens.
    Groups,
}

/// States in, memory entries out.
#[derive(Module, Debug)]
pub struct Shortener {
    /// How tokens are reduced to fewer vectors.
    pub reduction: Reduction,
    /// How these attend to the whole sentence.
    pub refinement: Option<Refinement>,
}

/// Input of [`Shortener::forward`].
#[derive(Debug)]
pub struct ShortenerInput<'a> {
    /// The encoder's states, `[tokens, width]`.
    pub states: Tensor<2>,
    /// The sentences among them; none is empty.
    pub segments: &'a Segments,
    /// What the mean divides by: the sentences' lengths, unless the published implementation is
    /// reproduced, which divides by the padded length.
    pub mean_lengths: &'a [usize],
}

/// What a sentence is shortened to.
#[derive(Clone, Debug)]
pub struct Shortened {
    /// The vectors that the memory keeps, `[rows, width]`.
    pub rows: Tensor<2>,
    /// Which rows belong to which sentence.
    pub segments: Segments,
    /// For grouping and selecting the weight of each token for each group, `[tokens, groups]`.
    pub weights: Option<Tensor<2>>,
}

impl Shortener {
    pub(crate) fn new(
        shortener: ShortenerConfig,
        config: &ModelConfig,
        init: &mut Init<'_>,
    ) -> Self {
        let reduction = shortener.init(config, init);
        let places = shortener.places(config);
        Self { reduction, refinement: places.map(|places| Refinement::new(places, config, init)) }
    }

    /// Whether shortening has parameters that a gradient could train.
    pub fn is_learned(&self) -> bool {
        self.num_params() > 0
    }

    /// Shortens every sentence separately.
    pub fn forward(&self, input: ShortenerInput<'_>) -> Shortened {
        let shortened = self.reduction.forward(&input);
        match &self.refinement {
            Some(refinement) => refinement.forward(shortened, input.states, input.segments),
            None => shortened,
        }
    }
}
