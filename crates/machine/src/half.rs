//! Rows in single precision times a panel of weights in half precision, which are converted to
//! single precision when loaded into registers.
//!
//! `unsafe` is used as in [`int8`](crate::int8).

/// Rows that share one pass over a panel.
pub const ROWS: usize = 6;

/// Columns of a panel, two vectors, if the processor has the instructions.
pub fn columns() -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::Instructions;
        match Instructions::here() {
            Instructions::Avx512 => return Some(32),
            Instructions::Avx2 if std::is_x86_feature_detected!("f16c") => return Some(16),
            _ => {}
        }
    }
    None
}

/// Multiplies up to [`ROWS`] rows by one panel; passes each row's index and sums to `put`.
#[cfg(not(target_arch = "x86_64"))]
pub fn multiply(_: usize, _: &[f32], _: usize, _: &[u16], _: impl FnMut(usize, &[f32])) {
    unreachable!("no such matrix is made here");
}

#[cfg(target_arch = "x86_64")]
pub use x86::multiply;

#[cfg(target_arch = "x86_64")]
#[allow(clippy::needless_range_loop, reason = "only this form keeps all sums in registers")]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m512, _mm_loadu_si128, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_si256,
        _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps, _mm512_cvtph_ps, _mm512_fmadd_ps,
        _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
    };

    use super::columns;
    use crate::instructions::{AHEAD, prefetch};

    /// Multiplies up to six rows by one panel; passes each row's index and sums to `put`.
    pub fn multiply(
        panel_columns: usize,
        x: &[f32],
        inputs: usize,
        weights: &[u16],
        put: impl FnMut(usize, &[f32]),
    ) {
        assert_eq!(Some(panel_columns), columns(), "the instructions are available");
        // SAFETY: the processor was just checked.
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
        // SAFETY: the array has all 32 bytes that are read, and needs no alignment.
        let weights = unsafe { _mm256_loadu_si256(weights.as_ptr().cast()) };
        _mm512_cvtph_ps(weights)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store512(sums: __m512, place: &mut [f32; 16]) {
        // SAFETY: the array has all 64 bytes that are written, and needs no alignment.
        unsafe {
            _mm512_storeu_ps(place.as_mut_ptr(), sums);
        }
    }

    #[target_feature(enable = "avx2,f16c")]
    #[inline]
    fn load256(weights: &[u16; 8]) -> __m256 {
        // SAFETY: the array has all 16 bytes that are read, and needs no alignment.
        let weights = unsafe { _mm_loadu_si128(weights.as_ptr().cast()) };
        _mm256_cvtph_ps(weights)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn store256(sums: __m256, place: &mut [f32; 8]) {
        // SAFETY: the array has all 32 bytes that are written, and needs no alignment.
        unsafe {
            _mm256_storeu_ps(place.as_mut_ptr(), sums);
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "all of these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn equals_the_sum_of_products() {
        /// Bits in half precision, and the numbers they represent.
        const NUMBERS: [(u16, f32); 5] =
            [(0, 0.0), (0x3c00, 1.0), (0xc000, -2.0), (0x3800, 0.5), (0x4200, 3.0)];
        // `tests/presence.rs` checks that the instructions are detected.
        let Some(columns) = columns() else { return eprintln!("skipped: no F16C here") };
        for inputs in [1, 2, 33] {
            let number = |place: usize| NUMBERS[(place * 7919 + place / 5) % NUMBERS.len()];
            let weights: Vec<u16> = (0..inputs * columns).map(|i| number(i).0).collect();
            for rows in 1..=ROWS {
                let x: Vec<f32> = (0..rows * inputs).map(|i| (i % 9) as f32 - 4.0).collect();
                let mut seen = 0;
                multiply(columns, &x, inputs, &weights, |row, sums| {
                    assert_eq!(sums.len(), columns);
                    for (column, &sum) in sums.iter().enumerate() {
                        let products = (0..inputs)
                            .map(|i| x[row * inputs + i] * number(i * columns + column).1);
                        assert_eq!(sum, products.sum::<f32>(), "row {row}, column {column}");
                    }
                    seen += 1;
                });
                assert_eq!(seen, rows);
            }
        }
    }

    #[test]
    fn rejects_a_panel_that_is_too_short() {
        let Some(columns) = columns() else { return eprintln!("skipped: no F16C here") };
        let refused = |weights: usize| {
            let weights = vec![0; weights];
            std::panic::catch_unwind(|| multiply(columns, &[1.0; 8], 8, &weights, |_, _| ()))
                .is_err()
        };
        assert!(!refused(8 * columns));
        assert!(refused(7 * columns), "missing weights");
    }
}
