//! Weighted sums of the rows of each segment: one small product per segment.

use super::product::{Matrix, MatrixMut, Output, Products};
use crate::packed::Segments;

/// The input of the forward and the backward pass.
#[derive(Clone, Copy, Debug)]
pub struct WeightedRows<'a> {
    /// `[rows, width]`
    pub states: &'a [f32],
    /// `[rows, sums]`
    pub weights: &'a [f32],
    /// Which rows belong together.
    pub segments: &'a Segments,
    /// Values per state.
    pub width: usize,
    /// Weighted sums per segment.
    pub sums: usize,
    /// How products are computed.
    pub products: &'a Products,
}

impl WeightedRows<'_> {
    /// `[segments * sums, width]`
    pub fn forward(&self) -> Vec<f32> {
        let Self { segments, width, sums, .. } = *self;
        let mut out = vec![0.0; segments.len() * sums * width];
        for (out, range) in out.chunks_exact_mut((sums * width).max(1)).zip(segments.ranges()) {
            let states =
                Matrix::packed(&self.states[range.start * width..range.end * width], width);
            let weights = Matrix::packed(&self.weights[range.start * sums..range.end * sums], sums);
            let out = MatrixMut::packed(out, width);
            self.products.multiply(out, weights.transposed(), states, 1.0, Output::Overwrite);
        }
        out
    }

    /// The gradients of states and weights.
    pub fn backward(&self, gradient: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let Self { segments, width, sums, .. } = *self;
        let mut of_states = vec![0.0; self.states.len()];
        let mut of_weights = vec![0.0; self.weights.len()];
        for (gradient, range) in gradient.chunks_exact((sums * width).max(1)).zip(segments.ranges())
        {
            let gradient = Matrix::packed(gradient, width);
            let rows = range.start * width..range.end * width;
            let weights = range.start * sums..range.end * sums;
            self.products.multiply(
                MatrixMut::packed(&mut of_states[rows.clone()], width),
                Matrix::packed(&self.weights[weights.clone()], sums),
                gradient,
                1.0,
                Output::Overwrite,
            );
            self.products.multiply(
                MatrixMut::packed(&mut of_weights[weights], sums),
                Matrix::packed(&self.states[rows], width),
                gradient.transposed(),
                1.0,
                Output::Overwrite,
            );
        }
        (of_states, of_weights)
    }
}
