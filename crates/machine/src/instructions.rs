//! Which vector instructions this processor has, and loops compiled for each kind.

use std::fmt;

/// Bytes of weights that are worth asking for ahead of their use, see [`prefetch`].
pub const AHEAD: usize = 8192;
/// Bytes that come together.
pub const CACHE_LINE: usize = 64;

/// The kinds of instructions that loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// x86-64 with vectors of sixteen numbers.
    Avx512,
    /// x86-64 with vectors of eight numbers and fused multiply-add.
    Avx2,
    /// ARM, 64 bits: all of them have it.
    Neon,
    /// Whatever the compiler makes of a loop for any processor of the kind.
    Portable,
}

impl Instructions {
    /// What the processor has that this runs on. It is asked once; then this is a read from memory.
    #[inline]
    pub fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            // The same set that the `gemm` crate asks for.
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

/// Runs a loop that was compiled for each kind of [`Instructions`] with those that are here.
///
/// All that the loop calls must be `#[inline(always)]`, or it is compiled once only.
#[inline]
pub fn vectorised<R>(body: impl FnOnce() -> R) -> R {
    match Instructions::here() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => {
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma")]
            fn with_avx512<R>(body: impl FnOnce() -> R) -> R {
                body()
            }
            // SAFETY: the processor was asked just now, and has all of them.
            unsafe { with_avx512(body) }
        }
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => {
            #[target_feature(enable = "avx2,fma")]
            fn with_avx2<R>(body: impl FnOnce() -> R) -> R {
                body()
            }
            // SAFETY: the processor was asked just now, and has both.
            unsafe { with_avx2(body) }
        }
        _ => body(),
    }
}

/// Asks for a place of memory that will be read soon, where the processor can be asked.
///
/// Weights are read once from start to end, and with few rows to meet there is little else to do:
/// asking early makes such products up to three times as fast. A place beyond the end is as good as
/// any, for nothing is read.
#[inline(always)]
pub fn prefetch<T>(values: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: asking for memory reads and changes nothing, whatever the address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(place).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, place);
}
