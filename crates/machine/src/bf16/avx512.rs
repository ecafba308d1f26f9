//! AVX-512 with bfloat16: on AMD processors since Zen 4, and on Intel processors since Cooper Lake.
//!
//! One instruction multiplies sixteen pairs of bfloat16 by sixteen others and adds both products of
//! each pair to an `f32`: twice the work of an `f32` instruction of the same width.

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_permutex2var_epi32,
    _mm512_set1_epi32, _mm512_setzero_ps, _mm512_storeu_ps,
};
use std::array::from_fn;
use std::mem::transmute;

use super::{ROWS, SIDE, Tile};
use crate::Instructions;

/// Rows whose sums stay in registers: with two registers per row, half of all registers. That is
/// enough independent sums to hide the latency.
const HEIGHT: usize = 8;

/// Whether the processor has these instructions.
pub fn is_here() -> bool {
    Instructions::here() == Instructions::Avx512 && std::is_x86_feature_detected!("avx512bf16")
}

/// See [`super::Bf16Unit::add_products`].
///
/// # Safety
/// The processor has the instructions, both sides have the same number of tiles, and `out` has
/// room for all sums.
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
                    // SAFETY: the caller guarantees that sixteen sums are in bounds there.
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
                    // SAFETY: both types have the same size.
                    let one: __m512bh = unsafe { transmute(_mm512_set1_epi32(row[pair] as i32)) };
                    sums[0] = _mm512_dpbf16_ps(sums[0], one, columns[0]);
                    sums[1] = _mm512_dpbf16_ps(sums[1], one, columns[1]);
                }
            }
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (half, sums) in sums.into_iter().enumerate() {
                // SAFETY: the caller guarantees that sixteen sums are in bounds there.
                unsafe { _mm512_storeu_ps(out.as_mut_ptr().add(place(row, half)), sums) }
            }
        }
    }
}

/// Sixteen pairs, in the type that the instruction takes.
#[inline(always)]
fn as_bf16(words: [u32; ROWS]) -> __m512bh {
    // SAFETY: both types have the same size.
    unsafe { transmute(words) }
}

/// Transposes a tile.
///
/// # Safety
/// The processor has AVX-512.
#[target_feature(enable = "avx512f")]
pub unsafe fn transpose(Tile(words): &mut Tile) {
    // SAFETY: both types are sixteen rows of sixteen words.
    let mut rows: [__m512i; ROWS] = unsafe { transmute(*words) };
    swap::<8>(&mut rows);
    swap::<4>(&mut rows);
    swap::<2>(&mut rows);
    swap::<1>(&mut rows);
    // SAFETY: as above.
    *words = unsafe { transmute::<[__m512i; ROWS], [[u32; ROWS]; ROWS]>(rows) };
}

/// Swaps the off-diagonal blocks of `SIZE` x `SIZE` in all blocks of twice the size.
#[target_feature(enable = "avx512f")]
#[inline]
fn swap<const SIZE: usize>(rows: &mut [__m512i; ROWS]) {
    // Indices 0 to 15 select columns of the upper row of a pair, 16 to 31 those of the lower row.
    let upper = from_fn(|j| if j & SIZE == 0 { j } else { ROWS + j - SIZE } as u32);
    let lower = from_fn(|j| if j & SIZE == 0 { j + SIZE } else { ROWS + j } as u32);
    // SAFETY: both types are sixteen words, twice.
    let [upper, lower] = unsafe { transmute::<[[u32; ROWS]; 2], [__m512i; 2]>([upper, lower]) };
    for i in (0..ROWS).filter(|i| i & SIZE == 0) {
        let (above, below) = (rows[i], rows[i + SIZE]);
        rows[i] = _mm512_permutex2var_epi32(above, upper, below);
        rows[i + SIZE] = _mm512_permutex2var_epi32(above, lower, below);
    }
}
