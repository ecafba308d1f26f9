//! Products of matrices in slices, with any row stride.
//!
//! The `gemm` crate takes pointers. A [`Matrix`] can only be made from a slice that holds all of
//! it, which is checked when it is made, so the products stay in bounds.

use gemm::Parallelism;

/// A matrix to read.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

/// A matrix to write: `rows` rows of `columns` values each, which do not overlap.
#[derive(Debug)]
pub struct MatrixMut<'a> {
    values: &'a mut [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
}

/// The number of values from the first to the last of a matrix, inclusive.
fn extent(rows: usize, columns: usize, row_stride: usize, column_stride: usize) -> usize {
    if rows == 0 || columns == 0 {
        return 0;
    }
    (rows - 1)
        .checked_mul(row_stride)
        .zip((columns - 1).checked_mul(column_stride))
        .and_then(|(rows, columns)| rows.checked_add(columns)?.checked_add(1))
        .filter(|&extent| isize::try_from(extent).is_ok())
        .expect("a matrix fits into memory")
}

impl<'a> Matrix<'a> {
    /// `rows` rows of `columns` adjacent values, with `row_stride` from one row to the next.
    ///
    /// # Panics
    /// If the slice is too short.
    pub fn new(values: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        let extent = extent(rows, columns, row_stride, 1);
        assert!(extent <= values.len(), "a matrix lies inside its slice");
        Self { values, rows, columns, row_stride, column_stride: 1 }
    }

    /// All rows of a packed matrix.
    pub fn packed(values: &'a [f32], columns: usize) -> Self {
        Self::new(values, values.len() / columns.max(1), columns, columns)
    }

    /// The slice that it lies in.
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Values from one row to the next.
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Values from one column to the next.
    pub fn column_stride(&self) -> usize {
        self.column_stride
    }

    /// The transpose, without moving any values.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// One entry.
    #[inline(always)]
    pub fn at(&self, row: usize, column: usize) -> f32 {
        self.values[row * self.row_stride + column * self.column_stride]
    }
}

impl<'a> MatrixMut<'a> {
    /// See [`Matrix::new`].
    ///
    /// # Panics
    /// If the slice is too short or rows overlap.
    pub fn new(values: &'a mut [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(rows <= 1 || row_stride >= columns, "rows that are written do not overlap");
        let extent = extent(rows, columns, row_stride, 1);
        assert!(extent <= values.len(), "a matrix lies inside its slice");
        Self { values, rows, columns, row_stride }
    }

    /// See [`Matrix::packed`].
    pub fn packed(values: &'a mut [f32], columns: usize) -> Self {
        let rows = values.len() / columns.max(1);
        Self::new(values, rows, columns, columns)
    }

    /// The slice that it lies in.
    pub fn values(&mut self) -> &mut [f32] {
        self.values
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Values from one row to the next.
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }
}

/// What a product does with the previous values of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Replaces them.
    Overwrite,
    /// Adds to them.
    Accumulate,
}

/// Below this many multiplications, a product is not worth a second thread.
const WORTH_SHARING: usize = 1 << 20;

/// `out = scale * a b`, or `out += scale * a b`.
///
/// Uses the threads of the current pool if there is enough to do.
///
/// # Panics
/// If the shapes do not match.
pub fn multiply(out: MatrixMut<'_>, a: Matrix<'_>, b: Matrix<'_>, scale: f32, output: Output) {
    let (rows, columns, inner) = (out.rows, out.columns, a.columns);
    assert_eq!((a.rows, b.rows, b.columns), (rows, inner, columns), "shapes of a product fit");
    let shared = rows * columns * inner >= WORTH_SHARING && rayon::current_num_threads() > 1;
    let parallelism = if shared { Parallelism::Rayon(0) } else { Parallelism::None };
    // SAFETY: the shapes match. The constructors have checked that every element of the three
    // matrices lies inside its slice; the slice of `out` is borrowed mutably and its rows do not
    // overlap, so no element is written twice or read while it is written; strides fit into
    // `isize` because the extent of their matrix does, and the stride of a dimension with only one
    // element is not used.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            out.values.as_mut_ptr(),
            1,
            out.row_stride as isize,
            output == Output::Accumulate,
            a.values.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.values.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            1.0,
            scale,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(seed: usize) -> f32 {
        ((seed * 7919 + 13) % 23) as f32 / 11.0 - 1.0
    }

    proptest! {
        #[test]
        fn equals_the_sum_of_products(
            rows in 0usize..20, columns in 0usize..20, inner in 0usize..20,
            slack in 0usize..5, keep: bool, flip_a: bool, flip_b: bool,
        ) {
            let make = |rows: usize, columns: usize, seed: usize| -> Vec<f32> {
                (0..rows * (columns + slack)).map(|i| value(i + seed)).collect()
            };
            let (a_rows, a_columns) = if flip_a { (inner, rows) } else { (rows, inner) };
            let (b_rows, b_columns) = if flip_b { (columns, inner) } else { (inner, columns) };
            let (a, b) = (make(a_rows, a_columns, 1), make(b_rows, b_columns, 2));
            let mut out = make(rows, columns, 3);
            let at = |m: &[f32], columns: usize, i: usize, j: usize, flip: bool| {
                let (i, j) = if flip { (j, i) } else { (i, j) };
                m[i * (columns + slack) + j]
            };
            let mut expected = out.clone();
            for i in 0..rows {
                for j in 0..columns {
                    let sum: f32 = (0..inner)
                        .map(|k| at(&a, a_columns, i, k, flip_a) * at(&b, b_columns, k, j, flip_b))
                        .sum();
                    let place = &mut expected[i * (columns + slack) + j];
                    *place = 0.5 * sum + if keep { *place } else { 0.0 };
                }
            }
            let matrix = |m, rows, columns, flip| {
                let matrix = Matrix::new(m, rows, columns, columns + slack);
                if flip { matrix.transposed() } else { matrix }
            };
            multiply(
                MatrixMut::new(&mut out, rows, columns, columns + slack),
                matrix(&a, a_rows, a_columns, flip_a),
                matrix(&b, b_rows, b_columns, flip_b),
                0.5,
                if keep { Output::Accumulate } else { Output::Overwrite },
            );
            for (ours, theirs) in out.iter().zip(&expected) {
                prop_assert!((ours - theirs).abs() < 1e-4);
            }
        }
    }

    #[test]
    #[should_panic(expected = "inside its slice")]
    fn rejects_a_matrix_larger_than_its_slice() {
        let _ = Matrix::new(&[0.0; 11], 3, 4, 4);
    }
}
