//! AVX-512 with bfloat16: on AMD processors since Zen 4, and on Intel processors since Cooper Lake.
//!
//! One instruction multiplies sixteen pairs of bfloat16 by sixteen others and adds both products of
//! each pair to an `f32`: twice the work of an `f32` instruction of the same width. Another rounds 32
//! numbers.

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_cvtne2ps_pbh, _mm512_dpbf16_ps, _mm512_loadu_ps,
    _mm512_mul_ps, _mm512_permutex2var_epi32, _mm512_permutexvar_epi16, _mm512_set1_epi32,
    _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
};
use std::array::from_fn;
use std::mem::transmute;

use super::{DEPTH, ROWS, SIDE, Tile};
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

/// See [`super::Bf16Unit::round_row`].
///
/// # Safety
/// The processor has the instructions.
#[target_feature(enable = "avx512f,avx512bf16")]
pub unsafe fn round_row(tiles: &mut [[Tile; 2]], row: usize, from: &[f32], scale: f32) {
    let scale = _mm512_set1_ps(scale);
    for (tiles, from) in tiles.iter_mut().zip(from.chunks(DEPTH)) {
        // SAFETY: both types have the same size.
        let [first, second]: [__m512; 2] = unsafe { transmute(padded::<DEPTH>(from)) };
        let rounded =
            _mm512_cvtne2ps_pbh(_mm512_mul_ps(scale, second), _mm512_mul_ps(scale, first));
        // SAFETY: both types have the same size.
        tiles[row / ROWS].0[row % ROWS] = unsafe { transmute::<__m512bh, [u32; ROWS]>(rounded) };
    }
}

/// See [`super::Bf16Unit::round_pair`].
///
/// # Safety
/// The processor has the instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub unsafe fn round_pair<'a>(
    tiles: impl Iterator<Item = &'a mut [Tile; 2]>,
    row: usize,
    first: &[f32],
    second: &[f32],
    scale: f32,
) {
    // The first sixteen values beside the other sixteen become pairs.
    let order: [u16; DEPTH] = from_fn(|place| (place / 2 + place % 2 * ROWS) as u16);
    // SAFETY: both types have the same size.
    let order: __m512i = unsafe { transmute(order) };
    let scale = _mm512_set1_ps(scale);
    for (tiles, (first, second)) in tiles.zip(first.chunks(SIDE).zip(second.chunks(SIDE))) {
        let halves = first.chunks(ROWS).zip(second.chunks(ROWS));
        for (tile, (first, second)) in tiles.iter_mut().zip(halves) {
            // SAFETY: both types have the same size.
            let [first, second]: [__m512; 2] =
                unsafe { transmute([padded::<ROWS>(first), padded::<ROWS>(second)]) };
            let rounded =
                _mm512_cvtne2ps_pbh(_mm512_mul_ps(scale, second), _mm512_mul_ps(scale, first));
            // SAFETY: these types have the same size.
            let pairs =
                _mm512_permutexvar_epi16(order, unsafe { transmute::<__m512bh, __m512i>(rounded) });
            // SAFETY: as above.
            tile.0[row] = unsafe { transmute::<__m512i, [u32; ROWS]>(pairs) };
        }
    }
}

/// The same values, padded with zeros if there are too few.
#[inline(always)]
fn padded<const N: usize>(values: &[f32]) -> [f32; N] {
    values.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0.0; N];
        padded[..values.len()].copy_from_slice(values);
        padded
    })
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
