//! Layers on tensors of the engine.

use burn::tensor::Tensor;

use super::{Stage, Sublayer};
use crate::dropout::Dropout;
use crate::linear::ResidualNorm;
use crate::ops;

/// Where the layers of an encoder and of a decoder differ.
pub(crate) trait TensorLayer {
    /// The output of a sublayer for the states.
    ///
    /// # Shapes
    /// - x and result: `[words, width]`
    fn update(&mut self, sublayer: Sublayer, x: Tensor<2>) -> Tensor<2>;

    /// The normalisation of a sublayer.
    fn norm(&self, sublayer: Sublayer) -> &ResidualNorm;

    /// See [`Stage::gate`].
    fn gate(&self, rows: Tensor<2>) -> Tensor<2> {
        rows
    }
}

/// A layer with the dropout of its forward pass.
pub(crate) struct OnTensors<'a, L> {
    pub layer: L,
    pub dropout: &'a mut Dropout,
}

impl<L: TensorLayer> Stage for OnTensors<'_, L> {
    type Rows = Tensor<2>;

    fn update(&mut self, sublayer: Sublayer, x: &Tensor<2>) -> Tensor<2> {
        self.layer.update(sublayer, x.clone())
    }

    fn gate(&mut self, rows: Tensor<2>) -> Tensor<2> {
        self.layer.gate(rows)
    }

    fn norm(&mut self, sublayer: Sublayer, x: &Tensor<2>) -> Tensor<2> {
        self.layer.norm(sublayer).forward_alone(x.clone())
    }

    fn add(&mut self, sublayer: Sublayer, x: Tensor<2>, update: Tensor<2>) -> Tensor<2> {
        ops::residual(x, update, self.dropout.next_mask(sublayer.part()))
    }

    fn add_and_norm(&mut self, sublayer: Sublayer, x: Tensor<2>, update: Tensor<2>) -> Tensor<2> {
        let mask = self.dropout.next_mask(sublayer.part());
        self.layer.norm(sublayer).forward(x, update, mask)
    }

    fn sum(&mut self, x: Tensor<2>, y: Tensor<2>) -> Tensor<2> {
        x + y
    }

    fn copy(&mut self, x: &Tensor<2>) -> Tensor<2> {
        x.clone()
    }
}
