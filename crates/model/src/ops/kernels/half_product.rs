//! Products with weights in half precision, for processors that read them as they are.
//!
//! With few rows a product waits for its weights, so half the bytes are nearly half the time. They
//! become single precision on the way into registers, and the arithmetic is that of
//! [`packed_product`](super::packed_product), in the same order.

use std::ops::Range;

use half::f16;

use super::packed_product::{pack, panel_place};

/// Rows that share the reading of a panel.
const ROWS: usize = 6;

/// `[inputs, outputs]` and a bias.
#[derive(Clone, Debug)]
pub struct HalfMatrix {
    inputs: usize,
    outputs: usize,
    columns: usize,
    /// `[outputs / columns, inputs, columns]`; the last panel is filled up with zeros.
    panels: Vec<u16>,
    /// Filled up likewise.
    bias: Vec<f32>,
}

/// Columns of a panel, two vectors, where the processor has instructions for this.
fn columns() -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use super::Instructions;
        match Instructions::here() {
            Instructions::Avx512 => return Some(32),
            Instructions::Avx2 if std::is_x86_feature_detected!("f16c") => return Some(16),
            _ => {}
        }
    }
    None
}

impl HalfMatrix {
    /// Packs the matrix whose entry at row `i` and column `j` is `at(i, j)`; nothing where the
    /// processor cannot read it.
    pub fn new(
        inputs: usize,
        outputs: usize,
        at: impl Fn(usize, usize) -> f32,
        bias: &[f32],
    ) -> Option<Self> {
        let columns = columns()?;
        assert!(bias.is_empty() || bias.len() == outputs, "one bias per output, or none");
        let panels = pack([inputs, outputs], columns, |i, j| f16::from_f32(at(i, j)).to_bits());
        let mut bias = bias.to_vec();
        bias.resize(outputs.next_multiple_of(columns), 0.0);
        Some(Self { inputs, outputs, columns, panels, bias })
    }

    /// The number of columns.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The matrix of some columns alone.
    pub fn select(&self, columns: &[u32]) -> Self {
        let at = |i: usize, j: usize| {
            self.panels[panel_place(self.inputs, self.columns, i, columns[j] as usize)]
        };
        let panels = pack([self.inputs, columns.len()], self.columns, at);
        let mut bias: Vec<f32> = columns.iter().map(|&column| self.bias[column as usize]).collect();
        bias.resize(columns.len().next_multiple_of(self.columns), 0.0);
        Self { outputs: columns.len(), panels, bias, ..*self }
    }

    /// Some columns of `x W + b`; they start where a panel does.
    ///
    /// # Shapes
    /// - x: `[rows, inputs]`, out: `[rows, columns]`
    pub fn multiply_columns(&self, x: &[f32], columns: Range<usize>, out: &mut Vec<f32>) {
        let inputs = self.inputs;
        let rows = x.len() / inputs;
        assert_eq!(rows * inputs, x.len(), "whole rows");
        assert!(columns.end <= self.outputs, "columns that are there");
        assert_eq!(columns.start % self.columns, 0, "the start of a panel");
        let stride = columns.len();
        out.resize(rows * stride, 0.0);
        for first in columns.clone().step_by(self.columns) {
            let weights = &self.panels[first * inputs..][..inputs * self.columns];
            let bias = &self.bias[first..][..self.columns];
            let shown = self.columns.min(columns.end - first);
            let rows = x.chunks(ROWS * inputs).zip(out.chunks_mut(ROWS * stride));
            for (x, out) in rows {
                multiply(self.columns, x, inputs, weights, |row, sums| {
                    let out = &mut out[row * stride + first - columns.start..][..shown];
                    for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
                        *out = sum + bias;
                    }
                });
            }
        }
    }
}

/// Up to [`ROWS`] rows with one panel; hands each row's number and sums to `put`.
#[cfg(not(target_arch = "x86_64"))]
fn multiply(_: usize, _: &[f32], _: usize, _: &[u16], _: impl FnMut(usize, &[f32])) {
    unreachable!("no such matrix is made here");
}

#[cfg(target_arch = "x86_64")]
use x86::multiply;

#[cfg(target_arch = "x86_64")]
#[allow(clippy::needless_range_loop, reason = "only so do all sums stay in registers")]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m512, _mm_loadu_si128, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_si256,
        _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps, _mm512_cvtph_ps, _mm512_fmadd_ps,
        _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
    };

    use super::super::{AHEAD, prefetch};
    use super::columns;

    /// Up to six rows with one panel; hands each row's number and sums to `put`.
    pub fn multiply(
        panel_columns: usize,
        x: &[f32],
        inputs: usize,
        weights: &[u16],
        put: impl FnMut(usize, &[f32]),
    ) {
        assert_eq!(Some(panel_columns), columns(), "instructions that are here");
        #[allow(unsafe_code, reason = "only the processor knows what it has")]
        // SAFETY: the processor was asked just now.
        unsafe {
            match (panel_columns, x.len() / inputs) {
                (32, 1) => avx512::<1>(x, inputs, weights, put),
                (32, 2) => avx512::<2>(x, inputs, weights, put),
                (32, 3) => avx512::<3>(x, inputs, weights, put),
                (32, 4) => avx512::<4>(x, inputs, weights, put),
                (32, 5) => avx512::<5>(x, inputs, weights, put),
                (32, _) => avx512::<6>(x, inputs, weights, put),
                (_, 1) => avx2::<1>(x, inputs, weights, put),
                (_, 2) => avx2::<2>(x, inputs, weights, put),
                (_, 3) => avx2::<3>(x, inputs, weights, put),
                (_, 4) => avx2::<4>(x, inputs, weights, put),
                (_, 5) => avx2::<5>(x, inputs, weights, put),
                (_, _) => avx2::<6>(x, inputs, weights, put),
            }
        }
    }

    #[inline(always)]
    fn split<const N: usize>(x: &[f32], inputs: usize) -> [&[f32]; N] {
        assert_eq!(x.len(), N * inputs, "as many rows as this was compiled for");
        std::array::from_fn(|row| &x[row * inputs..][..inputs])
    }

    #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
    fn avx512<const N: usize>(
        x: &[f32],
        inputs: usize,
        weights: &[u16],
        mut put: impl FnMut(usize, &[f32]),
    ) {
        let rows = split::<N>(x, inputs);
        let weights = &weights.as_chunks::<16>().0.as_chunks::<2>().0[..inputs];
        let mut sums = [[_mm512_setzero_ps(); 2]; N];
        for i in 0..inputs {
            prefetch(weights, i + AHEAD / size_of_val(&weights[0]));
            let (left, right) = (load512(&weights[i][0]), load512(&weights[i][1]));
            for row in 0..N {
                let x = _mm512_set1_ps(rows[row][i]);
                sums[row][0] = _mm512_fmadd_ps(x, left, sums[row][0]);
                sums[row][1] = _mm512_fmadd_ps(x, right, sums[row][1]);
            }
        }
        for row in 0..N {
            let mut done = [[0.0; 16]; 2];
            store512(sums[row][0], &mut done[0]);
            store512(sums[row][1], &mut done[1]);
            put(row, done.as_flattened());
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    fn avx2<const N: usize>(
        x: &[f32],
        inputs: usize,
        weights: &[u16],
        mut put: impl FnMut(usize, &[f32]),
    ) {
        let rows = split::<N>(x, inputs);
        let weights = &weights.as_chunks::<8>().0.as_chunks::<2>().0[..inputs];
        let mut sums = [[_mm256_setzero_ps(); 2]; N];
        for i in 0..inputs {
            prefetch(weights, i + AHEAD / size_of_val(&weights[0]));
            let (left, right) = (load256(&weights[i][0]), load256(&weights[i][1]));
            for row in 0..N {
                let x = _mm256_set1_ps(rows[row][i]);
                sums[row][0] = _mm256_fmadd_ps(x, left, sums[row][0]);
                sums[row][1] = _mm256_fmadd_ps(x, right, sums[row][1]);
            }
        }
        for row in 0..N {
            let mut done = [[0.0; 8]; 2];
            store256(sums[row][0], &mut done[0]);
            store256(sums[row][1], &mut done[1]);
            put(row, done.as_flattened());
        }
    }

    #[target_feature(enable = "avx512f,avx512vl,avx2")]
    #[inline]
    fn load512(weights: &[u16; 16]) -> __m512 {
        #[allow(unsafe_code, reason = "loads are by address")]
        // SAFETY: the array has all 32 bytes that are read, and needs no alignment.
        let weights = unsafe { _mm256_loadu_si256(weights.as_ptr().cast()) };
        _mm512_cvtph_ps(weights)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store512(sums: __m512, place: &mut [f32; 16]) {
        #[allow(unsafe_code, reason = "stores are by address")]
        // SAFETY: the array has all 64 bytes that are written, and needs no alignment.
        unsafe {
            _mm512_storeu_ps(place.as_mut_ptr(), sums);
        }
    }

    #[target_feature(enable = "avx2,f16c")]
    #[inline]
    fn load256(weights: &[u16; 8]) -> __m256 {
        #[allow(unsafe_code, reason = "loads are by address")]
        // SAFETY: the array has all 16 bytes that are read, and needs no alignment.
        let weights = unsafe { _mm_loadu_si128(weights.as_ptr().cast()) };
        _mm256_cvtph_ps(weights)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store256(sums: __m256, place: &mut [f32; 8]) {
        #[allow(unsafe_code, reason = "stores are by address")]
        // SAFETY: the array has all 32 bytes that are written, and needs no alignment.
        unsafe {
            _mm256_storeu_ps(place.as_mut_ptr(), sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::kernels::packed_product::PackedMatrix;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_product_of_the_same_weights(
            rows in 0usize..20, inputs in 1usize..50, outputs in 1usize..80,
        ) {
            let value = |seed: usize| ((seed * 7919 + 13) % 997) as f32 / 498.0 - 1.0;
            let x: Vec<f32> = (0..rows * inputs).map(value).collect();
            let bias: Vec<f32> = (0..outputs).map(value).collect();
            let at = |i: usize, j: usize| f16::from_f32(value(i * outputs + j + 5)).to_f32();
            let Some(half) = HalfMatrix::new(inputs, outputs, at, &bias) else { return Ok(()) };
            let (mut ours, mut theirs) = (vec![7.0; 3], Vec::new());
            half.multiply_columns(&x, 0..outputs, &mut ours);
            PackedMatrix::new(inputs, outputs, at, &bias).multiply(&x, &mut theirs);
            prop_assert_eq!(&ours, &theirs);
            let some: Vec<u32> = (0..outputs as u32).step_by(2).collect();
            half.select(&some).multiply_columns(&x, 0..some.len(), &mut ours);
            let kept = theirs.chunks_exact(outputs).flat_map(|row| row.iter().step_by(2));
            prop_assert!(kept.eq(&ours));
        }
    }
}
