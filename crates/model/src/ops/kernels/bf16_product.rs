//! Products whose operands are rounded to bfloat16 and whose sums are taken in `f32`.
//!
//! Processors with AMX or AVX-512 BF16 multiply them directly. Elsewhere operands are rounded in
//! the same way and multiplied in `f32`: as slow as without rounding, but a run that was started on
//! one machine can continue on another.

use std::cell::RefCell;
use std::ops::Range;

use abridge_machine::bf16::{Bf16Unit, DEPTH, ROWS, SIDE, Tile};
use abridge_machine::product::{Matrix, MatrixMut, Output, multiply};
use half::bf16;

/// Values of the inner dimension that are multiplied at a time, so that 32 rows of one side stay in
/// the first-level cache and all columns of the other in the second.
const STRETCH: usize = 16 * DEPTH;

/// Two tiles, one below the other on the left side, beside each other on the right.
type Tiles = [Tile; 2];

/// `out = scale * a b`, or `out += scale * a b`, on one thread; the shapes fit.
pub fn bf16_product(out: MatrixMut<'_>, a: Matrix<'_>, b: Matrix<'_>, scale: f32, output: Output) {
    match Bf16Unit::take() {
        Some(unit) if a.columns() > 0 => on_tiles(&unit, out, a, b, scale, output),
        _ => multiply(out, rounded(a, &mut Vec::new()), rounded(b, &mut Vec::new()), scale, output),
    }
}

/// The same values, rounded to bfloat16.
fn rounded<'a>(of: Matrix<'_>, values: &'a mut Vec<f32>) -> Matrix<'a> {
    values.reserve(of.rows() * of.columns());
    for row in 0..of.rows() {
        values.extend((0..of.columns()).map(|column| bf16::from_f32(of.at(row, column)).to_f32()));
    }
    Matrix::new(values, of.rows(), of.columns(), of.columns())
}

fn on_tiles(
    unit: &Bf16Unit,
    mut out: MatrixMut<'_>,
    a: Matrix<'_>,
    b: Matrix<'_>,
    scale: f32,
    output: Output,
) {
    thread_local! {
        static BUFFERS: RefCell<[Vec<Tiles>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
    }
    let (rows, columns, stride) = (out.rows(), out.columns(), out.row_stride());
    let out = out.values();
    BUFFERS.with_borrow_mut(|[left, right]| {
        for first in (0..a.columns()).step_by(STRETCH) {
            let stretch = first..a.columns().min(first + STRETCH);
            let keep = first > 0 || output == Output::Accumulate;
            fill(unit, left, a, scale, stretch.clone(), Across::Inner);
            fill(unit, right, b.transposed(), 1.0, stretch.clone(), Across::Outer);
            let deep = stretch.len().div_ceil(DEPTH);
            for (left, row) in left.chunks_exact(deep).zip((0..).step_by(SIDE)) {
                for (right, column) in right.chunks_exact(deep).zip((0..).step_by(SIDE)) {
                    let rest = &mut out[row * stride + column..];
                    let (height, width) = (rows - row, columns - column);
                    if height >= SIDE && width >= SIDE {
                        unit.add_products(left, right, rest, stride, keep);
                        continue;
                    }
                    let mut square = [0.0; SIDE * SIDE];
                    unit.add_products(left, right, &mut square, SIDE, false);
                    let rows = rest.chunks_mut(stride).zip(square.chunks_exact(SIDE));
                    for (out, sums) in rows.take(height) {
                        let out = &mut out[..width.min(SIDE)];
                        for (out, sum) in out.iter_mut().zip(sums) {
                            *out = sum + if keep { *out } else { 0.0 };
                        }
                    }
                }
            }
        }
    });
}

/// Which dimension runs along the rows of a tile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Across {
    /// The inner one: the left side of a product.
    Inner,
    /// The other one: the right side.
    Outer,
}

/// The tiles of `scale` times a matrix whose columns are the inner dimension: for every 32 rows those
/// of the given columns. Values beyond the matrix are zero.
fn fill(
    unit: &Bf16Unit,
    tiles: &mut Vec<Tiles>,
    of: Matrix<'_>,
    scale: f32,
    columns: Range<usize>,
    across: Across,
) {
    const EMPTY: Tiles = [Tile([[0; ROWS]; ROWS]); 2];
    let (high, deep) = (of.rows().div_ceil(SIDE), columns.len().div_ceil(DEPTH));
    tiles.resize(high * deep, EMPTY);
    if !of.rows().is_multiple_of(SIDE) {
        tiles[(high - 1) * deep..].fill(EMPTY);
    }
    if !columns.len().is_multiple_of(DEPTH) {
        tiles.chunks_exact_mut(deep).for_each(|tiles| tiles[deep - 1] = EMPTY);
    }
    // The matrix is read in memory order; any other order is slower. One of its strides is 1,
    // because it is row-major or the transpose of a row-major matrix.
    let filled = if of.column_stride() == 1 {
        for row in 0..of.rows() {
            let from = &of.values()[row * of.row_stride()..][columns.clone()];
            unit.round_row(&mut tiles[row / SIDE * deep..], row % SIDE, from, scale);
        }
        Across::Inner
    } else {
        // What the last column is paired with, if it is alone.
        let zeros = vec![0.0; columns.len() % 2 * of.rows()];
        let column = |column: usize| {
            if column == columns.end {
                return zeros.as_slice();
            }
            &of.values()[column * of.column_stride()..][..of.rows()]
        };
        for (pair, first) in columns.clone().step_by(2).enumerate() {
            let tiles = tiles.iter_mut().skip(pair / ROWS).step_by(deep);
            unit.round_pair(tiles, pair % ROWS, [column(first), column(first + 1)], scale);
        }
        Across::Outer
    };
    if filled != across {
        tiles.iter_mut().flatten().for_each(|tile| unit.transpose(tile));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers that bfloat16 cannot represent.
    fn value(seed: usize) -> f32 {
        ((seed * 7919 + 13) % 1009) as f32 / 500.0 - 1.0
    }

    proptest! {
        /// Without bfloat16 instructions this compares the rounding with itself.
        #[test]
        fn equals_the_product_of_rounded_operands(
            rows in 0usize..70, columns in 0usize..70, inner in 0usize..1100,
            slack in 0usize..5, keep: bool, flip_a: bool, flip_b: bool,
        ) {
            let make = |rows: usize, columns: usize, seed: usize| -> Vec<f32> {
                (0..rows * (columns + slack)).map(|i| value(i + seed)).collect()
            };
            let matrix = |values, rows, columns, flip| {
                let (rows, columns) = if flip { (columns, rows) } else { (rows, columns) };
                let matrix = Matrix::new(values, rows, columns, columns + slack);
                if flip { matrix.transposed() } else { matrix }
            };
            let size = |rows, columns, flip| if flip { (columns, rows) } else { (rows, columns) };
            let (a_rows, a_columns) = size(rows, inner, flip_a);
            let (b_rows, b_columns) = size(inner, columns, flip_b);
            let (a, b) = (make(a_rows, a_columns, 1), make(b_rows, b_columns, 2));
            let (a, b) = (matrix(&a, rows, inner, flip_a), matrix(&b, inner, columns, flip_b));
            let before = if keep { Output::Accumulate } else { Output::Overwrite };
            let mut out = make(rows, columns, 3);
            let mut expected = out.clone();
            let place = |values| MatrixMut::new(values, rows, columns, columns + slack);
            bf16_product(place(&mut out), a, b, 0.5, before);
            let (mut a_values, mut b_values) = (Vec::new(), Vec::new());
            let (a, b) = (rounded(a, &mut a_values), rounded(b, &mut b_values));
            multiply(place(&mut expected), a, b, 0.5, before);
            for (ours, theirs) in out.iter().zip(&expected) {
                prop_assert!((ours - theirs).abs() < 1e-3, "{ours} {theirs}");
            }
        }
    }

    #[test]
    fn tiles_do_not_depend_on_the_memory_order_of_a_matrix() {
        let Some(unit) = Bf16Unit::take() else {
            return eprintln!("skipped: no bfloat16 instructions here");
        };
        let values: Vec<f32> = (0..40 * 40).map(value).collect();
        let mut turned = vec![0.0; 40 * 40];
        for (i, row) in values.chunks(40).enumerate() {
            for (j, &value) in row.iter().enumerate() {
                turned[j * 40 + i] = value;
            }
        }
        let (one, other) = (Matrix::packed(&values, 40), Matrix::packed(&turned, 40).transposed());
        for across in [Across::Inner, Across::Outer] {
            for columns in [0..32, 3..35, 0..40, 5..30] {
                let tiles = |of| {
                    let mut tiles = vec![[Tile([[7; ROWS]; ROWS]); 2]; 3];
                    fill(&unit, &mut tiles, of, 1.0, columns.clone(), across);
                    tiles
                };
                let (one, other) = (tiles(one), tiles(other));
                assert_eq!(one.len(), 2 * columns.len().div_ceil(DEPTH));
                for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
                    assert_eq!(one.0, other.0);
                }
                let at = |place: usize| bf16::from_f32(values[5 * 40 + columns.start + place]);
                let pair = u32::from(at(6).to_bits()) | u32::from(at(7).to_bits()) << 16;
                let (row, word) = if across == Across::Inner { (5, 3) } else { (3, 5) };
                assert_eq!(one[0][0].0[row][word], pair);
            }
        }
    }
}
