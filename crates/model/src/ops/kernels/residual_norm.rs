//! `LayerNorm(residual + Dropout(update))`, one row after the other, or `LayerNorm(residual)`.

use super::{sum_of, sum_of_pairs, vectorised};
use crate::dropout::DropoutMask;

/// What the backward pass needs.
#[derive(Clone, Debug, Default)]
pub struct Normed {
    /// The rows before gain and bias, `[rows, width]`.
    pub standard: Vec<f32>,
    /// One over the standard deviation of each row.
    pub scale: Vec<f32>,
}

/// The input of the forward and the backward pass.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// `[width]`
    pub gain: &'a [f32],
    /// The dropout of the update.
    pub dropout: Option<DropoutMask>,
    /// Added to the variance.
    pub epsilon: f32,
}

/// Returns the rows and what the backward pass needs. An empty update means none.
pub fn forward(
    residual: &[f32],
    update: &[f32],
    bias: &[f32],
    norm: Norm<'_>,
) -> (Vec<f32>, Normed) {
    let width = norm.gain.len();
    let mut rows = vec![0.0; residual.len()];
    let mut normed =
        Normed { standard: vec![0.0; residual.len()], scale: vec![0.0; residual.len() / width] };
    vectorised(
        #[inline(always)]
        || {
            let updates = update.chunks_exact(width).map(Some).chain(std::iter::repeat(None));
            let inputs = residual.chunks_exact(width).zip(updates);
            let outputs = rows
                .chunks_exact_mut(width)
                .zip(normed.standard.chunks_exact_mut(width))
                .zip(&mut normed.scale);
            for (row, ((residual, update), ((out, standard), scale))) in
                inputs.zip(outputs).enumerate()
            {
                match (update, norm.dropout) {
                    (None, _) => standard.copy_from_slice(residual),
                    (Some(update), None) => {
                        for ((x, &residual), &update) in
                            standard.iter_mut().zip(residual).zip(update)
                        {
                            *x = residual + update;
                        }
                    }
                    (Some(update), Some(mask)) => {
                        let first = row * width;
                        for (j, ((x, &residual), &update)) in
                            standard.iter_mut().zip(residual).zip(update).enumerate()
                        {
                            *x = residual + update * mask.factor(first + j);
                        }
                    }
                }
                let mean = sum_of(standard, |x| x) / width as f32;
                let variance = sum_of(standard, |x| (x - mean) * (x - mean)) / width as f32;
                *scale = 1.0 / (variance + norm.epsilon).sqrt();
                for (((x, out), &gain), &bias) in
                    standard.iter_mut().zip(out).zip(norm.gain).zip(bias)
                {
                    *x = (*x - mean) * *scale;
                    *out = *x * gain + bias;
                }
            }
        },
    );
    (rows, normed)
}

/// `LayerNorm(x + update)` in place, if nothing has to be kept. An empty update means none.
pub fn in_place(x: &mut [f32], update: &[f32], gain: &[f32], bias: &[f32], epsilon: f32) {
    let width = gain.len();
    vectorised(
        #[inline(always)]
        || {
            let mut updates = update.chunks_exact(width);
            for x in x.chunks_exact_mut(width) {
                for (x, update) in x.iter_mut().zip(updates.next().unwrap_or_default()) {
                    *x += update;
                }
                let mean = sum_of(x, |x| x) / width as f32;
                let variance = sum_of(x, |x| (x - mean) * (x - mean)) / width as f32;
                let scale = 1.0 / (variance + epsilon).sqrt();
                for ((x, gain), bias) in x.iter_mut().zip(gain).zip(bias) {
                    *x = (*x - mean) * scale * gain + bias;
                }
            }
        },
    );
}

/// The gradients of all inputs.
#[derive(Debug)]
pub struct NormGradients {
    /// `[rows, width]`
    pub residual: Vec<f32>,
    /// `[rows, width]`
    pub update: Vec<f32>,
    /// `[width]`
    pub gain: Vec<f32>,
    /// `[width]`
    pub bias: Vec<f32>,
}

/// The backward pass. With `x̂` the standardised row and `t = gain * gradient`, the row's gradient
/// is
/// `(t - mean(t) - x̂ mean(t x̂)) / deviation`.
pub fn backward(gradient: &[f32], normed: &Normed, norm: Norm<'_>) -> NormGradients {
    let width = norm.gain.len();
    let mut gradients = NormGradients {
        residual: vec![0.0; gradient.len()],
        update: vec![0.0; if norm.dropout.is_some() { gradient.len() } else { 0 }],
        gain: vec![0.0; width],
        bias: vec![0.0; width],
    };
    vectorised(
        #[inline(always)]
        || {
            let inputs = gradient
                .chunks_exact(width)
                .zip(normed.standard.chunks_exact(width))
                .zip(&normed.scale);
            let outputs = gradients.residual.chunks_exact_mut(width);
            for (((gradient, standard), &scale), out) in inputs.zip(outputs) {
                for ((out, &gradient), &gain) in out.iter_mut().zip(gradient).zip(norm.gain) {
                    *out = gradient * gain;
                }
                let mean = sum_of(out, |t| t) / width as f32;
                let slope = sum_of_pairs(out, standard, |t, x| t * x) / width as f32;
                for (out, &x) in out.iter_mut().zip(standard) {
                    *out = (*out - mean - x * slope) * scale;
                }
                for ((sum, &gradient), &x) in gradients.gain.iter_mut().zip(gradient).zip(standard)
                {
                    *sum += gradient * x;
                }
                for (sum, &gradient) in gradients.bias.iter_mut().zip(gradient) {
                    *sum += gradient;
                }
            }
            if let Some(mask) = norm.dropout {
                for (i, (out, &gradient)) in
                    gradients.update.iter_mut().zip(&gradients.residual).enumerate()
                {
                    *out = gradient * mask.factor(i);
                }
            }
        },
    );
    gradients
}
