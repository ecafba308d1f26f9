//! The two smallest modules: a linear layer and a layer normalisation.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use crate::config::Activation;
use crate::dropout::DropoutMask;
use crate::init::{Init, Values};
use crate::ops::kernels::weight_matrix::WeightMatrix;
use crate::ops::{self, Products};

/// `x W + b`.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[inputs, outputs]`
    pub weight: Param<Tensor<2>>,
    /// `[outputs]`
    pub bias: Param<Tensor<1>>,
    #[module(skip)]
    pub(crate) products: Products,
    /// The same weight and bias, packed for translation; then the parameters are not used.
    #[module(skip)]
    pub(crate) packed: Option<Arc<WeightMatrix>>,
}

impl Linear {
    /// # Shapes
    /// - x: `[rows, inputs]`
    /// - result: `[rows, outputs]`
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.product(x, None)
    }

    /// `activation(x W + b)`
    pub fn forward_activated(&self, x: Tensor<2>, activation: Activation) -> Tensor<2> {
        self.product(x, Some(activation))
    }

    fn product(&self, x: Tensor<2>, activation: Option<Activation>) -> Tensor<2> {
        if let Some(packed) = &self.packed {
            return ops::packed_linear(x, packed, activation);
        }
        ops::linear(x, self.weight.val(), self.bias.val(), activation, &self.products)
    }

    /// [`Self::forward`] of `x`, whose value is known as `product`: see [`ops::linear_again`].
    pub fn forward_again(&self, product: Tensor<2>, x: Tensor<2>) -> Tensor<2> {
        ops::linear_again(product, x, self.weight.val(), self.bias.val(), &self.products)
    }

    /// The product without the bias, for what is added to an input whose projection already has it.
    pub fn forward_without_bias(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.val())
    }
}

/// A layer normalisation, with the residual before or after it.
#[derive(Module, Debug)]
pub struct ResidualNorm {
    /// `[width]`
    pub gain: Param<Tensor<1>>,
    /// `[width]`
    pub bias: Param<Tensor<1>>,
    epsilon: f64,
}

impl ResidualNorm {
    pub(crate) fn new(width: usize, epsilon: f64, init: &mut Init<'_>) -> Self {
        Self {
            gain: init.parameter([width], Values::Constant(1.0)),
            bias: init.parameter([width], Values::Constant(0.0)),
            epsilon,
        }
    }

    /// What is added to the variance.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// `LayerNorm(residual + Dropout(update))`
    ///
    /// # Shapes
    /// - residual, update and result: `[rows, width]`
    pub fn forward(
        &self,
        residual: Tensor<2>,
        update: Tensor<2>,
        dropout: Option<DropoutMask>,
    ) -> Tensor<2> {
        let norm = self.norm();
        ops::residual_norm(ops::ResidualNorm { residual, update, dropout, norm })
    }

    /// `LayerNorm(x)`
    ///
    /// # Shapes
    /// - x and result: `[rows, width]`
    pub fn forward_alone(&self, x: Tensor<2>) -> Tensor<2> {
        ops::norm(x, self.norm())
    }

    fn norm(&self) -> ops::Norm {
        ops::Norm { gain: self.gain.val(), bias: self.bias.val(), epsilon: self.epsilon }
    }
}
