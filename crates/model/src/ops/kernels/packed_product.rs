//! Products with a matrix that was packed once, for a few rows at a time.
//!
//! In decoding, a step multiplies a handful of rows with every weight of the network. Packing a
//! weight for each product, as general routines do, would cost more than the product. Here a
//! weight lies in panels of two vectors of output columns, each panel one stream to read from start
//! to end, and [`ROWS`] rows at a time meet it in registers.

use super::{Instructions, vectorised};

/// Rows that share the reading of a panel: with two vectors each, they fill the sixteen registers
/// of AVX2. More do not help where there are twice as many: the weights are what is waited for.
const ROWS: usize = 6;

/// `[inputs, outputs]` and a bias.
#[derive(Clone, Debug)]
pub struct PackedMatrix {
    inputs: usize,
    outputs: usize,
    /// Output columns of a panel: two vectors of this processor.
    columns: usize,
    /// `[outputs / columns, inputs, columns]`; the last panel is filled up with zeros.
    panels: Vec<f32>,
    /// Filled up likewise.
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
        let count = outputs.div_ceil(columns);
        let mut panels = Vec::with_capacity(count * inputs * columns);
        for panel in 0..count {
            for i in 0..inputs {
                panels.extend(
                    (panel * columns..(panel + 1) * columns)
                        .map(|j| if j < outputs { at(i, j) } else { 0.0 }),
                );
            }
        }
        let mut bias = bias.to_vec();
        bias.resize(count * columns, 0.0);
        Self { inputs, outputs, columns, panels, bias }
    }

    /// `x W + b` into `out`, which is made to fit.
    ///
    /// # Shapes
    /// - x: `[rows, inputs]`, out: `[rows, outputs]`
    pub fn multiply(&self, x: &[f32], out: &mut Vec<f32>) {
        let rows = x.len() / self.inputs;
        assert_eq!(rows * self.inputs, x.len(), "whole rows");
        out.resize(rows * self.outputs, 0.0);
        // One step for a product and a sum, where the processor has it.
        match Instructions::here() {
            Instructions::Avx512 => vectorised(
                #[inline(always)]
                || self.run::<32, true>(x, out),
            ),
            Instructions::Portable => self.run::<16, false>(x, out),
            Instructions::Avx2 | Instructions::Neon => vectorised(
                #[inline(always)]
                || self.run::<16, true>(x, out),
            ),
        }
    }

    #[inline(always)]
    fn run<const COLUMNS: usize, const FUSED: bool>(&self, x: &[f32], out: &mut [f32]) {
        assert_eq!(COLUMNS, self.columns, "packed and multiplied alike");
        let panels = self.panels.chunks_exact(self.inputs * COLUMNS);
        let panels = panels.zip(self.bias.chunks_exact(COLUMNS));
        for (panel, (weights, bias)) in panels.enumerate() {
            let first = panel * COLUMNS;
            let width = COLUMNS.min(self.outputs - first);
            let rows = x.chunks(ROWS * self.inputs).zip(out.chunks_mut(ROWS * self.outputs));
            for (x, out) in rows {
                let out = Place { out, first, width, stride: self.outputs };
                match x.len() / self.inputs {
                    1 => self.block::<1, COLUMNS, FUSED>(x, weights, bias, out),
                    2 => self.block::<2, COLUMNS, FUSED>(x, weights, bias, out),
                    3 => self.block::<3, COLUMNS, FUSED>(x, weights, bias, out),
                    4 => self.block::<4, COLUMNS, FUSED>(x, weights, bias, out),
                    5 => self.block::<5, COLUMNS, FUSED>(x, weights, bias, out),
                    _ => self.block::<ROWS, COLUMNS, FUSED>(x, weights, bias, out),
                }
            }
        }
    }

    /// `N` rows with one panel. Loops over numbers of known size: only so do all sums stay in
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
        let weights = &weights.as_chunks::<COLUMNS>().0[..inputs];
        for i in 0..inputs {
            let weights = weights[i];
            for row in 0..N {
                let x = rows[row][i];
                for column in 0..COLUMNS {
                    let sum = &mut sums[row][column];
                    let weight = weights[column];
                    // Without the instruction, `mul_add` would be a slow call.
                    *sum = if FUSED { x.mul_add(weight, *sum) } else { *sum + x * weight };
                }
            }
        }
        // A copy to walk over: what is indexed by a variable lies in memory, and the sums must not.
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
        fn equals_the_sum_of_products(rows in 0usize..20, inputs in 1usize..50, outputs in 1usize..50) {
            let value = |seed: usize| ((seed * 7919 + 13) % 23) as f32 / 11.0 - 1.0;
            let x: Vec<f32> = (0..rows * inputs).map(value).collect();
            let bias: Vec<f32> = (0..outputs).map(value).collect();
            let at = |i: usize, j: usize| value(i * outputs + j + 5);
            let mut out = vec![7.0; 3];
            PackedMatrix::new(inputs, outputs, at, &bias).multiply(&x, &mut out);
            prop_assert_eq!(out.len(), rows * outputs);
            for (place, &ours) in out.iter().enumerate() {
                let (row, j) = (place / outputs, place % outputs);
                let sum: f32 = (0..inputs).map(|i| x[row * inputs + i] * at(i, j)).sum();
                prop_assert!((ours - sum - bias[j]).abs() < 1e-4);
            }
        }
    }
}
