//! The three ways to multiply rows of 8-bit integers by a panel of weights.
//!
//! All data is read through references to arrays of known size. `unsafe` is needed only to call
//! functions compiled for instructions that not every processor has, after checking for them, and
//! to load and store such arrays.

use std::fmt;

/// The ways to multiply, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// AVX-512 with its instruction for 8-bit dot products.
    Vnni,
    /// AVX2.
    Avx2,
    /// A plain loop.
    Portable,
}

impl Path {
    /// The preferred path on this processor.
    pub fn here() -> Self {
        Self::available()[0]
    }

    /// The paths that this processor supports.
    pub fn available() -> Vec<Self> {
        let all = [Self::Vnni, Self::Avx2, Self::Portable];
        all.into_iter().filter(|path| path.is_available()).collect()
    }

    /// Whether this processor has the instructions. Detected once.
    #[inline]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni => {
                std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::is_x86_feature_detected!("avx2"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Vnni | Self::Avx2 => false,
            Self::Portable => true,
        }
    }

    /// Columns of a panel: two vectors.
    pub fn columns(self) -> usize {
        if self == Self::Vnni { 32 } else { 16 }
    }

    /// Rows that share one pass over a panel: as many as fit into registers.
    pub fn rows(self) -> usize {
        match self {
            Self::Vnni => 12,
            Self::Avx2 => 4,
            Self::Portable => 1,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vnni => "AVX-512 VNNI",
            Self::Avx2 => "AVX2",
            Self::Portable => "portable",
        })
    }
}

/// Columns that are multiplied together, with their scales and biases.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    /// `[inputs / 4, columns, 4]`
    pub weights: &'a [i8],
    /// `[columns]`, like the next two
    pub scales: &'a [f32],
    /// The bias of each column.
    pub bias: &'a [f32],
    /// The sum of each column's weights.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only the VNNI instruction takes rows with an offset")
    )]
    pub sums: &'a [i32],
}

/// Where the results of some rows go: row `i` begins at `i * stride`.
#[derive(Debug)]
pub struct Place<'a> {
    /// From the first result of the first row to at least the last result of the last row.
    pub out: &'a mut [f32],
    /// Values from one row to the next.
    pub stride: usize,
    /// Columns that are written; the last panel of a matrix may have more.
    pub columns: usize,
}

impl Place<'_> {
    #[inline(always)]
    fn put<const COLUMNS: usize>(&mut self, row: usize, results: &[f32; COLUMNS]) {
        let out = &mut self.out[row * self.stride..];
        // Of known length almost always, and then no call to copy memory.
        match out.first_chunk_mut::<COLUMNS>() {
            Some(out) if self.columns == COLUMNS => *out = *results,
            _ => out[..self.columns].copy_from_slice(&results[..self.columns]),
        }
    }
}

/// Multiplies some rows, at most [`Path::rows`], by a panel.
///
/// # Shapes
/// - values: `[rows, inputs]`, inputs a positive multiple of four; scales: `[rows]`
#[inline]
pub fn multiply(path: Path, panel: &Panel<'_>, values: &[u8], scales: &[f32], place: Place<'_>) {
    match path {
        #[cfg(target_arch = "x86_64")]
        Path::Vnni | Path::Avx2 => x86::multiply(path, panel, values, scales, place),
        _ => portable(panel, values, scales, place),
    }
}

/// Converts integer sums to results: applies scales and bias.
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

/// A slice as an array of known length, so that loops over it have no branches.
#[inline(always)]
fn whole<T, const N: usize>(values: &[T]) -> &[T; N] {
    values.first_chunk().expect("a panel has all its columns")
}

fn portable(panel: &Panel<'_>, values: &[u8], scales: &[f32], mut place: Place<'_>) {
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
        place.put(row, &results(&sums, row_scale, panel));
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::needless_range_loop, reason = "only this form keeps all sums in registers")]
#[allow(clippy::wildcard_imports, reason = "most names are intrinsics")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Panel, Path, Place, results, whole};
    use crate::instructions::{AHEAD, prefetch};

    pub fn multiply(
        path: Path,
        panel: &Panel<'_>,
        values: &[u8],
        scales: &[f32],
        place: Place<'_>,
    ) {
        assert!(path.is_available(), "the instructions are available");
        // SAFETY: the processor was just checked.
        unsafe {
            match (path, scales.len()) {
                (Path::Vnni, 1) => vnni::<1>(panel, values, scales, place),
                (Path::Vnni, 2) => vnni::<2>(panel, values, scales, place),
                (Path::Vnni, 3) => vnni::<3>(panel, values, scales, place),
                (Path::Vnni, 4) => vnni::<4>(panel, values, scales, place),
                (Path::Vnni, 5) => vnni::<5>(panel, values, scales, place),
                (Path::Vnni, 6) => vnni::<6>(panel, values, scales, place),
                (Path::Vnni, 7) => vnni::<7>(panel, values, scales, place),
                (Path::Vnni, 8) => vnni::<8>(panel, values, scales, place),
                (Path::Vnni, 9) => vnni::<9>(panel, values, scales, place),
                (Path::Vnni, 10) => vnni::<10>(panel, values, scales, place),
                (Path::Vnni, 11) => vnni::<11>(panel, values, scales, place),
                (Path::Vnni, _) => vnni::<12>(panel, values, scales, place),
                (_, 1) => avx2::<1>(panel, values, scales, place),
                (_, 2) => avx2::<2>(panel, values, scales, place),
                (_, 3) => avx2::<3>(panel, values, scales, place),
                (_, _) => avx2::<4>(panel, values, scales, place),
            }
        }
    }

    /// The values of each row, in groups of four.
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
        mut place: Place<'_>,
    ) {
        let weights = panel.weights.as_chunks::<64>().0.as_chunks::<2>().0;
        let fours = weights.len();
        let rows = split::<N>(values, scales, fours);
        // The unsigned values of a row are its values plus 128, so a sum begins at minus 128 times
        // the sum of the weights. It may wrap on the way, but not in the end.
        let surplus: &[[i32; 16]; 2] = halves(panel.sums);
        let none = _mm512_setzero_si512();
        let start = [
            _mm512_sub_epi32(none, _mm512_slli_epi32::<7>(load_i32(&surplus[0]))),
            _mm512_sub_epi32(none, _mm512_slli_epi32::<7>(load_i32(&surplus[1]))),
        ];
        let mut sums = [start; N];
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
        // As in `results`, without a way through memory, which would take a fifth of the time.
        let (steps, bias): (&[[f32; 16]; 2], &[[f32; 16]; 2]) =
            (halves(panel.scales), halves(panel.bias));
        let steps = [load_f32(&steps[0]), load_f32(&steps[1])];
        let bias = [load_f32(&bias[0]), load_f32(&bias[1])];
        for row in 0..N {
            let scale = _mm512_set1_ps(scales[row]);
            let mut results = [[0.0f32; 16]; 2];
            for half in 0..2 {
                let sum = _mm512_cvtepi32_ps(sums[row][half]);
                let scaled = _mm512_mul_ps(sum, _mm512_mul_ps(scale, steps[half]));
                store_f32(_mm512_add_ps(scaled, bias[half]), &mut results[half]);
            }
            place.put::<32>(row, whole(results.as_flattened()));
        }
    }

    /// The two vectors of a panel's columns.
    #[inline(always)]
    fn halves<T>(values: &[T]) -> &[[T; 16]; 2] {
        values.as_chunks::<16>().0.first_chunk().expect("a panel has all its columns")
    }

    #[target_feature(enable = "avx2")]
    fn avx2<const N: usize>(
        panel: &Panel<'_>,
        values: &[u8],
        scales: &[f32],
        mut place: Place<'_>,
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
                    // One factor is unsigned; the other carries both signs. The sum of two products
                    // of at most 127 times 127 fits into sixteen bits, so nothing saturates.
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
            place.put(row, &results(sum, scales[row], panel));
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load512(bytes: &[i8; 64]) -> __m512i {
        // SAFETY: the array has all 64 bytes that are read, and needs no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load_i32(values: &[i32; 16]) -> __m512i {
        // SAFETY: the array has all 64 bytes that are read, and needs no alignment.
        unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load_f32(values: &[f32; 16]) -> __m512 {
        // SAFETY: the array has all 64 bytes that are read, and needs no alignment.
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store_f32(vector: __m512, place: &mut [f32; 16]) {
        // SAFETY: the array has all 64 bytes that are written, and needs no alignment.
        unsafe { _mm512_storeu_ps(place.as_mut_ptr(), vector) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load256(bytes: &[i8; 32]) -> __m256i {
        // SAFETY: the array has all 32 bytes that are read, and needs no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store256(vector: __m256i, place: &mut [i32; 8]) {
        // SAFETY: the array has all 32 bytes that are written, and needs no alignment.
        unsafe {
            _mm256_storeu_si256(place.as_mut_ptr().cast(), vector);
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "all of these numbers are exact")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_gives_the_sum_of_products(
            fours in 1usize..20, few in 1usize..12, seed in 0usize..1000,
        ) {
            let value = |place: usize| ((place * 7919 + seed) % 255) as i32 - 127;
            for path in Path::available() {
                let columns = path.columns();
                let weights: Vec<i8> =
                    (0..fours * columns * 4).map(|i| value(i) as i8).collect();
                let weight = |column: usize, input: usize| {
                    i32::from(weights[(input / 4 * columns + column) * 4 + input % 4])
                };
                let sum_of = |f: &dyn Fn(usize) -> i32| (0..fours * 4).map(f).sum::<i32>();
                let sums: Vec<i32> =
                    (0..columns).map(|column| sum_of(&|input| weight(column, input))).collect();
                let scales: Vec<f32> = (0..columns).map(|i| 0.5 + i as f32).collect();
                let bias: Vec<f32> = (0..columns).map(|i| i as f32 - 3.0).collect();
                let panel = Panel { weights: &weights, scales: &scales, bias: &bias, sums: &sums };
                let rows = if seed % 2 == 0 { path.rows() } else { few.min(path.rows()) };
                let flip = if path == Path::Vnni { 0x80 } else { 0 };
                let x = |row: usize, input: usize| value(row * 31 + input * 7 + 5);
                let values: Vec<u8> = (0..rows * fours * 4)
                    .map(|i| x(i / (fours * 4), i % (fours * 4)) as i8 as u8 ^ flip)
                    .collect();
                let row_scales: Vec<f32> = (0..rows).map(|row| 0.25 * (row + 1) as f32).collect();
                for (written, stride) in [(columns, columns + 3), (few, columns), (few, few)] {
                    let mut out = vec![7.0; (rows - 1) * stride + written];
                    let place = Place { out: &mut out, stride, columns: written };
                    multiply(path, &panel, &values, &row_scales, place);
                    for (place, result) in out.into_iter().enumerate() {
                        let (row, column) = (place / stride, place % stride);
                        if column >= written {
                            prop_assert_eq!(result, 7.0, "{} writes only its columns", path);
                            continue;
                        }
                        let sum = sum_of(&|input| x(row, input) * weight(column, input));
                        let scale = row_scales[row] * scales[column];
                        prop_assert_eq!(result, sum as f32 * scale + bias[column], "{}", path);
                    }
                }
            }
        }
    }
}
