//! Detection of vector instructions, and loops compiled for each instruction set.

use std::fmt;

/// How many bytes ahead weights are prefetched, see [`prefetch`].
pub const AHEAD: usize = 8192;
/// Bytes in a cache line.
pub const CACHE_LINE: usize = 64;

/// The instruction sets that loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// x86-64 with vectors of sixteen `f32`.
    Avx512,
    /// x86-64 with vectors of eight `f32` and fused multiply-add.
    Avx2,
    /// 64-bit ARM, which always has it.
    Neon,
    /// Compiled for the baseline of the architecture.
    Portable,
}

impl Instructions {
    /// The instruction set of this processor. Detected once; after that, this is a memory read.
    #[inline]
    pub fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            // The same features that the `gemm` crate requires.
            if std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512cd")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx512vl")
                && Self::has_avx2()
            {
                return Self::Avx512;
            }
            if Self::has_avx2() {
                return Self::Avx2;
            }
        }
        if cfg!(target_arch = "aarch64") { Self::Neon } else { Self::Portable }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn has_avx2() -> bool {
        std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Neon => "NEON",
            Self::Portable => "portable (slower: this processor has no AVX2)",
        })
    }
}

/// Runs a loop that is compiled for each of the [`Instructions`], with those of this processor.
///
/// Everything that the loop calls must be `#[inline(always)]`; otherwise it is compiled only once,
/// for the baseline.
#[inline]
pub fn vectorised<R>(body: impl FnOnce() -> R) -> R {
    match Instructions::here() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => {
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma")]
            fn with_avx512<R>(body: impl FnOnce() -> R) -> R {
                body()
            }
            // SAFETY: the processor has all of these features; it was just checked.
            unsafe { with_avx512(body) }
        }
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => {
            #[target_feature(enable = "avx2,fma")]
            fn with_avx2<R>(body: impl FnOnce() -> R) -> R {
                body()
            }
            // SAFETY: the processor has both features; it was just checked.
            unsafe { with_avx2(body) }
        }
        _ => body(),
    }
}

/// Prefetches `values[place]`, which will be read soon, where the processor supports it.
///
/// Weights are read once from start to end, and with few rows to multiply there is little other
/// work: prefetching makes such products up to three times as fast. An index beyond the end is
/// fine, because nothing is read.
#[inline(always)]
pub fn prefetch<T>(values: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch neither reads nor changes memory, whatever the address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(place).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, place);
}
