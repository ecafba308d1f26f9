//! The expensive operations, on packed tokens; they know nothing about models.
//!
//! Everything else in this crate calls these functions and does not know how they are computed.
//! Each exists twice: in `plain`, on tensors of the engine, which runs on every device and is
//! the reference in tests, and in `fused`, for the CPU, forward and backward, built from the loops
//! in
//! `kernels`. [`is_fused`] chooses.

mod buckets;
mod fixed_attention;
mod fused;
pub(crate) mod kernels;
mod layout;
mod plain;
#[cfg(test)]
mod tests;
mod transfers;

use burn::tensor::{DType, Device, Tensor};

use crate::config::{Activation, Normaliser};
use crate::device::is_cpu;
use crate::dropout::DropoutMask;
use crate::packed::Segments;
use crate::{Error, Result};

pub use abridge_machine::bf16::Kind as Bf16Kind;
pub use abridge_machine::int8::Path as Int8Path;
pub use fixed_attention::{FixedKeys, fixed_attention};
pub use kernels::adam::Rates as AdamRates;
pub use kernels::product::{Matrix, MatrixMut, Output, Products, Tally};
use kernels::weight_matrix::WeightMatrix;
pub use kernels::{Instructions, ProductPrecision};
pub use layout::{AttentionLayout, Block};
pub(crate) use plain::{attend, next_cell};
pub use plain::{
    concatenate_windows, label_smoothed_cross_entropy, max_over_segments, sum_over_segments,
};
pub(crate) use transfers::indices;
pub use transfers::{TRANSFERS, read, read_all, upload};

/// Whether the fused operations apply to this tensor: `f32` on the CPU, unless the feature
/// `plain-operations` turns them off.
pub fn is_fused<const D: usize>(x: &Tensor<D>) -> bool {
    x.dtype() == DType::F32 && runs_fused(&x.device())
}

/// Whether the fused operations run on this device.
pub(crate) fn runs_fused(device: &Device) -> bool {
    !cfg!(feature = "plain-operations") && is_cpu(device)
}

/// Fails if this device cannot multiply in this precision.
pub fn check_precision(precision: ProductPrecision, device: &Device) -> Result<()> {
    let can = match precision {
        ProductPrecision::F32 => true,
        ProductPrecision::Bf16 => runs_fused(device) || device.supports_dtype(DType::BF16),
        ProductPrecision::F16 => !runs_fused(device) && device.supports_dtype(DType::F16),
    };
    if can {
        return Ok(());
    }
    Err(Error::Device(format!(
        "this device does not multiply in {precision}; use another precision (optimisation.precision, \
         --precision), or another --device"
    )))
}

/// `activation(x W + b)`, or `x W + b`.
///
/// # Shapes
/// - x: `[rows, inputs]`, weight: `[inputs, outputs]`, bias: `[outputs]`
/// - result: `[rows, outputs]`
pub fn linear(
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    activation: Option<Activation>,
    products: &Products,
) -> Tensor<2> {
    if is_fused(&x) {
        fused::linear(x, weight, bias, activation, products)
    } else {
        plain::linear(x, weight, bias, activation, products.precision)
    }
}

/// [`linear`] with a weight that was packed for translation, on the CPU and without a gradient.
pub(crate) fn packed_linear(
    x: Tensor<2>,
    weight: &WeightMatrix,
    activation: Option<Activation>,
) -> Tensor<2> {
    fused::packed_linear(x, weight, activation)
}

/// `x W + b` whose value is already known as `product`, computed from the same values as `x`
/// without their gradient.
///
/// One product thus serves memory slots whose gradients reach differently far: all of them train
/// the weight, some also what was projected. The result has the value of `product`, and its
/// gradient goes to `product` and, through the weight, to `x`.
///
/// # Shapes
/// - product: `[rows, outputs]`, x: `[rows, inputs]`
pub fn linear_again(
    product: Tensor<2>,
    x: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    products: &Products,
) -> Tensor<2> {
    if is_fused(&x) {
        fused::linear_again(product, x, weight, products)
    } else {
        plain::linear(x, weight, bias, None, products.precision)
    }
}

/// A layer normalisation.
#[derive(Clone, Debug)]
pub struct Norm {
    /// `[width]`
    pub gain: Tensor<1>,
    /// `[width]`
    pub bias: Tensor<1>,
    /// Added to the variance.
    pub epsilon: f64,
}

/// `LayerNorm(x)`, as before every sublayer (pre-norm).
///
/// # Shapes
/// - x and result: `[rows, width]`
pub fn norm(x: Tensor<2>, norm: Norm) -> Tensor<2> {
    if is_fused(&x) { fused::norm(x, norm) } else { plain::norm(x, norm) }
}

/// `x + Dropout(update)`
///
/// # Shapes
/// - x, update and result: `[rows, width]`
pub fn residual(x: Tensor<2>, update: Tensor<2>, dropout: Option<DropoutMask>) -> Tensor<2> {
    plain::residual(x, update, dropout)
}

/// Input of [`residual_norm`].
#[derive(Debug)]
pub struct ResidualNorm {
    /// The input of the sublayer, `[rows, width]`.
    pub residual: Tensor<2>,
    /// The output of the sublayer, `[rows, width]`.
    pub update: Tensor<2>,
    /// The dropout of `update`.
    pub dropout: Option<DropoutMask>,
    /// The normalisation.
    pub norm: Norm,
}

/// `LayerNorm(residual + Dropout(update))`, as after every sublayer (post-norm).
///
/// # Shapes
/// - result: `[rows, width]`
pub fn residual_norm(input: ResidualNorm) -> Tensor<2> {
    if is_fused(&input.update) { fused::residual_norm(input) } else { plain::residual_norm(input) }
}

/// A simpler simple recurrent unit over the rows of each segment: with `f = sigmoid(forget)` and
/// candidates `x`, the cell is `c_t = f_t c_{t-1} + (1 - f_t) x_t`, from zero, and the output
/// `max(0, c_t)`.
///
/// # Shapes
/// - candidates, forget and result: `[rows, width]`
pub fn recurrence(candidates: Tensor<2>, forget: Tensor<2>, segments: &Segments) -> Tensor<2> {
    if is_fused(&candidates) {
        fused::recurrence(candidates, forget, segments)
    } else {
        plain::recurrence(candidates, forget, segments)
    }
}

/// Projected keys and values, row by row.
#[derive(Clone, Debug)]
pub struct KeyValue {
    /// `[rows, width]`
    pub key: Tensor<2>,
    /// `[rows, width]`
    pub value: Tensor<2>,
}

/// Input of [`attention`].
#[derive(Debug)]
pub struct AttentionInput<'a> {
    /// Projected queries, `[query rows, width]`.
    pub query: Tensor<2>,
    /// Projected keys and values, `[key rows, width]`.
    pub keys: &'a KeyValue,
    /// What is added to the keys and values of each slot, `[slots, width]`.
    pub shifts: Option<&'a KeyValue>,
    /// Which key rows each query segment sees.
    pub layout: &'a AttentionLayout,
    /// The number of heads that `width` is divided among.
    pub heads: usize,
    /// How products are computed if they are fused.
    pub products: &'a Products,
}

/// Scaled dot-product attention of each query segment over its key rows.
///
/// A segment that sees no keys gets zeros.
///
/// # Shapes
/// - result: `[query rows, width]`
pub fn attention(input: AttentionInput<'_>) -> Tensor<2> {
    let rows = input.query.dims()[0];
    assert_eq!(rows, input.layout.queries().rows(), "the layout belongs to other queries");
    if is_fused(&input.query) { fused::attention(input) } else { plain::attention(input) }
}

/// The output of an attention, and its weights.
#[derive(Debug)]
pub struct Weighed {
    /// As [`attention`] returns it.
    pub rows: Tensor<2>,
    /// For each query segment and each of its queries the weights of the keys that it sees, averaged
    /// over heads.
    pub weights: Vec<Vec<Vec<f32>>>,
}

/// [`attention`] with its weights.
pub fn weighed_attention(input: AttentionInput<'_>) -> Weighed {
    if is_fused(&input.query) {
        fused::weighed_attention(input)
    } else {
        plain::weighed_attention(input)
    }
}

/// Weights over the columns of each row: each token's distribution over groups.
///
/// # Shapes
/// - scores and result: `[tokens, groups]`
pub fn normalise_rows(scores: Tensor<2>, normaliser: Normaliser) -> Tensor<2> {
    if is_fused(&scores) {
        fused::normalise(scores, None, normaliser)
    } else {
        plain::normalise_rows(scores, normaliser)
    }
}

/// Weights over the rows of each segment, for every column: each group's distribution over tokens.
///
/// # Shapes
/// - scores and result: `[tokens, groups]`
pub fn normalise_segments(
    scores: Tensor<2>,
    segments: &Segments,
    normaliser: Normaliser,
) -> Tensor<2> {
    if is_fused(&scores) {
        fused::normalise(scores, Some(segments), normaliser)
    } else {
        plain::normalise_segments(scores, segments, normaliser)
    }
}

/// For each segment and each column of weights the weighted sum of the segment's rows.
///
/// # Shapes
/// - states: `[rows, width]`, weights: `[rows, sums]`
/// - result: `[segments * sums, width]`
pub fn weighted_sums(
    states: Tensor<2>,
    weights: Tensor<2>,
    segments: &Segments,
    products: &Products,
) -> Tensor<2> {
    if is_fused(&states) {
        fused::weighted_sums(states, weights, segments, products)
    } else {
        plain::weighted_sums(states, weights, segments)
    }
}

/// Sums over the scored tokens of a batch.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The label-smoothed loss, `[1]`, which training minimises.
    pub smoothed: Tensor<1>,
    /// The negative log-likelihood, `[1]`, from which perplexity is computed. It has no gradient.
    pub likelihood: Tensor<1>,
    /// The number of scored tokens.
    pub tokens: usize,
}

/// The projection from states to scores of words.
#[derive(Clone, Debug)]
pub struct Projection {
    /// `[vocabulary, width]`
    pub weight: Tensor<2>,
    /// `[vocabulary]`
    pub bias: Option<Tensor<1>>,
    /// How products are computed if they are fused.
    pub products: Products,
}

/// The label-smoothed loss of states under an output projection.
///
/// See [`label_smoothed_cross_entropy`] of the logits `states weight^T + bias`; if it is fused, not
/// all logits exist at once.
///
/// # Shapes
/// - states: `[tokens, width]`, one row per entry of `targets`
pub fn projected_loss(
    states: Tensor<2>,
    projection: Projection,
    targets: &[u32],
    smoothing: f64,
) -> Loss {
    assert_eq!(states.dims()[0], targets.len(), "one state per target token");
    if is_fused(&states) {
        fused::projected_loss(states, projection, targets, smoothing)
    } else {
        plain::projected_loss(states, projection, targets, smoothing)
    }
}

/// `states weight^T + bias`: one score per word.
///
/// # Shapes
/// - states: `[rows, width]`
/// - result: `[rows, vocabulary]`
pub fn logits(states: Tensor<2>, projection: Projection) -> Tensor<2> {
    // The fused operations never write out the logits of training, so these are f32.
    let precision =
        if is_fused(&states) { ProductPrecision::F32 } else { projection.products.precision };
    let logits = plain::product(states, projection.weight.transpose(), precision);
    match projection.bias {
        Some(bias) => logits + bias.unsqueeze(),
        None => logits,
    }
}

/// The log-probability of each target word under an output projection, without a gradient.
///
/// See [`projected_loss`]; if it is fused, not all logits exist at once.
///
/// # Shapes
/// - states: `[tokens, width]`, one row per entry of `targets`
pub fn projected_log_probabilities(
    states: Tensor<2>,
    projection: Projection,
    targets: &[u32],
) -> Vec<f32> {
    assert_eq!(states.dims()[0], targets.len(), "one state per target token");
    if is_fused(&states) {
        fused::projected_log_probabilities(states, projection, targets)
    } else {
        plain::projected_log_probabilities(states, projection, targets)
    }
}

/// The running means of a gradient and of its square, `[values]` each.
#[derive(Clone, Debug)]
pub struct AdamState {
    /// Of the gradient.
    pub mean: Tensor<1>,
    /// Of its square.
    pub square: Tensor<1>,
}

/// One update of Adam with decoupled decay: with `g = scale * gradient`,
/// `m = beta_1 m + (1 - beta_1) g`, `v = beta_2 v + (1 - beta_2) g²`, and the parameter becomes
/// `shrink * parameter - step * m / (sqrt(v) + epsilon)`.
///
/// Fused, it is one pass, in place if the tensors are not shared. None of them is in a graph.
pub fn adam<const D: usize>(
    parameter: Tensor<D>,
    state: AdamState,
    gradient: Tensor<1>,
    rates: AdamRates,
) -> (Tensor<D>, AdamState) {
    if is_fused(&parameter) {
        fused::adam(parameter, state, gradient, rates)
    } else {
        plain::adam(parameter, state, gradient, rates)
    }
}

/// The sum of the squares of all values of some tensors.
pub fn square_sum(parts: &[Tensor<1>]) -> Result<f64> {
    match deferred_square_sum(parts) {
        Some(sum) => Ok(read(sum)?.into_iter().map(f64::from).sum()),
        None => Ok(parts.iter().map(|part| fused::square_sum(part.clone())).sum()),
    }
}

/// [`square_sum`] as a tensor, `[1]`, so that it can be read together with other values; `None` where
/// the fused sum is to be taken, which has nothing to wait for.
pub fn deferred_square_sum(parts: &[Tensor<1>]) -> Option<Tensor<1>> {
    if parts.iter().all(is_fused) {
        return None;
    }
    let squares = parts.iter().map(|part| part.clone().square().sum()).collect();
    Some(Tensor::cat(squares, 0).sum())
}
