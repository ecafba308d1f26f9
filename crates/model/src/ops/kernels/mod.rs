//! Loops over slices of `f32`, without anything of the engine: what the fused operations are made
//! of.
//!
//! Loops over channels are compiled for the instructions of several processors and chosen at run
//! time (`vectorised`); products of matrices are those of the `gemm` crate (`product`), which
//! does the same. On a processor without such instructions the same loops run as they are.

pub mod adam;
pub mod attention;
mod instructions;
pub mod loss;
pub mod normalise;
pub mod packed_product;
pub mod product;
pub mod residual_norm;
pub mod softmax;
pub mod weighted_sums;

pub use instructions::{Instructions, vectorised};

/// The number of partial sums: enough to fill two vectors of any processor.
const LANES: usize = 16;

/// The sum of `f` over a slice, in [`LANES`] partial sums, so that it is the same everywhere.
#[inline(always)]
pub fn sum_of(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += f(value);
        }
    }
    for (sum, &value) in sums.iter_mut().zip(rest) {
        *sum += f(value);
    }
    sums.iter().sum()
}

/// The sum of `f` over two slices of the same length, in [`LANES`] partial sums.
#[inline(always)]
pub fn sum_of_pairs(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (left, right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = left.remainder().iter().zip(right.remainder());
    for (left, right) in left.zip(right) {
        for ((sum, &a), &b) in sums.iter_mut().zip(left).zip(right) {
            *sum += f(a, b);
        }
    }
    for (sum, (&a, &b)) in sums.iter_mut().zip(rest) {
        *sum += f(a, b);
    }
    sums.iter().sum()
}
