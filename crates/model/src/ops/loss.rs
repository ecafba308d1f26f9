//! Label-smoothed cross-entropy.

use burn::tensor::Tensor;
use burn::tensor::activation::log_softmax;

use super::indices;

/// Sums over the scored tokens of a batch.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The label-smoothed loss, `[1]`: what is trained.
    pub smoothed: Tensor<1>,
    /// The negative log-likelihood, `[1]`: what perplexity is made of.
    pub likelihood: Tensor<1>,
    /// The number of scored tokens.
    pub tokens: usize,
}

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
