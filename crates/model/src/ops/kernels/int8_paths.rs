//! The three ways to multiply rows in eight bits with a panel of weights.
//!
//! Everything that is read is read through a reference to an array of known size, so the only
//! things that are `unsafe` are to begin to use instructions that not every processor has, after
//! asking it, and to load and store such arrays.

use super::int8_product::{Panel, Path};

/// Multiplies some rows with a panel; hands each row's number and results to `put`.
///
/// # Shapes
/// - values: `[rows, inputs]`, inputs a multiple of four; scales: `[rows]`
/// - results: `[columns]`
#[inline]
pub fn multiply(
    path: Path,
    panel: &Panel<'_>,
    values: &[u8],
    scales: &[f32],
    put: impl FnMut(usize, &[f32]),
) {
    match path {
        #[cfg(target_arch = "x86_64")]
        Path::Vnni | Path::Avx2 => x86::multiply(path, panel, values, scales, put),
        _ => portable(panel, values, scales, put),
    }
}

/// What sums of whole numbers stand for.
#[inline(always)]
fn results<const COLUMNS: usize>(
    sums: &[i32; COLUMNS],
    row_scale: f32,
    panel: &Panel<'_>,
) -> [f32; COLUMNS] {
    let (scales, bias): (&[f32; COLUMNS], &[f32; COLUMNS]) =
        (whole(panel.scales), whole(panel.bias));
    std::array::from_fn(|column| sums[column] as f32 * (row_scale * scales[column]) + bias[column])
}

/// A slice of known length: loops over it have no branches.
#[inline(always)]
fn whole<T, const N: usize>(values: &[T]) -> &[T; N] {
    values.first_chunk().expect("a panel has all its columns")
}

fn portable(panel: &Panel<'_>, values: &[u8], scales: &[f32], mut put: impl FnMut(usize, &[f32])) {
    const COLUMNS: usize = 16;
    let fours = panel.weights.len() / (COLUMNS * 4);
    for (row, (values, &row_scale)) in values.chunks_exact(4 * fours).zip(scales).enumerate() {
        let mut sums = [0i32; COLUMNS];
        let weights = panel.weights.as_chunks::<4>().0.as_chunks::<COLUMNS>().0;
        for (weights, values) in weights.iter().zip(values.as_chunks::<4>().0) {
            for (sum, weights) in sums.iter_mut().zip(weights) {
                for (&weight, &value) in weights.iter().zip(values) {
                    *sum += i32::from(weight) * i32::from(value.cast_signed());
                }
            }
        }
        put(row, &results(&sums, row_scale, panel));
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::needless_range_loop, reason = "only so do all sums stay in registers")]
#[allow(clippy::wildcard_imports, reason = "every second word is an instruction")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::{AHEAD, prefetch};
    use super::{Panel, Path, results, whole};

    pub fn multiply(
        path: Path,
        panel: &Panel<'_>,
        values: &[u8],
        scales: &[f32],
        put: impl FnMut(usize, &[f32]),
    ) {
        assert!(path.is_available(), "instructions that are here");
        #[allow(unsafe_code, reason = "only the processor knows what it has")]
        // SAFETY: the processor was asked just now.
        unsafe {
            match (path, scales.len()) {
                (Path::Vnni, 1) => vnni::<1>(panel, values, scales, put),
                (Path::Vnni, 2) => vnni::<2>(panel, values, scales, put),
                (Path::Vnni, 3) => vnni::<3>(panel, values, scales, put),
                (Path::Vnni, 4) => vnni::<4>(panel, values, scales, put),
                (Path::Vnni, 5) => vnni::<5>(panel, values, scales, put),
                (Path::Vnni, _) => vnni::<12>(panel, values, scales, put),
                (_, 1) => avx2::<1>(panel, values, scales, put),
                (_, 2) => avx2::<2>(panel, values, scales, put),
                (_, 3) => avx2::<3>(panel, values, scales, put),
                (_, _) => avx2::<4>(panel, values, scales, put),
            }
        }
    }

    /// The fours of each row.
    #[inline(always)]
    fn split<'a, const N: usize>(
        values: &'a [u8],
        scales: &[f32],
        fours: usize,
    ) -> [&'a [[u8; 4]]; N] {
        assert_eq!(scales.len(), N, "as many rows as this was compiled for");
        assert_eq!(values.len(), N * fours * 4, "whole rows");
        std::array::from_fn(|row| &values.as_chunks::<4>().0[row * fours..][..fours])
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn vnni<const N: usize>(
        panel: &Panel<'_>,
        values: &[u8],
        scales: &[f32],
        mut put: impl FnMut(usize, &[f32]),
    ) {
        let weights = panel.weights.as_chunks::<64>().0.as_chunks::<2>().0;
        let fours = weights.len();
        let rows = split::<N>(values, scales, fours);
        let mut sums = [[_mm512_setzero_si512(); 2]; N];
        for four in 0..fours {
            for half in &weights[four] {
                prefetch(half, AHEAD);
            }
            let (left, right) = (load512(&weights[four][0]), load512(&weights[four][1]));
            for row in 0..N {
                let x = _mm512_set1_epi32(i32::from_le_bytes(rows[row][four]));
                sums[row][0] = _mm512_dpbusd_epi32(sums[row][0], x, left);
                sums[row][1] = _mm512_dpbusd_epi32(sums[row][1], x, right);
            }
        }
        let surplus: &[i32; 32] = whole(panel.sums);
        for row in 0..N {
            let mut sum = [[0i32; 16]; 2];
            store512(sums[row][0], &mut sum[0]);
            store512(sums[row][1], &mut sum[1]);
            let mut sum: [i32; 32] = *whole(sum.as_flattened());
            for (sum, surplus) in sum.iter_mut().zip(surplus) {
                // Rows were 128 more than they are.
                *sum -= 128 * surplus;
            }
            put(row, &results(&sum, scales[row], panel));
        }
    }

    #[target_feature(enable = "avx2")]
    fn avx2<const N: usize>(
        panel: &Panel<'_>,
        values: &[u8],
        scales: &[f32],
        mut put: impl FnMut(usize, &[f32]),
    ) {
        let weights = panel.weights.as_chunks::<32>().0.as_chunks::<2>().0;
        let fours = weights.len();
        let rows = split::<N>(values, scales, fours);
        let ones = _mm256_set1_epi16(1);
        let mut sums = [[_mm256_setzero_si256(); 2]; N];
        for four in 0..fours {
            prefetch(&weights[four], AHEAD / size_of_val(&weights[four][0]));
            let both = [load256(&weights[four][0]), load256(&weights[four][1])];
            for row in 0..N {
                let x = _mm256_set1_epi32(i32::from_le_bytes(rows[row][four]));
                let size = _mm256_abs_epi8(x);
                for half in 0..2 {
                    // One factor has no sign, the other both signs. Two products of at most 127
                    // times 127 add up to less than sixteen bits hold, so nothing is cut off.
                    let pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(both[half], x));
                    let four = _mm256_madd_epi16(pairs, ones);
                    sums[row][half] = _mm256_add_epi32(sums[row][half], four);
                }
            }
        }
        for row in 0..N {
            let mut sum = [[0i32; 8]; 2];
            store256(sums[row][0], &mut sum[0]);
            store256(sums[row][1], &mut sum[1]);
            let sum: &[i32; 16] = whole(sum.as_flattened());
            put(row, &results(sum, scales[row], panel));
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load512(bytes: &[i8; 64]) -> __m512i {
        #[allow(unsafe_code, reason = "loads are by address")]
        // SAFETY: the array has all 64 bytes that are read, and needs no alignment.
        unsafe {
            _mm512_loadu_si512(bytes.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store512(vector: __m512i, place: &mut [i32; 16]) {
        #[allow(unsafe_code, reason = "stores are by address")]
        // SAFETY: the array has all 64 bytes that are written, and needs no alignment.
        unsafe {
            _mm512_storeu_si512(place.as_mut_ptr().cast(), vector);
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load256(bytes: &[i8; 32]) -> __m256i {
        #[allow(unsafe_code, reason = "loads are by address")]
        // SAFETY: the array has all 32 bytes that are read, and needs no alignment.
        unsafe {
            _mm256_loadu_si256(bytes.as_ptr().cast())
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store256(vector: __m256i, place: &mut [i32; 8]) {
        #[allow(unsafe_code, reason = "stores are by address")]
        // SAFETY: the array has all 32 bytes that are written, and needs no alignment.
        unsafe {
            _mm256_storeu_si256(place.as_mut_ptr().cast(), vector);
        }
    }
}
