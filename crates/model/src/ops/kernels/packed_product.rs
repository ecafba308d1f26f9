//! Products with a matrix that was packed once, for a few rows at a time.
//!
//! In decoding, a step multiplies a handful of rows with every weight of the network. Packing a
//! weight for each product, as general routines do, would cost more than the product. Here a
//! weight is stored in panels of two vectors of output columns. Each panel is read sequentially
//! from start to end, and multiplied with as many rows at a time as there are registers for.

use std::ops::Range;

use abridge_machine::{AHEAD, CACHE_LINE, Instructions, prefetch, vectorised};

/// Rows that are multiplied with a panel at a time: with two vectors each, they fill the sixteen
/// registers of AVX2.
const ROWS: usize = 6;
/// The same for the thirty-two registers of AVX-512.
const MANY_ROWS: usize = 12;
/// Inputs that are processed together.
const STRETCH: usize = 32;
/// Columns of a tile, a multiple of those of a panel: the weights and results of a tile stay in the
/// second-level cache for all rows.
pub const TILE: usize = 512;

/// `[inputs, outputs]` and a bias.
#[derive(Clone, Debug)]
pub struct PackedMatrix {
    inputs: usize,
    outputs: usize,
    /// Output columns of a panel: two vectors of this processor.
    columns: usize,
    /// `[outputs / columns, inputs, columns]`; the last panel is padded with zeros.
    panels: Vec<f32>,
    /// Padded likewise.
    bias: Vec<f32>,
}

impl PackedMatrix {
    /// Packs the matrix whose entry at row `i` and column `j` is `at(i, j)`.
    pub fn new(
        inputs: usize,
        outputs: usize,
        at: impl Fn(usize, usize) -> f32,
        bias: &[f32],
    ) -> Self {
        assert!(bias.is_empty() || bias.len() == outputs, "one bias per output, or none");
        let columns = if Instructions::here() == Instructions::Avx512 { 32 } else { 16 };
        let panels = pack([inputs, outputs], columns, at);
        let mut bias = bias.to_vec();
        bias.resize(outputs.next_multiple_of(columns), 0.0);
        Self { inputs, outputs, columns, panels, bias }
    }

    /// `x W + b` into `out`, which is resized.
    ///
    /// # Shapes
    /// - x: `[rows, inputs]`, out: `[rows, outputs]`
    pub fn multiply(&self, x: &[f32], out: &mut Vec<f32>) {
        self.multiply_columns(x, 0..self.outputs, out);
    }

    /// The number of columns.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The entries of a column, without its bias.
    pub fn column(&self, column: usize) -> impl Iterator<Item = f32> {
        let entry = move |i: usize| self.panels[panel_place(self.inputs, self.columns, i, column)];
        (0..self.inputs).map(entry)
    }

    /// The matrix of the given columns.
    pub fn select(&self, columns: &[u32]) -> Self {
        let at = |i: usize, j: usize| {
            self.panels[panel_place(self.inputs, self.columns, i, columns[j] as usize)]
        };
        let bias: Vec<f32> = columns.iter().map(|&column| self.bias[column as usize]).collect();
        Self::new(self.inputs, columns.len(), at, &bias)
    }

    /// Some columns of [`Self::multiply`], from the start of a panel.
    ///
    /// # Shapes
    /// - x: `[rows, inputs]`, out: `[rows, columns]`
    pub fn multiply_columns(&self, x: &[f32], columns: Range<usize>, out: &mut Vec<f32>) {
        let rows = x.len() / self.inputs;
        assert_eq!(rows * self.inputs, x.len(), "whole rows");
        assert!(columns.end <= self.outputs, "columns that exist");
        assert_eq!(columns.start % self.columns, 0, "the start of a panel");
        out.resize(rows * columns.len(), 0.0);
        // A fused multiply-add, if the processor has it.
        match Instructions::here() {
            Instructions::Avx512 => vectorised(
                #[inline(always)]
                || self.run::<32, MANY_ROWS, true>(x, columns, out),
            ),
            Instructions::Portable => self.run::<16, ROWS, false>(x, columns, out),
            Instructions::Avx2 | Instructions::Neon => vectorised(
                #[inline(always)]
                || self.run::<16, ROWS, true>(x, columns, out),
            ),
        }
    }

    #[inline(always)]
    fn run<const COLUMNS: usize, const AT_ONCE: usize, const FUSED: bool>(
        &self,
        x: &[f32],
        columns: Range<usize>,
        out: &mut [f32],
    ) {
        assert_eq!(COLUMNS, self.columns, "packed and multiplied alike");
        let inputs = self.inputs;
        let stride = columns.len();
        for first in columns.clone().step_by(COLUMNS) {
            let weights = &self.panels[first * inputs..][..inputs * COLUMNS];
            let bias = &self.bias[first..][..COLUMNS];
            let width = COLUMNS.min(columns.end - first);
            let first = first - columns.start;
            let (mut x, mut out) = (x, &mut *out);
            while !x.is_empty() {
                let left = x.len() / inputs;
                let rows = if left >= AT_ONCE { AT_ONCE } else { left.min(ROWS) };
                let (these, others) = x.split_at(rows * inputs);
                let (place, places) = out.split_at_mut(rows * stride);
                (x, out) = (others, places);
                let place = Place { out: place, first, width, stride };
                match rows {
                    1 => self.block::<1, COLUMNS, FUSED>(these, weights, bias, place),
                    2 => self.block::<2, COLUMNS, FUSED>(these, weights, bias, place),
                    3 => self.block::<3, COLUMNS, FUSED>(these, weights, bias, place),
                    4 => self.block::<4, COLUMNS, FUSED>(these, weights, bias, place),
                    5 => self.block::<5, COLUMNS, FUSED>(these, weights, bias, place),
                    6 => self.block::<6, COLUMNS, FUSED>(these, weights, bias, place),
                    _ => self.block::<AT_ONCE, COLUMNS, FUSED>(these, weights, bias, place),
                }
            }
        }
    }

    /// `N` rows times one panel. Loops have constant bounds: only then do all sums stay in
    /// registers, which makes it three times as fast.
    #[allow(clippy::needless_range_loop, clippy::manual_memcpy, reason = "see above")]
    #[inline(always)]
    fn block<const N: usize, const COLUMNS: usize, const FUSED: bool>(
        &self,
        x: &[f32],
        weights: &[f32],
        bias: &[f32],
        place: Place<'_>,
    ) {
        let inputs = self.inputs;
        let mut sums = [[0.0f32; COLUMNS]; N];
        let rows: [&[f32]; N] = std::array::from_fn(|row| &x[row * inputs..][..inputs]);
        let panel = weights;
        let weights = &weights.as_chunks::<COLUMNS>().0[..inputs];
        // A few inputs at a time: checking for the end of each row at every input would cost more
        // loads than multiplications.
        let (stretches, rest) = weights.as_chunks::<STRETCH>();
        for (stretch, weights) in stretches.iter().enumerate() {
            let first = stretch * STRETCH;
            let rows: [&[f32; STRETCH]; N] =
                std::array::from_fn(|row| rows[row][first..].first_chunk().expect("as many"));
            for i in 0..STRETCH {
                for line in (0..COLUMNS).step_by(CACHE_LINE / size_of::<f32>()) {
                    prefetch(panel, (first + i) * COLUMNS + line + AHEAD / size_of::<f32>());
                }
                add::<N, COLUMNS, FUSED>(
                    &mut sums,
                    std::array::from_fn(|row| rows[row][i]),
                    &weights[i],
                );
            }
        }
        for (i, weights) in (inputs - rest.len()..inputs).zip(rest) {
            add::<N, COLUMNS, FUSED>(&mut sums, std::array::from_fn(|row| rows[row][i]), weights);
        }
        // A copy to index: an array that is indexed by a variable is in memory, and the sums must
        // not be.
        let mut done = [[0.0f32; COLUMNS]; N];
        for row in 0..N {
            for column in 0..COLUMNS {
                done[row][column] = sums[row][column];
            }
        }
        for (row, sums) in done.iter().enumerate() {
            let out = &mut place.out[row * place.stride + place.first..][..place.width];
            for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
                *out = sum + bias;
            }
        }
    }
}

/// One input of `N` rows times its weights.
#[allow(clippy::needless_range_loop, reason = "see `block`")]
#[inline(always)]
fn add<const N: usize, const COLUMNS: usize, const FUSED: bool>(
    sums: &mut [[f32; COLUMNS]; N],
    x: [f32; N],
    weights: &[f32; COLUMNS],
) {
    for row in 0..N {
        for column in 0..COLUMNS {
            let sum = &mut sums[row][column];
            let (x, weight) = (x[row], weights[column]);
            // Without the instruction, `mul_add` would be a slow call.
            *sum = if FUSED { x.mul_add(weight, *sum) } else { *sum + x * weight };
        }
    }
}

/// The entries `at(i, j)` of a matrix in panels `[outputs / columns, inputs, columns]`, the last one
/// padded with zeros.
pub fn pack<T: Copy + Default>(
    [inputs, outputs]: [usize; 2],
    columns: usize,
    at: impl Fn(usize, usize) -> T,
) -> Vec<T> {
    let mut panels = Vec::with_capacity(inputs * outputs.next_multiple_of(columns));
    for first in (0..outputs).step_by(columns) {
        for i in 0..inputs {
            panels.extend(
                (first..first + columns).map(|j| if j < outputs { at(i, j) } else { T::default() }),
            );
        }
    }
    panels
}

/// Where [`pack`] puts the entry at row `i` and column `j`.
pub fn panel_place(inputs: usize, columns: usize, i: usize, j: usize) -> usize {
    (j / columns * inputs + i) * columns + j % columns
}

/// All columns in tiles of [`TILE`], for results that are examined and discarded.
pub fn tiles(outputs: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    (0..outputs).step_by(TILE).map(move |first| first..(first + TILE).min(outputs))
}

/// Where the outputs of one panel go.
struct Place<'a> {
    out: &'a mut [f32],
    first: usize,
    width: usize,
    stride: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_sum_of_products(rows in 0usize..30, inputs in 1usize..50, outputs in 1usize..50) {
            let value = |seed: usize| ((seed * 7919 + 13) % 23) as f32 / 11.0 - 1.0;
            let x: Vec<f32> = (0..rows * inputs).map(value).collect();
            let bias: Vec<f32> = (0..outputs).map(value).collect();
            let at = |i: usize, j: usize| value(i * outputs + j + 5);
            let mut out = vec![7.0; 3];
            let matrix = PackedMatrix::new(inputs, outputs, at, &bias);
            // The product without the first panel.
            let mut rest = Vec::new();
            let first = matrix.columns.min(outputs / matrix.columns * matrix.columns);
            matrix.multiply_columns(&x, first..outputs, &mut rest);
            matrix.multiply(&x, &mut out);
            prop_assert_eq!(out.len(), rows * outputs);
            let kept = out.chunks_exact(outputs).flat_map(|row| &row[first..]);
            prop_assert!(kept.eq(&rest));
            // Every other column, as a separate matrix.
            let some: Vec<u32> = (0..outputs as u32).step_by(2).collect();
            matrix.select(&some).multiply(&x, &mut rest);
            let kept = out.chunks_exact(outputs).flat_map(|row| row.iter().step_by(2));
            prop_assert!(kept.eq(&rest));
            for (place, &ours) in out.iter().enumerate() {
                let (row, j) = (place / outputs, place % outputs);
                let sum: f32 = (0..inputs).map(|i| x[row * inputs + i] * at(i, j)).sum();
                prop_assert!((ours - sum - bias[j]).abs() < 1e-4);
            }
        }
    }
}
