//! Scaled dot-product attention between packed segments, head by head, without padding, and without
//! copies if a segment's keys are contiguous.

use super::product::{Matrix, MatrixMut, Output, Products};
use super::softmax::softmax;
use super::{sum_of_pairs, vectorised};
use crate::ops::layout::{AttentionLayout, Block};

/// Keys and values, `[rows, width]` each.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// What queries are compared with.
    pub key: &'a [f32],
    /// What they return.
    pub value: &'a [f32],
}

/// The input of the forward and the backward pass.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// `[query rows, width]`
    pub query: &'a [f32],
    /// `[key rows, width]`
    pub keys: Keys<'a>,
    /// What is added to the keys and values of each slot, `[slots, width]`.
    pub shifts: Option<Keys<'a>>,
    /// Which rows see which.
    pub layout: &'a AttentionLayout,
    /// Values per row.
    pub width: usize,
    /// Heads that they are divided among.
    pub heads: usize,
    /// How products are computed.
    pub products: &'a Products,
}

/// The gradients of all inputs, in their shapes.
#[derive(Debug)]
pub struct AttentionGradients {
    /// Of the queries.
    pub query: Vec<f32>,
    /// Of keys and values.
    pub keys: [Vec<f32>; 2],
    /// Of the shifts; empty if there are none.
    pub shifts: [Vec<f32>; 2],
}

/// One segment of queries and what it sees.
struct Segment<'a> {
    first_query: usize,
    queries: usize,
    blocks: &'a [Block],
    seen: usize,
    causal: bool,
}

impl<'a> Attention<'a> {
    fn head_width(&self) -> usize {
        self.width / self.heads
    }

    fn scale(&self) -> f32 {
        (self.head_width() as f32).powf(-0.5)
    }

    /// Segments that see something.
    fn segments(&self) -> impl Iterator<Item = Segment<'a>> {
        let layout = self.layout;
        layout.queries().ranges().zip(layout.keys()).filter_map(move |(rows, blocks)| {
            let seen = blocks.iter().map(|block| block.rows.len()).sum();
            (seen > 0 && !rows.is_empty()).then_some(Segment {
                first_query: rows.start,
                queries: rows.len(),
                blocks,
                seen,
                causal: layout.is_causal(),
            })
        })
    }

    /// The rows of keys or values that a segment sees: in place, or gathered with their shifts into
    /// `scratch`.
    fn rows<'b>(
        &self,
        segment: &Segment<'_>,
        rows: &'b [f32],
        shifts: Option<&[f32]>,
        scratch: &'b mut Vec<f32>,
    ) -> &'b [f32] {
        let width = self.width;
        if let Some(rows_of) = self.in_place(segment) {
            return &rows[rows_of.start * width..rows_of.end * width];
        }
        scratch.clear();
        for block in segment.blocks {
            let first = scratch.len();
            scratch.extend_from_slice(&rows[block.rows.start * width..block.rows.end * width]);
            let Some((slot, shifts)) = block.slot.zip(shifts) else { continue };
            let shift = &shifts[slot * width..(slot + 1) * width];
            for row in scratch[first..].chunks_exact_mut(width) {
                for (value, shift) in row.iter_mut().zip(shift) {
                    *value += shift;
                }
            }
        }
        scratch
    }

    /// The rows of a segment that sees one unshifted range.
    fn in_place(&self, segment: &Segment<'_>) -> Option<std::ops::Range<usize>> {
        match segment.blocks {
            [Block { rows, slot }] if slot.is_none() || self.shifts.is_none() => Some(rows.clone()),
            _ => None,
        }
    }

    /// The columns of one head of some rows.
    fn head<'b>(&self, rows: &'b [f32], count: usize, head: usize) -> Matrix<'b> {
        Matrix::new(&rows[head * self.head_width()..], count, self.head_width(), self.width)
    }

    fn head_mut<'b>(&self, rows: &'b mut [f32], count: usize, head: usize) -> MatrixMut<'b> {
        MatrixMut::new(&mut rows[head * self.head_width()..], count, self.head_width(), self.width)
    }

    /// The result, `[query rows, width]`, zero if a segment sees nothing; and the weights of all
    /// segments and heads, one after the other, if they are to be kept.
    pub fn forward(&self, keep: bool) -> (Vec<f32>, Vec<f32>) {
        let width = self.width;
        let mut out = vec![0.0; self.query.len()];
        let size = |segment: Segment<'_>| segment.queries * segment.seen * self.heads;
        let kept = self.segments().map(size);
        let mut weights = vec![0.0; if keep { kept.sum() } else { kept.max().unwrap_or(0) }];
        let (mut key_scratch, mut value_scratch) = (Vec::new(), Vec::new());
        let mut first_weight = 0;
        for segment in self.segments() {
            let Segment { first_query, queries, seen, .. } = segment;
            let rows = first_query * width..(first_query + queries) * width;
            let shifts = self.shifts;
            let shift = shifts.map(|shifts| shifts.key);
            let key = self.rows(&segment, self.keys.key, shift, &mut key_scratch);
            let shift = shifts.map(|shifts| shifts.value);
            let value = self.rows(&segment, self.keys.value, shift, &mut value_scratch);
            for head in 0..self.heads {
                let weights = &mut weights[first_weight..][..queries * seen];
                self.products.multiply(
                    MatrixMut::packed(weights, seen),
                    self.head(&self.query[rows.clone()], queries, head),
                    self.head(key, seen, head).transposed(),
                    self.scale(),
                    Output::Overwrite,
                );
                vectorised(
                    #[inline(always)]
                    || {
                        for (query, row) in weights.chunks_exact_mut(seen).enumerate() {
                            let visible = if segment.causal { query + 1 } else { seen };
                            let (visible, hidden) = row.split_at_mut(visible);
                            softmax(visible);
                            hidden.fill(0.0);
                        }
                    },
                );
                self.products.multiply(
                    self.head_mut(&mut out[rows.clone()], queries, head),
                    Matrix::packed(weights, seen),
                    self.head(value, seen, head),
                    1.0,
                    Output::Overwrite,
                );
                if keep {
                    first_weight += queries * seen;
                }
            }
        }
        (out, weights)
    }

    /// The weights that [`Self::forward`] kept: for each query segment and query one weight per
    /// visible row, averaged over heads.
    pub fn mean_over_heads(&self, weights: &[f32]) -> Vec<Vec<Vec<f32>>> {
        let mut rest = weights;
        let segments = self.layout.queries().lengths().zip(self.layout.keys());
        let of_segment = segments.map(|(queries, blocks)| {
            let seen: usize = blocks.iter().map(|block| block.rows.len()).sum();
            let (own, others) = rest.split_at(self.heads * queries * seen);
            rest = others;
            let mut mean = vec![vec![0.0; seen]; queries];
            for (place, weight) in own.iter().enumerate() {
                mean[place / seen % queries][place % seen] += weight / self.heads as f32;
            }
            mean
        });
        of_segment.collect()
    }

    /// The backward pass, with the weights that [`Self::forward`] kept. Without `of_keys` the
    /// gradients of keys, values and shifts are not computed.
    pub fn backward(&self, gradient: &[f32], weights: &[f32], of_keys: bool) -> AttentionGradients {
        let width = self.width;
        let shift_values = self.shifts.map_or(0, |shifts| shifts.key.len());
        let zeros = |count| vec![0.0; if of_keys { count } else { 0 }];
        let mut gradients = AttentionGradients {
            query: vec![0.0; self.query.len()],
            keys: [zeros(self.keys.key.len()), zeros(self.keys.value.len())],
            shifts: [zeros(shift_values), zeros(shift_values)],
        };
        let mut scratch = [Vec::new(), Vec::new()];
        let mut gathered = [Vec::new(), Vec::new()];
        let mut slope = Vec::new();
        let mut first_weight = 0;
        for segment in self.segments() {
            let Segment { first_query, queries, seen, .. } = segment;
            let rows = first_query * width..(first_query + queries) * width;
            let [key_scratch, value_scratch] = &mut scratch;
            let shift = self.shifts.map(|shifts| shifts.key);
            let key = self.rows(&segment, self.keys.key, shift, key_scratch);
            let shift = self.shifts.map(|shifts| shifts.value);
            let value = self.rows(&segment, self.keys.value, shift, value_scratch);
            let in_place = self.in_place(&segment).filter(|_| of_keys);
            let [key_gradient, value_gradient] = match &in_place {
                Some(seen) => gradients
                    .keys
                    .each_mut()
                    .map(|rows| &mut rows[seen.start * width..seen.end * width]),
                None => gathered.each_mut().map(|rows| {
                    rows.clear();
                    rows.resize(seen * width, 0.0);
                    &mut rows[..]
                }),
            };
            let query = &self.query[rows.clone()];
            let gradient = &gradient[rows.clone()];
            slope.resize(queries * seen, 0.0);
            for head in 0..self.heads {
                let weights = &weights[first_weight..][..queries * seen];
                first_weight += queries * seen;
                let brought = self.head(gradient, queries, head);
                if of_keys {
                    self.products.multiply(
                        self.head_mut(value_gradient, seen, head),
                        Matrix::packed(weights, seen).transposed(),
                        brought,
                        1.0,
                        Output::Accumulate,
                    );
                }
                let slope = &mut slope[..queries * seen];
                let value = self.head(value, seen, head).transposed();
                self.products.multiply(
                    MatrixMut::packed(slope, seen),
                    brought,
                    value,
                    1.0,
                    Output::Overwrite,
                );
                vectorised(
                    #[inline(always)]
                    || {
                        let rows = slope.chunks_exact_mut(seen).zip(weights.chunks_exact(seen));
                        for (slope, weights) in rows {
                            let mean = sum_of_pairs(slope, weights, |slope, weight| slope * weight);
                            for (slope, weight) in slope.iter_mut().zip(weights) {
                                *slope = (*slope - mean) * weight;
                            }
                        }
                    },
                );
                let slope = Matrix::packed(slope, seen);
                self.products.multiply(
                    self.head_mut(&mut gradients.query[rows.clone()], queries, head),
                    slope,
                    self.head(key, seen, head),
                    self.scale(),
                    Output::Overwrite,
                );
                if of_keys {
                    self.products.multiply(
                        self.head_mut(key_gradient, seen, head),
                        slope.transposed(),
                        self.head(query, queries, head),
                        self.scale(),
                        Output::Accumulate,
                    );
                }
            }
            if of_keys && in_place.is_none() {
                for (side, gathered) in gathered.iter().enumerate() {
                    let shifts = &mut gradients.shifts[side];
                    self.scatter(&segment, gathered, &mut gradients.keys[side], shifts);
                }
            }
        }
        gradients
    }

    /// Adds the gradients of gathered rows to the rows and the shifts that they were made from.
    fn scatter(
        &self,
        segment: &Segment<'_>,
        gathered: &[f32],
        rows: &mut [f32],
        shifts: &mut [f32],
    ) {
        let width = self.width;
        let mut gathered = gathered.chunks_exact(width);
        for block in segment.blocks {
            let rows =
                rows[block.rows.start * width..block.rows.end * width].chunks_exact_mut(width);
            for (row, gathered) in rows.zip(&mut gathered) {
                for (sum, value) in row.iter_mut().zip(gathered) {
                    *sum += value;
                }
                let Some(slot) = block.slot.filter(|_| !shifts.is_empty()) else { continue };
                let shift = &mut shifts[slot * width..(slot + 1) * width];
                for (sum, value) in shift.iter_mut().zip(gathered) {
                    *sum += value;
                }
            }
        }
    }
}
