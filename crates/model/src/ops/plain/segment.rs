//! Operations that turn the rows of each segment into fewer rows.

use burn::tensor::{Bool, Device, Int, Tensor};

use crate::ops::{indices, upload};
use crate::packed::Segments;

/// The padded view of packed rows, for operations that need a rectangle.
pub(super) struct Padding {
    segments: usize,
    longest: usize,
    /// `[segments * longest]`; padding repeats row 0.
    rows: Tensor<1, Int>,
    /// For each packed row its row in the padded view.
    restore: Tensor<1, Int>,
    absent: Tensor<3, Bool>,
}

impl Padding {
    pub fn new(segments: &Segments, device: &Device) -> Self {
        let longest = segments.lengths().max().unwrap_or(0).max(1);
        let mut rows = Vec::with_capacity(segments.len() * longest);
        let mut restore = Vec::with_capacity(segments.rows());
        let mut absent = Vec::with_capacity(segments.len() * longest);
        for (index, range) in segments.ranges().enumerate() {
            restore.extend(index * longest..index * longest + range.len());
            absent.resize(absent.len() + range.len(), false);
            rows.extend(range);
            rows.resize((index + 1) * longest, 0);
            absent.resize((index + 1) * longest, true);
        }
        Self {
            segments: segments.len(),
            longest,
            rows: indices(rows, device),
            restore: indices(restore, device),
            absent: upload(absent, [segments.len(), longest, 1], device),
        }
    }

    /// `[rows, channels]` becomes `[segments, longest, channels]`.
    pub fn pad(&self, packed: Tensor<2>) -> Tensor<3> {
        let channels = packed.dims()[1];
        packed.select(0, self.rows.clone()).reshape([self.segments, self.longest, channels])
    }

    /// The inverse of [`Self::pad`].
    pub fn unpad(&self, padded: Tensor<3>) -> Tensor<2> {
        let channels = padded.dims()[2];
        padded.reshape([self.segments * self.longest, channels]).select(0, self.restore.clone())
    }

    /// `[segments, longest, 1]`, true where a segment has no row.
    pub fn absent(&self) -> Tensor<3, Bool> {
        self.absent.clone()
    }
}

/// See [`crate::ops::weighted_sums`].
pub fn weighted_sums(states: Tensor<2>, weights: Tensor<2>, segments: &Segments) -> Tensor<2> {
    let width = states.dims()[1];
    let sums = weights.dims()[1];
    let padding = Padding::new(segments, &states.device());
    let weights = padding.pad(weights);
    let absent = padding.absent().expand(weights.shape());
    let weights = weights.mask_fill(absent, 0.0);
    weights.swap_dims(1, 2).matmul(padding.pad(states)).reshape([segments.len() * sums, width])
}

/// The sum of each segment's rows, times the segment's factor.
///
/// # Shapes
/// - states: `[rows, width]`, one factor per segment
/// - result: `[segments, width]`
pub fn sum_over_segments(states: Tensor<2>, segments: &Segments, factors: &[f64]) -> Tensor<2> {
    let weights: Vec<f32> = segments
        .lengths()
        .zip(factors)
        .flat_map(|(length, &factor)| std::iter::repeat_n(factor as f32, length))
        .collect();
    let weights = upload(weights, [segments.rows(), 1], &states.device());
    crate::ops::weighted_sums(states, weights, segments, &crate::ops::Products::default())
}

/// The largest value of each channel over each segment of at most `window` rows.
///
/// With `zero_fill`, the missing rows of a shorter segment count as zeros.
///
/// # Shapes
/// - states: `[rows, width]`
/// - result: `[segments, width]`
pub fn max_over_segments(
    states: Tensor<2>,
    segments: &Segments,
    window: usize,
    zero_fill: bool,
) -> Tensor<2> {
    let width = states.dims()[1];
    let device = states.device();
    let zero_row = segments.rows();
    let rows = segments.ranges().flat_map(|range| {
        // A repeated row changes no maximum.
        let filler = if zero_fill { zero_row } else { range.start };
        range.clone().chain(std::iter::repeat_n(filler, window - range.len()))
    });
    let rows = indices(rows, &device);
    let states = if zero_fill { with_zero_row(states) } else { states };
    states
        .select(0, rows)
        .reshape([segments.len(), window, width])
        .max_dim(1)
        .reshape([segments.len(), width])
}

/// Each segment of at most `window` rows as one long row, padded with zeros.
///
/// # Shapes
/// - states: `[rows, width]`
/// - result: `[segments, window * width]`
pub fn concatenate_windows(states: Tensor<2>, segments: &Segments, window: usize) -> Tensor<2> {
    let width = states.dims()[1];
    let device = states.device();
    let zero_row = segments.rows();
    let rows = segments
        .ranges()
        .flat_map(|range| range.clone().chain(std::iter::repeat_n(zero_row, window - range.len())));
    let rows = indices(rows, &device);
    with_zero_row(states).select(0, rows).reshape([segments.len(), window * width])
}

fn with_zero_row(states: Tensor<2>) -> Tensor<2> {
    let zero = Tensor::zeros([1, states.dims()[1]], &states.device());
    Tensor::cat(vec![states, zero], 0)
}
