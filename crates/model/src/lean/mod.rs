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
mod packing;

use std::sync::Arc;

use burn::module::Param;
use burn::tensor::Tensor;

use crate::Sources;
use crate::linear::ResidualNorm;
use crate::model::Model;
use crate::ops::kernels::residual_norm;
use crate::ops::kernels::weight_matrix::WeightMatrix;
use crate::ops::runs_fused;
use crate::sublayers::Order;
use crate::weights::{StoredIntegers, WeightPrecision};

pub use crate::ops::kernels::most_probable::{MostProbable, Wanted};
pub use decoding::LeanDecoding;

use layer::Layer;
use packing::Packing;

/// The decoder of a network, ready to decode on the CPU.
#[derive(Clone, Debug)]
pub struct LeanDecoder {
    width: usize,
    heads: usize,
    start_word: u32,
    start_words: usize,
    /// Whether the first word is a zero vector.
    starts_from_zero: bool,
    /// What embeddings are multiplied by.
    embedding_scale: f32,
    /// `[positions, width]`
    positions: Vec<f32>,
    order: Order,
    layers: Vec<Layer>,
    /// After the last layer, if layers normalise before their sublayers.
    norm: Option<Norm>,
    /// The output projection, `[width, vocabulary]`, whose columns are the embeddings.
    output: Arc<WeightMatrix>,
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
        let packing = Packing { precision, integers: &StoredIntegers::default() };
        runs_fused(&self.device()).then(|| LeanDecoder::new(self, &packing))
    }

    /// The network as translation uses it, and its decoder for the CPU; on another device, the
    /// network as it is.
    ///
    /// What is stored as integers is multiplied as integers, wherever sentences are read or
    /// translated; the rest of the network keeps its values for other uses.
    #[must_use]
    pub fn for_translation(
        mut self,
        precision: WeightPrecision,
        integers: &StoredIntegers,
    ) -> (Self, Option<LeanDecoder>) {
        if !runs_fused(&self.device()) {
            return (self, None);
        }
        let packing = Packing { precision, integers };
        let lean = LeanDecoder::new(&self, &packing);
        packing.pack_reading(&mut self, &lean.output);
        (self, Some(lean))
    }
}

impl LeanDecoder {
    fn new(model: &Model, packing: &Packing<'_>) -> Self {
        let (config, decoder) = (model.config(), &model.decoder);
        let bias = decoder.output_bias.as_ref().map(Param::val).map(values).unwrap_or_default();
        let layers = decoder.layers.iter().map(|layer| Layer::new(layer, packing));
        Self {
            width: config.width,
            heads: config.heads,
            start_word: config.start_word(),
            start_words: config.start_words(),
            starts_from_zero: decoder.starts_from_zero(0),
            embedding_scale: config.embedding_factor() as f32,
            positions: config.positions.table(config.max_positions, config.width),
            order: decoder.order(),
            layers: layers.collect(),
            norm: decoder.norm.as_ref().map(Norm::new),
            output: Arc::new(packing.projection(&decoder.embedding.weight, &bias)),
        }
    }

    /// Starts to translate encoded sources word by word.
    pub fn decode(&self, sources: &Sources) -> LeanDecoding<'_> {
        self.decode_among(sources.clone(), &[])
    }

    /// Like [`Self::decode`], with each translation restricted to a list of words in ascending
    /// order, unless there are no lists: only their part of the output projection is computed. The
    /// sources are rearranged layer by layer, and what was rearranged is freed.
    pub fn decode_among(&self, sources: Sources, lists: &[Vec<u32>]) -> LeanDecoding<'_> {
        assert!(lists.is_empty() || lists.len() == sources.len(), "one list per sentence, or none");
        LeanDecoding::new(self, sources, lists)
    }
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("the network is in single precision")
}
