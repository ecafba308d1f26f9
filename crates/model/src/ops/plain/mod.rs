//! The operations on tensors of the engine: they run on every device, and are the reference for the
//! fused ones.

mod attention;
mod loss;
mod normalise;
mod recurrence;
mod segment;

use burn::tensor::activation::{gelu, relu, sigmoid, silu};
use burn::tensor::{DType, Tensor};

use super::kernels::activation::QUICK_GELU;
use super::{AdamRates, AdamState, Norm, ProductPrecision, ResidualNorm};
use crate::config::Activation;
use crate::dropout::DropoutMask;

pub use attention::{PaddedLayout, attend, attention, weighed_attention};
pub use loss::{label_smoothed_cross_entropy, projected_log_probabilities, projected_loss};
pub use normalise::{normalise_rows, normalise_segments};
pub use recurrence::{next_cell, recurrence};
pub use segment::{concatenate_windows, max_over_segments, sum_over_segments, weighted_sums};

/// A matrix product whose operands, and on this path also its result, are rounded; so is its gradient.
pub fn product(a: Tensor<2>, b: Tensor<2>, precision: ProductPrecision) -> Tensor<2> {
    let rounded = match precision {
        ProductPrecision::F32 => return a.matmul(b),
        ProductPrecision::Bf16 => DType::BF16,
        ProductPrecision::F16 => DType::F16,
    };
    let exact = a.dtype();
    a.cast(rounded).matmul(b.cast(rounded)).cast(exact)
}

/// See [`super::linear`].
pub fn linear(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    activation: Option<Activation>,
    precision: ProductPrecision,
) -> Tensor<2> {
    let y = product(x, weight, precision) + bias.unsqueeze();
    match activation {
        None => y,
        Some(Activation::Relu) => relu(y),
        Some(Activation::Silu) => silu(y),
        Some(Activation::Gelu) => gelu(y),
        Some(Activation::QuickGelu) => y.clone() * sigmoid(y * QUICK_GELU),
    }
}

/// See [`super::residual_norm`].
pub fn residual_norm(input: ResidualNorm) -> Tensor<2> {
    norm(residual(input.residual, input.update, input.dropout), input.norm)
}

/// See [`super::residual`].
pub fn residual(x: Tensor<2>, update: Tensor<2>, dropout: Option<DropoutMask>) -> Tensor<2> {
    let update = match dropout {
        Some(mask) => mask.apply(update),
        None => update,
    };
    x + update
}

/// See [`super::norm`].
pub fn norm(x: Tensor<2>, norm: Norm) -> Tensor<2> {
    let centred = x.clone() - x.mean_dim(1);
    let variance = centred.clone().square().mean_dim(1);
    let scale = (variance + norm.epsilon).sqrt().recip();
    centred * scale * norm.gain.unsqueeze() + norm.bias.unsqueeze()
}

/// See [`super::adam`].
pub fn adam<const D: usize>(
    parameter: Tensor<D>,
    state: AdamState,
    gradient: Tensor<1>,
    rates: AdamRates,
) -> (Tensor<D>, AdamState) {
    let AdamRates { beta_1, beta_2, epsilon, step, shrink, scale } = rates;
    let shape = parameter.dims();
    let gradient = gradient * scale;
    let mean = state.mean * beta_1 + gradient.clone() * (1.0 - beta_1);
    let square = state.square * beta_2 + gradient.square() * (1.0 - beta_2);
    let direction = mean.clone() / (square.clone().sqrt() + epsilon);
    let parameter = parameter * shrink - (direction * step).reshape(shape);
    (parameter, AdamState { mean, square })
}
