//! Label-smoothed cross-entropy.

use burn::tensor::Tensor;
use burn::tensor::activation::log_softmax;

use crate::ops::{Loss, Projection, indices, logits, read};

/// The true class has probability `1 - smoothing`, and the others share the rest evenly.
///
/// With `e = smoothing / (V - 1)`, a token's loss is
/// `(1 - smoothing - e) * nll + e * sum over v of -log p(v)`.
///
/// # Shapes
/// - logits: `[tokens, V]`, one row per entry of `targets`
pub fn label_smoothed_cross_entropy(logits: Tensor<2>, targets: &[u32], smoothing: f64) -> Loss {
    let [tokens, classes] = logits.dims();
    assert_eq!(tokens, targets.len(), "one row of logits per target token");
    let device = logits.device();
    let log_probabilities = log_softmax(logits, 1);
    let truth = indices(targets.iter().map(|&token| token as usize), &device);
    let likelihood = log_probabilities.clone().gather(1, truth.reshape([tokens, 1])).sum().neg();
    let share = smoothing / (classes as f64 - 1.0);
    let smoothed = if smoothing == 0.0 {
        likelihood.clone()
    } else {
        likelihood.clone() * (1.0 - smoothing - share) - log_probabilities.sum() * share
    };
    Loss { smoothed, likelihood, tokens }
}

/// See [`crate::ops::projected_log_probabilities`].
pub fn projected_log_probabilities(
    states: Tensor<2>,
    projection: Projection,
    targets: &[u32],
) -> Vec<f32> {
    let truth = indices(targets.iter().map(|&token| token as usize), &states.device());
    let all = log_softmax(logits(states, projection), 1);
    let of_targets = all.gather(1, truth.reshape([targets.len(), 1]));
    read(of_targets).unwrap_or_else(|error| panic!("{error}"))
}

/// See [`crate::ops::projected_loss`].
pub fn projected_loss(
    states: Tensor<2>,
    projection: Projection,
    targets: &[u32],
    smoothing: f64,
) -> Loss {
    label_smoothed_cross_entropy(logits(states, projection), targets, smoothing)
}
