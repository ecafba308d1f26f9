//! The operations that cost time, on packed tokens, and nothing about models.
//!
//! Everything else in this crate calls these functions and does not know how they are computed.
//! This is the plain version on tensors of the engine, which runs on every device and is the truth
//! that faster versions are compared with; a device with fused kernels will be chosen here.

mod attention;
mod fixed_attention;
mod loss;
mod normalise;
mod segment;

use burn::tensor::Device;
use burn::tensor::{Int, Tensor, TensorData};

use crate::dropout::DropoutMask;

pub use attention::{AttentionInput, AttentionLayout, Block, KeyValue, attention};
pub use fixed_attention::{FixedKeys, fixed_attention};
pub use loss::{Loss, label_smoothed_cross_entropy};
pub use normalise::{normalise_rows, normalise_segments};
pub use segment::{concatenate_windows, max_over_segments, sum_over_segments, weighted_sums};

/// `x W + b`.
///
/// # Shapes
/// - x: `[rows, inputs]`, weight: `[inputs, outputs]`, bias: `[outputs]`
/// - result: `[rows, outputs]`
pub fn linear(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    x.matmul(weight) + bias.unsqueeze()
}

/// The epsilon of every layer normalisation.
const NORM_EPSILON: f64 = 1e-5;

/// Input of [`residual_norm`].
#[derive(Debug)]
pub struct ResidualNorm {
    /// What the sublayer was given, `[rows, width]`.
    pub residual: Tensor<2>,
    /// What the sublayer returned, `[rows, width]`.
    pub update: Tensor<2>,
    /// What is dropped of `update`.
    pub dropout: Option<DropoutMask>,
    /// The gain of the normalisation, `[width]`.
    pub gain: Tensor<1>,
    /// The bias of the normalisation, `[width]`.
    pub bias: Tensor<1>,
}

/// `LayerNorm(residual + Dropout(update))`: what stands around every sublayer (post-norm).
///
/// # Shapes
/// - result: `[rows, width]`
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

/// Row numbers as a tensor that `select` takes.
pub(crate) fn indices(rows: impl IntoIterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i64> = rows.into_iter().map(|row| row as i64).collect();
    let count = rows.len();
    Tensor::from_data(TensorData::new(rows, [count]), device)
}
