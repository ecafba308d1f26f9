//! Decoding without the tensor engine: the same decoder, with weights packed once and buffers
//! reused.
//!
//! A step of decoding is many small operations on a few rows, and the engine's overhead for each of
//! them costs more than the operation. Here a [`LeanDecoder`] is made from a network once; its
//! [`LeanDecoding`]s run the same layers on plain slices. The arithmetic is that of
//! [`Decoding`](crate::Decoding), which other devices use (`tests/lean.rs` compares them).

mod decoding;
mod fixed;
mod layer;
mod matrix;

use burn::tensor::Tensor;

use crate::Sources;
use crate::linear::{Linear, ResidualNorm};
use crate::model::Model;
use crate::ops::kernels::residual_norm;
use crate::ops::{self, is_fused};
use crate::sublayers::Order;
use crate::weights::WeightPrecision;

pub use crate::ops::kernels::most_probable::{MostProbable, Wanted};
pub use decoding::LeanDecoding;

use layer::Layer;
use matrix::Matrix;

/// The decoder of a network, ready to decode on the CPU.
#[derive(Clone, Debug)]
pub struct LeanDecoder {
    width: usize,
    heads: usize,
    start_word: u32,
    start_words: usize,
    /// Whether the first word is a zero vector.
    starts_from_zero: bool,
    /// `[vocabulary, width]`, scaled.
    embedding: Vec<f32>,
    /// `[positions, width]`
    positions: Vec<f32>,
    order: Order,
    layers: Vec<Layer>,
    /// After the last layer, if layers normalise before their sublayers.
    norm: Option<Norm>,
    /// The output projection, which is the embedding.
    output: Matrix,
}

#[derive(Clone, Debug)]
struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    fn new(norm: &ResidualNorm) -> Self {
        let (gain, bias) = (values(norm.gain.val()), values(norm.bias.val()));
        Self { gain, bias, epsilon: norm.epsilon() as f32 }
    }

    /// `LayerNorm(x + update)`; an empty update means none.
    fn apply(&self, x: &mut [f32], update: &[f32]) {
        residual_norm::in_place(x, update, &self.gain, &self.bias, self.epsilon);
    }
}

impl Model {
    /// The decoder for the CPU, or `None` if the network is on another device.
    pub fn lean_decoder(&self) -> Option<LeanDecoder> {
        self.lean_decoder_in(WeightPrecision::Single)
    }

    /// Like [`Self::lean_decoder`], with products in the precision that the weights were stored in.
    pub fn lean_decoder_in(&self, precision: WeightPrecision) -> Option<LeanDecoder> {
        let decoder = &self.decoder;
        let ops::Projection { weight, bias, .. } = decoder.projection();
        if !is_fused(&weight) {
            return None;
        }
        let config = self.config();
        let (width, vocabulary) = (config.width, config.target_vocabulary);
        let mut embedding = values(weight);
        let at = |i: usize, j: usize| embedding[j * width + i];
        let bias = bias.map(values).unwrap_or_default();
        let output = Matrix::new(precision, [width, vocabulary], at, &bias);
        let scale = config.embedding_factor() as f32;
        for value in &mut embedding {
            *value *= scale;
        }
        let layers = decoder.layers.iter().map(|layer| Layer::new(layer, precision));
        Some(LeanDecoder {
            width,
            heads: config.heads,
            start_word: config.start_word(),
            start_words: config.start_words(),
            starts_from_zero: decoder.starts_from_zero(0),
            embedding,
            positions: config.positions.table(config.max_positions, width),
            order: decoder.order(),
            layers: layers.collect(),
            norm: decoder.norm.as_ref().map(Norm::new),
            output,
        })
    }
}

impl LeanDecoder {
    /// Starts to translate encoded sources word by word.
    pub fn decode(&self, sources: &Sources) -> LeanDecoding<'_> {
        LeanDecoding::new(self, sources, &[])
    }

    /// Like [`Self::decode`], with each translation restricted to a list of words in ascending
    /// order: only their part of the output projection is computed.
    pub fn decode_among(&self, sources: &Sources, lists: &[Vec<u32>]) -> LeanDecoding<'_> {
        assert_eq!(lists.len(), sources.len(), "one list per sentence");
        LeanDecoding::new(self, sources, lists)
    }
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("the network is in single precision")
}

/// A linear layer.
fn pack(layer: &Linear, precision: WeightPrecision) -> Matrix {
    pack_side_by_side(&[(layer.weight.val(), Some(layer.bias.val()))], precision)
}

/// Weights (and biases) of the same shape and input, side by side in one matrix.
fn pack_side_by_side(
    layers: &[(Tensor<2>, Option<Tensor<1>>)],
    precision: WeightPrecision,
) -> Matrix {
    let [inputs, outputs] = layers[0].0.dims();
    let weights: Vec<Vec<f32>> = layers.iter().map(|(weight, _)| values(weight.clone())).collect();
    let bias = layers.iter().flat_map(|(_, bias)| match bias {
        Some(bias) => values(bias.clone()),
        None => vec![0.0; outputs],
    });
    let bias: Vec<f32> = bias.collect();
    let at = |i: usize, j: usize| weights[j / outputs][i * outputs + j % outputs];
    Matrix::new(precision, [inputs, outputs * layers.len()], at, &bias)
}
