//! Tokens and places become vectors.

use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData};

use crate::dropout::Dropout;
use crate::init::{Init, Values};
use crate::ops::indices;
use crate::packed::Packed;
use crate::tokens::PAD;

/// Token embeddings, scaled by `sqrt(width)`, plus sinusoidal positions.
#[derive(Module, Debug)]
pub struct TokenEmbedding {
    /// `[vocabulary, width]`
    pub weight: Param<Tensor<2>>,
}

impl TokenEmbedding {
    pub(crate) fn new(vocabulary: usize, width: usize, init: &mut Init<'_>) -> Self {
        let values = Values::NormalExceptRow((width as f64).powf(-0.5), PAD as usize);
        Self { weight: init.parameter([vocabulary, width], values) }
    }

    /// Embeds whole sequences, each from its first position.
    ///
    /// # Shapes
    /// - result: `[tokens, width]`
    pub fn forward(&self, sequences: &Packed, dropout: &mut Dropout) -> Tensor<2> {
        let places = sequences.segments().lengths().flat_map(|length| 0..length);
        self.embed(sequences.tokens(), places.collect(), dropout)
    }

    /// Embeds one token for each of several sequences, all at the same position.
    ///
    /// # Shapes
    /// - result: `[tokens, width]`
    pub fn forward_at(&self, tokens: &[u32], position: usize) -> Tensor<2> {
        self.embed(tokens, vec![position; tokens.len()], &mut Dropout::off())
    }

    fn embed(&self, tokens: &[u32], places: Vec<usize>, dropout: &mut Dropout) -> Tensor<2> {
        let weight = self.weight.val();
        let device = weight.device();
        let width = weight.dims()[1];
        let tokens = indices(tokens.iter().map(|&token| token as usize), &device);
        let furthest = places.iter().copied().max().unwrap_or(0);
        let table = TensorData::new(sinusoids(furthest + 1, width), [furthest + 1, width]);
        let positions = Tensor::from_data(table, &device).select(0, indices(places, &device));
        let embedded = weight.select(0, tokens) * (width as f64).sqrt() + positions;
        match dropout.next_mask() {
            Some(mask) => mask.apply(embedded),
            None => embedded,
        }
    }

    /// The output projection, which is tied to the embedding: one score per word.
    ///
    /// # Shapes
    /// - states: `[rows, width]`
    /// - result: `[rows, vocabulary]`
    pub fn logits(&self, states: Tensor<2>) -> Tensor<2> {
        states.matmul(self.weight.val().transpose())
    }
}

/// Sines in the first half of the channels, cosines in the second.
///
/// The first position has the angle 2: the published tables start after the index of padding,
/// which is 1.
///
/// # Shapes
/// - result: `[positions, width]`
pub(crate) fn sinusoids(positions: usize, width: usize) -> Vec<f32> {
    const FIRST_ANGLE: usize = 2;
    let half = width / 2;
    let step = 10_000f64.ln() / (half as f64 - 1.0).max(1.0);
    let mut table = Vec::with_capacity(positions * width);
    for position in FIRST_ANGLE..FIRST_ANGLE + positions {
        let angle = |i: usize| position as f64 * (-(i as f64) * step).exp();
        table.extend((0..half).map(|i| angle(i).sin() as f32));
        table.extend((0..half).map(|i| angle(i).cos() as f32));
    }
    table
}

/// A learned vector per place; place `i` has row `i + 1`, and row 0 is never used.
#[derive(Module, Debug)]
pub struct LearnedPositions {
    /// `[places + 1, width]`
    pub weight: Param<Tensor<2>>,
}

impl LearnedPositions {
    pub(crate) fn new(places: usize, width: usize, init: &mut Init<'_>) -> Self {
        let values = Values::NormalExceptRow((width as f64).powf(-0.5), 0);
        Self { weight: init.parameter([places + 1, width], values) }
    }

    /// The vectors of the given places.
    ///
    /// # Shapes
    /// - result: `[places, width]`
    pub fn forward(&self, places: impl IntoIterator<Item = usize>) -> Tensor<2> {
        let weight = self.weight.val();
        let rows = indices(places.into_iter().map(|place| place + 1), &weight.device());
        weight.select(0, rows)
    }
}
