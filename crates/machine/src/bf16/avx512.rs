//! AVX-512 with bfloat16: on processors of AMD since Zen 4, and of Intel since Cooper Lake.
//!
//! One instruction multiplies sixteen pairs of bfloat16 with sixteen others and adds both products of
//! each pair to an `f32`: twice the work of an `f32` instruction of the same width.

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_permutex2var_epi32,
    _mm512_set1_epi32, _mm512_setzero_ps, _mm512_storeu_ps,
};
use std::array::from_fn;
use std::mem::transmute;

use super::{ROWS, SIDE, Tile};
use crate::Instructions;

/// Rows whose sums stay in registers: with two registers a row, half of all. Enough sums are under
/// way that none waits for the one before.
const HEIGHT: usize = 8;

/// Whether the processor has these instructions.
pub fn is_here() -> bool {
    Instructions::here() == Instructions::Avx512 && std::is_x86_feature_detected!("avx512bf16")
}

/// See [`super::Bf16Unit::add_products`].
///
/// # Safety
/// The instructions are here, both sides have the same number of tiles, and `out` holds all sums.
#[target_feature(enable = "avx512f,avx512bf16")]
pub unsafe fn add_products(
    left: &[[Tile; 2]],
    right: &[[Tile; 2]],
    out: &mut [f32],
    stride: usize,
    keep: bool,
) {
    for first in (0..SIDE).step_by(HEIGHT) {
        let place = |row: usize, half: usize| (first + row) * stride + half * ROWS;
        let mut sums: [[__m512; 2]; HEIGHT] = from_fn(|row| {
            from_fn(|half| {
                if keep {
                    // SAFETY: the caller promises that sixteen sums lie there.
                    unsafe { _mm512_loadu_ps(out.as_ptr().add(place(row, half))) }
                } else {
                    _mm512_setzero_ps()
                }
            })
        });
        for (left, right) in left.iter().zip(right) {
            let rows: &[[u32; ROWS]; HEIGHT] =
                left[first / ROWS].0[first % ROWS..].first_chunk().expect("eight rows of sixteen");
            for pair in 0..ROWS {
                let columns = [as_bf16(right[0].0[pair]), as_bf16(right[1].0[pair])];
                for (sums, row) in sums.iter_mut().zip(rows) {
                    // SAFETY: as many bits either way.
                    let one: __m512bh = unsafe { transmute(_mm512_set1_epi32(row[pair] as i32)) };
                    sums[0] = _mm512_dpbf16_ps(sums[0], one, columns[0]);
                    sums[1] = _mm512_dpbf16_ps(sums[1], one, columns[1]);
                }
            }
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (half, sums) in sums.into_iter().enumerate() {
                // SAFETY: the caller promises that sixteen sums have a place there.
                unsafe { _mm512_storeu_ps(out.as_mut_ptr().add(place(row, half)), sums) }
            }
        }
    }
}

/// Sixteen pairs, as the instruction wants them.
#[inline(always)]
fn as_bf16(words: [u32; ROWS]) -> __m512bh {
    // SAFETY: as many bits either way.
    unsafe { transmute(words) }
}

/// Rows as columns.
///
/// # Safety
/// AVX-512 is here.
#[target_feature(enable = "avx512f")]
pub unsafe fn transpose(Tile(words): &mut Tile) {
    // SAFETY: sixteen rows of sixteen words either way.
    let mut rows: [__m512i; ROWS] = unsafe { transmute(*words) };
    swap::<8>(&mut rows);
    swap::<4>(&mut rows);
    swap::<2>(&mut rows);
    swap::<1>(&mut rows);
    // SAFETY: as above.
    *words = unsafe { transmute::<[__m512i; ROWS], [[u32; ROWS]; ROWS]>(rows) };
}

/// Exchanges the off-diagonal blocks of `SIZE` x `SIZE` in all blocks of twice the size.
#[target_feature(enable = "avx512f")]
#[inline]
fn swap<const SIZE: usize>(rows: &mut [__m512i; ROWS]) {
    // Columns of the upper row of a pair are 0 to 15, those of the lower one 16 to 31.
    let upper = from_fn(|j| if j & SIZE == 0 { j } else { ROWS + j - SIZE } as u32);
    let lower = from_fn(|j| if j & SIZE == 0 { j + SIZE } else { ROWS + j } as u32);
    // SAFETY: sixteen words either way.
    let [upper, lower] = unsafe { transmute::<[[u32; ROWS]; 2], [__m512i; 2]>([upper, lower]) };
    for i in (0..ROWS).filter(|i| i & SIZE == 0) {
        let (above, below) = (rows[i], rows[i + SIZE]);
        rows[i] = _mm512_permutex2var_epi32(above, upper, below);
        rows[i + SIZE] = _mm512_permutex2var_epi32(above, lower, below);
    }
}
