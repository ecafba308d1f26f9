//! Operations that turn the rows of each segment into fewer rows.

use burn::tensor::{Bool, Device, Int, Tensor};

use crate::ops::buckets::{Size, in_buckets};
use crate::ops::{indices, upload};
use crate::packed::Segments;

/// The padded view of packed rows, for operations that need rectangles: segments of similar length in
/// each.
pub(super) struct Padding {
    rectangles: Vec<Rectangle>,
    /// For each packed row its row in the rectangles, one after the other.
    restore: Tensor<1, Int>,
    /// For each segment its place in the rectangles, and one after all places for those without rows.
    places: Tensor<1, Int>,
    has_empty_segments: bool,
}

/// Segments that are padded to the longest of them.
pub(super) struct Rectangle {
    segments: usize,
    longest: usize,
    /// `[segments * longest]`; padding repeats row 0.
    rows: Tensor<1, Int>,
    absent: Tensor<3, Bool>,
}

impl Padding {
    /// In as many rectangles as keep padding low.
    pub fn new(segments: &Segments, device: &Device) -> Self {
        let size = |length| Size { queries: length, keys: length };
        let sizes: Vec<Size> = segments.lengths().map(size).collect();
        Self::of(&in_buckets(&sizes), segments, device)
    }

    /// In one rectangle, for operations that cost more in calls than in padding.
    pub fn whole(segments: &Segments, device: &Device) -> Self {
        let members = (0..segments.len()).filter(|&i| segments.length(i) > 0).collect();
        Self::of(&[members], segments, device)
    }

    fn of(buckets: &[Vec<usize>], segments: &Segments, device: &Device) -> Self {
        let seen: usize = buckets.iter().map(Vec::len).sum();
        let mut restore = vec![0; segments.rows()];
        let mut places = vec![seen; segments.len()];
        let (mut before, mut place) = (0, 0);
        let mut rectangles = Vec::with_capacity(buckets.len());
        for members in buckets {
            let rectangle = Rectangle::new(members, segments, device);
            for &segment in members {
                for (i, row) in segments.range(segment).enumerate() {
                    restore[row] = before + i;
                }
                before += rectangle.longest;
                places[segment] = place;
                place += 1;
            }
            rectangles.push(rectangle);
        }
        Self {
            rectangles,
            restore: indices(restore, device),
            places: indices(places, device),
            has_empty_segments: seen < segments.len(),
        }
    }

    /// Turns each rectangle into one of the same rows, `[segments, longest, channels]`, and packs them.
    pub fn rows(&self, act: impl Fn(&Rectangle) -> Tensor<3>) -> Tensor<2> {
        let flat = |rectangle: &Rectangle| act(rectangle).flatten(0, 1);
        Tensor::cat(self.rectangles.iter().map(flat).collect(), 0).select(0, self.restore.clone())
    }

    /// Turns each rectangle into a matrix per segment, `[segments, rows, channels]`, and puts those in
    /// the order of the segments; one without rows has zeros.
    fn matrices(
        &self,
        [rows, channels]: [usize; 2],
        act: impl Fn(&Rectangle) -> Tensor<3>,
    ) -> Tensor<3> {
        let mut matrices: Vec<Tensor<3>> = self.rectangles.iter().map(act).collect();
        if self.has_empty_segments {
            matrices.push(Tensor::zeros([1, rows, channels], &self.places.device()));
        }
        Tensor::cat(matrices, 0).select(0, self.places.clone())
    }
}

impl Rectangle {
    fn new(members: &[usize], segments: &Segments, device: &Device) -> Self {
        let longest = members.iter().map(|&i| segments.length(i)).max().unwrap_or(0);
        let mut rows = Vec::with_capacity(members.len() * longest);
        let mut absent = Vec::with_capacity(members.len() * longest);
        for (place, &segment) in members.iter().enumerate() {
            rows.extend(segments.range(segment));
            absent.resize(rows.len(), false);
            rows.resize((place + 1) * longest, 0);
            absent.resize(rows.len(), true);
        }
        Self {
            segments: members.len(),
            longest,
            rows: indices(rows, device),
            absent: upload(absent, [members.len(), longest, 1], device),
        }
    }

    /// `[rows, channels]` becomes `[segments, longest, channels]`.
    pub fn pad(&self, packed: &Tensor<2>) -> Tensor<3> {
        let channels = packed.dims()[1];
        packed.clone().select(0, self.rows.clone()).reshape([self.segments, self.longest, channels])
    }

    /// [`Self::pad`] with a number instead of padding.
    pub fn pad_with(&self, packed: &Tensor<2>, filler: f64) -> Tensor<3> {
        let padded = self.pad(packed);
        let absent = self.absent.clone().expand(padded.shape());
        padded.mask_fill(absent, filler)
    }
}

/// See [`crate::ops::weighted_sums`].
pub fn weighted_sums(states: Tensor<2>, weights: Tensor<2>, segments: &Segments) -> Tensor<2> {
    let width = states.dims()[1];
    let sums = weights.dims()[1];
    Padding::new(segments, &states.device())
        .matrices([sums, width], |rectangle| {
            let weights = rectangle.pad_with(&weights, 0.0);
            weights.swap_dims(1, 2).matmul(rectangle.pad(&states))
        })
        .reshape([segments.len() * sums, width])
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
