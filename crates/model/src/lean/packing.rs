//! Weights for the lean decoder: packed from integers where a file has them, otherwise from values.

use std::sync::Arc;

use burn::module::Param;
use burn::tensor::Tensor;

use super::values;
use crate::attention::{Attention, FeedForward};
use crate::embedding::TokenEmbedding;
use crate::encoder::Encoder;
use crate::linear::Linear;
use crate::model::Model;
use crate::ops::kernels::int8_product::Int8Matrix;
use crate::ops::kernels::weight_matrix::WeightMatrix;
use crate::weights::{Integers, StoredIntegers, WeightPrecision};

/// Packs matrices in one precision.
pub(super) struct Packing<'a> {
    pub precision: WeightPrecision,
    pub integers: &'a StoredIntegers,
}

impl Packing<'_> {
    /// A linear layer.
    pub fn linear(&self, layer: &Linear) -> WeightMatrix {
        self.side_by_side(&[(&layer.weight, Some(&layer.bias))])
    }

    /// Weights (and biases) of the same shape and input, side by side in one matrix.
    pub fn side_by_side(
        &self,
        layers: &[(&Param<Tensor<2>>, Option<&Param<Tensor<1>>>)],
    ) -> WeightMatrix {
        let [inputs, outputs] = layers[0].0.lazy_shape().dims();
        let bias = layers.iter().flat_map(|(_, bias)| match bias {
            Some(bias) => values(bias.val()),
            None => vec![0.0; outputs],
        });
        let bias: Vec<f32> = bias.collect();
        let stored: Option<Vec<(&Integers, &[f32])>> =
            layers.iter().map(|(weight, _)| self.by_column(weight)).collect();
        if let Some(stored) = stored {
            let scales: Vec<f32> =
                stored.iter().flat_map(|(_, scales)| scales.iter().copied()).collect();
            let column = |j: usize| stored[j / outputs].0.column(j % outputs);
            let packed = Int8Matrix::of_columns(inputs, &scales, column, &bias);
            for (integers, _) in &stored {
                integers.release();
            }
            return WeightMatrix::Int8(packed);
        }
        let weights: Vec<Vec<f32>> =
            layers.iter().map(|(weight, _)| values(weight.val())).collect();
        let at = |i: usize, j: usize| weights[j / outputs][i * outputs + j % outputs];
        WeightMatrix::new(self.precision, [inputs, outputs * layers.len()], at, &bias)
    }

    /// The projection to the rows of a table, `[width, rows]`; its columns are the embeddings.
    pub fn projection(&self, table: &Param<Tensor<2>>, bias: &[f32]) -> WeightMatrix {
        let [rows, width] = table.lazy_shape().dims();
        if let Some((integers, scales)) = self.by_row(table) {
            let column = |j: usize| integers.row(j);
            let packed = Int8Matrix::of_columns(width, scales, column, bias);
            integers.release();
            return WeightMatrix::Int8(packed);
        }
        let table = values(table.val());
        WeightMatrix::new(self.precision, [width, rows], |i, j| table[j * width + i], bias)
    }

    /// The integers of a weight whose outputs have scales.
    fn by_column(&self, weight: &Param<Tensor<2>>) -> Option<(&Integers, &[f32])> {
        let integers = self.stored(weight)?;
        Some((integers, integers.column_scales()?))
    }

    /// The integers of a table whose rows have scales.
    fn by_row(&self, table: &Param<Tensor<2>>) -> Option<(&Integers, &[f32])> {
        let integers = self.stored(table)?;
        Some((integers, integers.row_scales()?))
    }

    fn stored(&self, parameter: &Param<Tensor<2>>) -> Option<&Integers> {
        let is_wanted = self.precision == WeightPrecision::Int8;
        self.integers.get(parameter.id).filter(|_| is_wanted)
    }

    /// Lets everything that reads sentences multiply with the integers of its file: both encoders,
    /// and the keys and values that the decoder makes of their states.
    pub fn pack_reading(&self, model: &mut Model, output: &Arc<WeightMatrix>) {
        let own = model.source_embedding.as_mut();
        if let Some(embedding) = own {
            let table = || Arc::new(self.projection(&embedding.weight, &[]));
            embedding.packed = self.by_row(&embedding.weight).map(|_| table());
        }
        let TokenEmbedding { weight, packed, .. } = &mut model.decoder.embedding;
        *packed = self.by_row(weight).map(|_| Arc::clone(output));
        let encoders = std::iter::once(&mut model.encoder).chain(&mut model.context_encoder);
        encoders.for_each(|encoder| self.pack_encoder(encoder));
        for layer in &mut model.decoder.layers {
            let context = layer.context.as_mut().map(|context| &mut context.attention);
            for Attention { key, value, .. } in
                std::iter::once(&mut layer.cross_attention).chain(context)
            {
                self.pack(key);
                self.pack(value);
            }
        }
    }

    fn pack_encoder(&self, encoder: &mut Encoder) {
        for layer in &mut encoder.layers {
            let Attention { query, key, value, output: attended, .. } = &mut layer.self_attention;
            let FeedForward { hidden, output, .. } = &mut layer.feed_forward;
            for linear in [query, key, value, attended, hidden, output] {
                self.pack(linear);
            }
        }
    }

    fn pack(&self, linear: &mut Linear) {
        if self.by_column(&linear.weight).is_some() {
            linear.packed = Some(Arc::new(self.linear(linear)));
        }
    }
}
