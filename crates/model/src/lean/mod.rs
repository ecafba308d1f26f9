//! Decoding without the engine: the same decoder, with weights packed once and buffers reused.
//!
//! A step of decoding is many small operations on a few rows, and what an engine does around each
//! of them costs more than the operations. Here a [`LeanDecoder`] is made of a network once; its
//! [`LeanDecoding`]s walk the same layers on plain slices. The arithmetic is that of
//! [`Decoding`](crate::Decoding), which other devices use (`tests/lean.rs` compares them).

mod decoding;
mod fixed;
mod matrix;

use burn::tensor::Tensor;

use crate::decoder::{ContextAttention, DecoderLayer};
use crate::linear::{Linear, ResidualNorm};
use crate::model::Model;
use crate::ops::kernels::residual_norm;
use crate::ops::{NORM_EPSILON, is_fused};
use crate::weights::Precision;
use crate::{Sources, embedding};

pub use crate::ops::kernels::most_probable::{MostProbable, Wanted};
pub use decoding::LeanDecoding;

use matrix::Matrix;

/// The decoder of a network, ready to decode on the CPU.
#[derive(Clone, Debug)]
pub struct LeanDecoder {
    width: usize,
    heads: usize,
    start_words: usize,
    /// `[vocabulary, width]`, scaled.
    embedding: Vec<f32>,
    /// `[positions, width]`
    positions: Vec<f32>,
    /// The tied output projection.
    output: Matrix,
    layers: Vec<Layer>,
}

#[derive(Clone, Debug)]
struct Layer {
    /// Query, key and value side by side.
    own: Matrix,
    own_output: Matrix,
    own_norm: Norm,
    cross: Looking,
    context: Option<ContextLooking>,
    hidden: Matrix,
    output: Matrix,
    norm: Norm,
}

/// An attention over keys and values that are projected already.
#[derive(Clone, Debug)]
struct Looking {
    query: Matrix,
    output: Matrix,
    norm: Norm,
}

#[derive(Clone, Debug)]
struct ContextLooking {
    looking: Looking,
    /// Weight and bias.
    gate: Option<(Vec<f32>, f32)>,
    is_parallel: bool,
    is_gated_after_norm: bool,
}

#[derive(Clone, Debug)]
struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    fn apply(&self, x: &mut [f32], update: &[f32]) {
        residual_norm::in_place(x, update, &self.gain, &self.bias, NORM_EPSILON as f32);
    }
}

impl Model {
    /// The decoder for the CPU, or nothing where the network is on another device.
    pub fn lean_decoder(&self) -> Option<LeanDecoder> {
        self.lean_decoder_in(Precision::Single)
    }

    /// As [`Self::lean_decoder`], with products in the precision that the weights were stored in.
    pub fn lean_decoder_in(&self, precision: Precision) -> Option<LeanDecoder> {
        let embedding = &self.decoder.embedding.weight.val();
        if !is_fused(embedding) {
            return None;
        }
        let config = self.config();
        let (width, vocabulary) = (config.width, config.target_vocabulary);
        let mut embedding = values(embedding.clone());
        let at = |i: usize, j: usize| embedding[j * width + i];
        let output = Matrix::new(precision, [width, vocabulary], at, &[]);
        let scale = (width as f64).sqrt() as f32;
        for value in &mut embedding {
            *value *= scale;
        }
        let layers = self.decoder.layers.iter().map(|layer| Layer::new(layer, precision));
        Some(LeanDecoder {
            width,
            heads: config.heads,
            start_words: config.start_words(),
            embedding,
            positions: embedding::sinusoids(config.max_positions, width),
            output,
            layers: layers.collect(),
        })
    }
}

impl LeanDecoder {
    /// Starts to translate encoded sources word by word.
    pub fn decode(&self, sources: &Sources) -> LeanDecoding<'_> {
        LeanDecoding::new(self, sources, &[])
    }

    /// As [`Self::decode`], where each translation is made of the words of a list, in ascending
    /// order: a fraction of the output projection for a fraction of the vocabulary.
    pub fn decode_among(&self, sources: &Sources, lists: &[Vec<u32>]) -> LeanDecoding<'_> {
        assert_eq!(lists.len(), sources.len(), "one list per sentence");
        LeanDecoding::new(self, sources, lists)
    }
}

impl Layer {
    fn new(layer: &DecoderLayer, precision: Precision) -> Self {
        let pack = |layers: &[&Linear]| pack(layers, precision);
        let own = &layer.self_attention;
        let looking = |attention: &crate::attention::Attention, norm: &ResidualNorm| Looking {
            query: pack(&[&attention.query]),
            output: pack(&[&attention.output]),
            norm: norm_of(norm),
        };
        let context = |context: &ContextAttention| ContextLooking {
            looking: looking(&context.attention, &context.norm),
            gate: context
                .gate
                .as_ref()
                .map(|gate| (values(gate.weight.val()), values(gate.bias.val())[0])),
            is_parallel: context.is_parallel(),
            is_gated_after_norm: context.is_gated_after_norm(),
        };
        Self {
            own: pack(&[&own.query, &own.key, &own.value]),
            own_output: pack(&[&own.output]),
            own_norm: norm_of(&layer.self_attention_norm),
            cross: looking(&layer.cross_attention, &layer.cross_attention_norm),
            context: layer.context.as_ref().map(context),
            hidden: pack(&[&layer.feed_forward.hidden]),
            output: pack(&[&layer.feed_forward.output]),
            norm: norm_of(&layer.feed_forward_norm),
        }
    }
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("the network is in single precision")
}

fn norm_of(norm: &ResidualNorm) -> Norm {
    Norm { gain: values(norm.gain.val()), bias: values(norm.bias.val()) }
}

/// Linear layers of the same input side by side, as one.
fn pack(layers: &[&Linear], precision: Precision) -> Matrix {
    let [inputs, outputs] = layers[0].weight.val().dims();
    let weights: Vec<Vec<f32>> = layers.iter().map(|layer| values(layer.weight.val())).collect();
    let bias: Vec<f32> = layers.iter().flat_map(|layer| values(layer.bias.val())).collect();
    let at = |i: usize, j: usize| weights[j / outputs][i * outputs + j % outputs];
    Matrix::new(precision, [inputs, outputs * layers.len()], at, &bias)
}
