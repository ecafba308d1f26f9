//! Output projection and label-smoothed cross-entropy together, a few rows of logits at a time.
//!
//! The logits of a batch are its largest tensor by far. Here they exist for [`ROWS`] words at a
//! time: scored, turned into their gradient in place, multiplied back, discarded.

use super::product::{Matrix, MatrixMut, Output, Products};
use super::softmax::{exp, log_sum_exp};
use super::{sum_of, vectorised};

/// Rows of logits that exist at a time: enough to make it worth reading the whole vocabulary for
/// the products of the gradient.
const ROWS: usize = 256;

/// What is scored.
#[derive(Clone, Copy, Debug)]
pub struct Scored<'a> {
    /// `[words, width]`
    pub states: &'a [f32],
    /// `[vocabulary, width]`
    pub weight: &'a [f32],
    /// `[vocabulary]`, or empty.
    pub bias: &'a [f32],
    /// One true word per row of the states.
    pub targets: &'a [u32],
    /// Values per state.
    pub width: usize,
    /// The share of probability that the true word gives up.
    pub smoothing: f64,
    /// How products are computed.
    pub products: &'a Products,
}

/// Which gradients are wanted besides that of the states.
#[derive(Clone, Copy, Debug)]
pub struct Gradients {
    /// Of the weight; a product as large as that of the logits.
    pub of_weight: bool,
}

/// Sums over all words, and their gradients.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The label-smoothed loss.
    pub smoothed: f64,
    /// The negative log-likelihood.
    pub likelihood: f64,
    /// The log-probability of each true word.
    pub log_probabilities: Vec<f32>,
    /// The gradient of the smoothed loss, `[words, width]`, if wanted.
    pub states: Vec<f32>,
    /// `[vocabulary, width]`
    pub weight: Vec<f32>,
    /// `[vocabulary]`, or empty.
    pub bias: Vec<f32>,
}

/// With `e = smoothing / (V - 1)`, a word's loss is
/// `(1 - smoothing - e) * nll + e * sum over v of -log p(v)`, and the gradient of its logits is
/// `p - e`, and `1 - smoothing - e` less at the true word.
pub fn run(scored: Scored<'_>, gradients: Option<Gradients>) -> Outcome {
    let Scored { states, weight, bias, targets, width, smoothing, products } = scored;
    let vocabulary = weight.len() / width;
    let share = if smoothing == 0.0 { 0.0 } else { smoothing / (vocabulary as f64 - 1.0) };
    let rest = 1.0 - smoothing - share;
    let mut outcome = Outcome::default();
    if let Some(Gradients { of_weight }) = gradients {
        outcome.states = vec![0.0; states.len()];
        outcome.weight = vec![0.0; if of_weight { weight.len() } else { 0 }];
        outcome.bias = vec![0.0; bias.len()];
    }
    let mut buffer = vec![0.0; ROWS.min(targets.len()) * vocabulary];
    let weight = Matrix::packed(weight, width);
    for (chunk, targets) in targets.chunks(ROWS).enumerate() {
        let first = chunk * ROWS * width;
        let place = first..first + targets.len() * width;
        let logits = &mut buffer[..targets.len() * vocabulary];
        let states = Matrix::packed(&states[place.clone()], width);
        let output = if bias.is_empty() { Output::Overwrite } else { Output::Accumulate };
        if !bias.is_empty() {
            logits.chunks_exact_mut(vocabulary).for_each(|row| row.copy_from_slice(bias));
        }
        let out = MatrixMut::packed(logits, vocabulary);
        products.multiply(out, states, weight.transposed(), 1.0, output);
        for (row, &target) in logits.chunks_exact_mut(vocabulary).zip(targets) {
            let (log_sum, sum) = vectorised(
                #[inline(always)]
                || (log_sum_exp(row), if share > 0.0 { sum_of(row, |logit| logit) } else { 0.0 }),
            );
            let log_probability = row[target as usize] - log_sum;
            outcome.log_probabilities.push(log_probability);
            let likelihood = f64::from(-log_probability);
            let others = vocabulary as f64 * f64::from(log_sum) - f64::from(sum);
            outcome.likelihood += likelihood;
            outcome.smoothed += rest * likelihood + share * others;
            if gradients.is_some() {
                let share = share as f32;
                vectorised(
                    #[inline(always)]
                    || {
                        for logit in row.iter_mut() {
                            *logit = exp(*logit - log_sum) - share;
                        }
                    },
                );
                row[target as usize] -= rest as f32;
                for (sum, slope) in outcome.bias.iter_mut().zip(&*row) {
                    *sum += slope;
                }
            }
        }
        if let Some(Gradients { of_weight }) = gradients {
            let logits = Matrix::packed(logits, vocabulary);
            let out = MatrixMut::packed(&mut outcome.states[place], width);
            products.multiply(out, logits, weight, 1.0, Output::Overwrite);
            if of_weight {
                let out = MatrixMut::packed(&mut outcome.weight, width);
                products.multiply(out, logits.transposed(), states, 1.0, Output::Accumulate);
            }
        }
    }
    outcome
}
