//! Loops over slices of `f32`, independent of the tensor engine, from which the fused operations
//! are built.
//!
//! Loops over channels are compiled for several instruction sets and chosen at run time
//! (`vectorised`); products of matrices are those of the `gemm` crate (`Products`), which does the
//! same. On a processor without such instructions the same loops run in portable form. The `unsafe`
//! code for this is in the crate `abridge-machine`.

pub mod activation;
pub mod adam;
pub mod attention;
mod bf16_product;
pub mod half_product;
pub mod int8_product;
pub mod loss;
pub mod most_probable;
pub mod normalise;
pub mod packed_product;
mod precision;
pub mod product;
pub mod recurrence;
pub mod residual_norm;
pub mod softmax;
pub mod weight_matrix;
pub mod weighted_sums;

pub use abridge_machine::{Instructions, vectorised};
pub use precision::ProductPrecision;

/// The number of partial sums: enough to fill two vectors of any processor.
pub const LANES: usize = 16;

/// 1.5 * 2^23: adding it to a number leaves the nearest integer in the last bits, and subtracting
/// it again gives the rounded number.
const ROUND: f32 = 12_582_912.0;

/// Reduces [`LANES`] values to one, in four vector steps instead of fifteen sequential ones.
#[inline(always)]
fn halved(values: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> f32 {
    // Otherwise the compiler prepares the halves in the loop that computes the values, which then
    // works on eighths of its vectors.
    let mut values = std::hint::black_box(values);
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            values[i] = f(values[i], values[i + half]);
        }
        half /= 2;
    }
    values[0]
}

/// The sum of `f` over a slice, in [`LANES`] partial sums, so that it is the same on all
/// processors.
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
    halved(sums, |a, b| a + b)
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
    halved(sums, |a, b| a + b)
}

/// `out += weight * row` for all rows, some channels at a time, so that sums stay in registers.
#[inline(always)]
pub fn add_weighted<'a>(out: &mut [f32], rows: impl Iterator<Item = (&'a [f32], f32)> + Clone) {
    // Four independent sums, so that additions need not wait for each other.
    const WIDE: usize = 4 * LANES;
    let wide = out.len() / WIDE * WIDE;
    for first in (0..wide).step_by(WIDE) {
        add_weighted_at::<WIDE>(out, first, rows.clone());
    }
    let whole = out.len() / LANES * LANES;
    for first in (wide..whole).step_by(LANES) {
        add_weighted_at::<LANES>(out, first, rows.clone());
    }
    if whole < out.len() {
        for (row, weight) in rows {
            for (out, value) in out[whole..].iter_mut().zip(&row[whole..]) {
                *out += weight * value;
            }
        }
    }
}

/// The channels from `first` on.
#[inline(always)]
fn add_weighted_at<'a, const N: usize>(
    out: &mut [f32],
    first: usize,
    rows: impl Iterator<Item = (&'a [f32], f32)>,
) {
    let mut sums = [0.0; N];
    for (row, weight) in rows {
        let row: &[f32; N] = row[first..].first_chunk().expect("rows have as many channels");
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += weight * value;
        }
    }
    for (out, sum) in out[first..].iter_mut().zip(sums) {
        *out += sum;
    }
}
