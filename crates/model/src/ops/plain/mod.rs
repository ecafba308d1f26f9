//! The operations on tensors of the engine: they run on every device, and are the truth that the
//! fused ones are compared with.

mod attention;
mod loss;
mod normalise;
mod segment;

use burn::tensor::Tensor;
use burn::tensor::activation::relu;

use super::{Activation, AdamRates, AdamState, NORM_EPSILON, ResidualNorm};

pub use attention::{PaddedLayout, attention};
pub use loss::{label_smoothed_cross_entropy, projected_loss};
pub use normalise::{normalise_rows, normalise_segments};
pub use segment::{concatenate_windows, max_over_segments, sum_over_segments, weighted_sums};

/// See [`super::linear`].
pub fn linear(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    activation: Activation,
) -> Tensor<2> {
    let y = x.matmul(weight) + bias.unsqueeze();
    match activation {
        Activation::Identity => y,
        Activation::Rectifier => relu(y),
    }
}

/// See [`super::residual_norm`].
pub fn residual_norm(input: ResidualNorm) -> Tensor<2> {
    let update = match input.dropout {
        Some(mask) => mask.apply(input.update),
        None => input.update,
    };
    let x = input.residual + update;
    let centred = x.clone() - x.mean_dim(1);
    let variance = centred.clone().square().mean_dim(1);
    let scale = (variance + NORM_EPSILON).sqrt().recip();
    centred * scale * input.gain.unsqueeze() + input.bias.unsqueeze()
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
