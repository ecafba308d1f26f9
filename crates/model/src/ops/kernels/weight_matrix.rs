//! A weight matrix, packed once for products in the precision that it is stored in.

use std::ops::Range;

use super::half_product::HalfMatrix;
use super::int8_product::{Int8Matrix, Int8Rows, MAX_INPUTS};
use super::packed_product::{PackedMatrix, tiles};
use crate::weights::WeightPrecision;

/// `[inputs, outputs]` and a bias.
#[derive(Clone, Debug)]
pub enum WeightMatrix {
    Single(PackedMatrix),
    Half(HalfMatrix),
    Int8(Int8Matrix),
}

impl WeightMatrix {
    /// Packs the matrix whose entry at row `i` and column `j` is `at(i, j)`.
    pub fn new(
        precision: WeightPrecision,
        [inputs, outputs]: [usize; 2],
        at: impl Fn(usize, usize) -> f32,
        bias: &[f32],
    ) -> Self {
        let half = match precision {
            WeightPrecision::Int8 if inputs <= MAX_INPUTS => {
                return Self::Int8(Int8Matrix::new(inputs, outputs, at, bias));
            }
            // `None` if the processor cannot read half precision.
            WeightPrecision::Half => HalfMatrix::new(inputs, outputs, &at, bias).map(Self::Half),
            // Single precision, or integers whose sums could overflow.
            _ => None,
        };
        half.unwrap_or_else(|| Self::Single(PackedMatrix::new(inputs, outputs, at, bias)))
    }

    /// The number of columns.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Single(matrix) => matrix.outputs(),
            Self::Half(matrix) => matrix.outputs(),
            Self::Int8(matrix) => matrix.outputs(),
        }
    }

    /// The matrix of some columns alone.
    pub fn select(&self, columns: &[u32]) -> Self {
        match self {
            Self::Single(matrix) => Self::Single(matrix.select(columns)),
            Self::Half(matrix) => Self::Half(matrix.select(columns)),
            Self::Int8(matrix) => Self::Int8(matrix.select(columns)),
        }
    }

    /// Appends the entries of a column, without its bias.
    pub fn append_column(&self, column: usize, to: &mut Vec<f32>) {
        match self {
            Self::Single(matrix) => to.extend(matrix.column(column)),
            Self::Half(matrix) => to.extend(matrix.column(column)),
            Self::Int8(matrix) => to.extend(matrix.column(column)),
        }
    }

    /// `x W + b` into `out`, which is resized; `rows` is a buffer for `x` in another precision.
    ///
    /// # Shapes
    /// - x: `[rows, inputs]`, out: `[rows, outputs]`
    pub fn multiply(&self, x: &[f32], rows: &mut Int8Rows, out: &mut Vec<f32>) {
        match self {
            Self::Single(matrix) => matrix.multiply(x, out),
            Self::Half(matrix) => matrix.multiply_columns(x, 0..matrix.outputs(), out),
            Self::Int8(matrix) => {
                matrix.quantise(x, rows);
                matrix.multiply_columns(rows, 0..matrix.outputs(), out);
            }
        }
    }

    /// [`Self::multiply`], one tile of columns at a time: `look` gets the columns and the results
    /// `[rows, columns]`.
    pub fn multiply_in_tiles(
        &self,
        x: &[f32],
        rows: &mut Int8Rows,
        out: &mut Vec<f32>,
        mut look: impl FnMut(Range<usize>, &[f32]),
    ) {
        if let Self::Int8(matrix) = self {
            matrix.quantise(x, rows);
        }
        for columns in tiles(self.outputs()) {
            match self {
                Self::Single(matrix) => matrix.multiply_columns(x, columns.clone(), out),
                Self::Half(matrix) => matrix.multiply_columns(x, columns.clone(), out),
                Self::Int8(matrix) => matrix.multiply_columns(rows, columns.clone(), out),
            }
            look(columns, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_too_many_inputs_for_sums_of_integers_it_is_in_single_precision() {
        let of = |inputs| WeightMatrix::new(WeightPrecision::Int8, [inputs, 1], |_, _| 1.0, &[]);
        assert!(matches!(of(MAX_INPUTS), WeightMatrix::Int8(_)));
        assert!(matches!(of(MAX_INPUTS + 1), WeightMatrix::Single(_)));
    }
}
