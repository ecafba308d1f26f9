//! Loops over slices of `f32`, without anything of the engine: what the fused operations are made
//! of.
//!
//! Loops over channels are compiled for the instructions of several processors and chosen at run
//! time (`vectorised`); products of matrices are those of the `gemm` crate (`product`), which
//! does the same. On a processor without such instructions the same loops run as they are.

pub mod adam;
pub mod attention;
pub mod loss;
pub mod normalise;
pub mod packed_product;
pub mod product;
pub mod residual_norm;
pub mod softmax;
pub mod weighted_sums;

/// Runs a loop that was compiled twice: for processors with AVX2, and for any.
///
/// All that the loop calls must be `#[inline(always)]`, or it is compiled once only.
#[inline]
pub fn vectorised<R>(body: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[target_feature(enable = "avx2,fma")]
        fn with_avx2<R>(body: impl FnOnce() -> R) -> R {
            body()
        }
        #[allow(unsafe_code, reason = "only the processor knows what it has")]
        // SAFETY: the processor was asked just now, and has both.
        return unsafe { with_avx2(body) };
    }
    body()
}

/// Whether this processor has vectors of eight numbers, and multiplies and adds them in one step.
#[inline]
pub fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// The name of the instructions that loops and matrix products use here.
pub fn instructions() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        return "NEON";
    }
    if has_avx2() {
        return "AVX2";
    }
    "portable (slower: no AVX2 on this processor)"
}

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
