//! Products of small integers: weights and rows in eight bits, sums in thirty-two.
//!
//! A column of weights is `scale * q` with `q` from -127 to 127, and so is a row that is multiplied
//! with it; the products are summed exactly, so all paths and all processors give the same numbers.
//! A weight is a quarter as large as in single precision, and with a special instruction (VNNI)
//! four products cost as much as one.
//!
//! Weights are stored in panels as in [`packed_product`](super::packed_product), but with four
//! inputs of a column side by side: `[outputs / columns, inputs / 4, columns, 4]`.

use std::ops::Range;

use abridge_machine::int8::{Panel, Path, Place, multiply};
use abridge_machine::vectorised;

use super::ROUND;
use super::softmax::maximum_of;

/// The largest integer in weights and rows.
const LARGEST: f32 = 127.0;
/// Inputs that one instruction adds up.
const FOUR: usize = 4;
/// Bytes of rows that are multiplied with all panels before the next ones: they and a panel stay in
/// the second-level cache.
const CACHED_ROWS: usize = 1 << 18;
/// With more inputs than this a sum could overflow 32 bits.
pub const MAX_INPUTS: usize = 1 << 16;

/// The quantisation step of a channel, so that its largest value is 127 steps.
pub fn scale_of(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(0.0f32, |largest, value| largest.max(value.abs())) / LARGEST
}

/// The integer that, times `scale`, is nearest to the value.
pub fn quantise(value: f32, scale: f32) -> i8 {
    if scale > 0.0 { ((value / scale + ROUND) - ROUND).clamp(-LARGEST, LARGEST) as i8 } else { 0 }
}

/// `[inputs, outputs]` and a bias.
#[derive(Clone, Debug)]
pub struct Int8Matrix {
    inputs: usize,
    outputs: usize,
    /// Groups of four inputs, the last padded with zeros.
    fours: usize,
    path: Path,
    /// See above; the last panel is padded with zeros.
    panels: Vec<i8>,
    /// The quantisation step of each column; padded likewise, as are the next two.
    scales: Vec<f32>,
    bias: Vec<f32>,
    /// For each column the sum of its weights.
    sums: Vec<i32>,
}

/// Rows in eight bits, a buffer to be reused.
#[derive(Clone, Debug, Default)]
pub struct Int8Rows {
    values: Vec<u8>,
    scales: Vec<f32>,
}

impl Int8Matrix {
    /// Packs the matrix whose entry at row `i` and column `j` is `at(i, j)`.
    pub fn new(
        inputs: usize,
        outputs: usize,
        at: impl Fn(usize, usize) -> f32,
        bias: &[f32],
    ) -> Self {
        Self::for_path(Path::here(), inputs, outputs, at, bias)
    }

    fn for_path(
        path: Path,
        inputs: usize,
        outputs: usize,
        at: impl Fn(usize, usize) -> f32,
        bias: &[f32],
    ) -> Self {
        let scales: Vec<f32> =
            (0..outputs).map(|j| scale_of((0..inputs).map(|i| at(i, j)))).collect();
        let column = |j: usize| {
            let (at, scale) = (&at, scales[j]);
            (0..inputs).map(move |i| quantise(at(i, j), scale))
        };
        Self::of_columns_for_path(path, inputs, &scales, column, bias)
    }

    /// Packs the matrix whose column `j` is `scales[j]` times the integers `column(j)`, one for each
    /// input, from -127 to 127.
    pub fn of_columns<C: Iterator<Item = i8>>(
        inputs: usize,
        scales: &[f32],
        column: impl Fn(usize) -> C,
        bias: &[f32],
    ) -> Self {
        Self::of_columns_for_path(Path::here(), inputs, scales, column, bias)
    }

    fn of_columns_for_path<C: Iterator<Item = i8>>(
        path: Path,
        inputs: usize,
        scales: &[f32],
        column: impl Fn(usize) -> C,
        bias: &[f32],
    ) -> Self {
        let outputs = scales.len();
        assert!(bias.is_empty() || bias.len() == outputs, "one bias per output, or none");
        assert!(inputs <= MAX_INPUTS, "sums of {inputs} products may not fit");
        let (columns, fours) = (path.columns(), inputs.div_ceil(FOUR));
        let padded = outputs.next_multiple_of(columns);
        let mut scales = scales.to_vec();
        scales.resize(padded, 0.0);
        let mut sums = vec![0; padded];
        let mut panels = vec![0; padded * fours * FOUR];
        for (j, sum) in sums[..outputs].iter_mut().enumerate() {
            let first = FOUR * (j / columns * fours * columns + j % columns);
            let places = panels[first..].chunks_mut(FOUR * columns);
            let places = places.flat_map(|chunk| &mut chunk[..FOUR]);
            for (place, weight) in places.take(inputs).zip(column(j)) {
                *place = weight;
                *sum += i32::from(weight);
            }
        }
        let mut bias = bias.to_vec();
        bias.resize(padded, 0.0);
        Self { inputs, outputs, fours, path, panels, scales, bias, sums }
    }

    /// The number of columns.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The entries of a column, without its bias.
    pub fn column(&self, column: usize) -> impl Iterator<Item = f32> {
        let (panel, fours) = (self.path.columns(), self.fours);
        let four = move |four: usize| {
            let from = FOUR * ((column / panel * fours + four) * panel + column % panel);
            &self.panels[from..][..FOUR]
        };
        let scale = self.scales[column];
        let weights = (0..fours).flat_map(four).take(self.inputs);
        weights.map(move |&weight| scale * f32::from(weight))
    }

    /// The matrix of the given columns.
    pub fn select(&self, columns: &[u32]) -> Self {
        let of = |place: usize| columns.get(place).map(|&column| column as usize);
        let (panel, fours) = (self.path.columns(), self.fours);
        let padded = columns.len().next_multiple_of(panel);
        let mut panels = Vec::with_capacity(padded * fours * FOUR);
        for first in (0..padded).step_by(panel) {
            for four in 0..fours {
                for place in first..first + panel {
                    let weights = of(place).map_or([0; FOUR], |j| {
                        let from = FOUR * ((j / panel * fours + four) * panel + j % panel);
                        *self.panels[from..].first_chunk().expect("a whole four")
                    });
                    panels.extend(weights);
                }
            }
        }
        Self {
            outputs: columns.len(),
            panels,
            scales: (0..padded).map(|place| of(place).map_or(0.0, |j| self.scales[j])).collect(),
            bias: (0..padded).map(|place| of(place).map_or(0.0, |j| self.bias[j])).collect(),
            sums: (0..padded).map(|place| of(place).map_or(0, |j| self.sums[j])).collect(),
            ..*self
        }
    }

    /// Quantises rows for this matrix, each with its own scale.
    ///
    /// # Shapes
    /// - x: `[rows, inputs]`
    pub fn quantise(&self, x: &[f32], rows: &mut Int8Rows) {
        let width = self.fours * FOUR;
        let count = x.len() / self.inputs;
        assert_eq!(count * self.inputs, x.len(), "whole rows");
        // VNNI takes unsigned rows: 128 is added to each value.
        let flip = if self.path == Path::Vnni { 0x80 } else { 0 };
        rows.values.clear();
        rows.values.resize(count * width, 0);
        rows.scales.clear();
        rows.scales.resize(count, 0.0);
        vectorised(
            #[inline(always)]
            || {
                let places = rows.values.chunks_exact_mut(width).zip(&mut rows.scales);
                for (x, (values, scale)) in x.chunks_exact(self.inputs).zip(places) {
                    let largest = maximum_of(x, f32::abs);
                    *scale = largest / LARGEST;
                    let inverse = if largest > 0.0 { LARGEST / largest } else { 0.0 };
                    for (value, x) in values.iter_mut().zip(x) {
                        *value = ((x * inverse + ROUND).to_bits() as u8) ^ flip;
                    }
                }
            },
        );
    }

    /// Some columns of `x W + b`, from the start of a panel.
    ///
    /// # Shapes
    /// - rows: `[rows, inputs]`, out: `[rows, columns]`
    pub fn multiply_columns(&self, rows: &Int8Rows, columns: Range<usize>, out: &mut Vec<f32>) {
        let panel_columns = self.path.columns();
        let count = rows.scales.len();
        let (width, stride) = (self.fours * FOUR, columns.len());
        assert_eq!(rows.values.len(), count * width, "rows that were made for this matrix");
        assert!(columns.end <= self.outputs, "columns that exist");
        assert_eq!(columns.start % panel_columns, 0, "the start of a panel");
        out.resize(count * stride, 0.0);
        let block = (CACHED_ROWS / width).max(1);
        for rows_from in (0..count).step_by(block) {
            let rows_to = (rows_from + block).min(count);
            for first in columns.clone().step_by(panel_columns) {
                let here = first..first + panel_columns;
                let panel = Panel {
                    weights: &self.panels[first * width..][..panel_columns * width],
                    scales: &self.scales[here.clone()],
                    bias: &self.bias[here.clone()],
                    sums: &self.sums[here],
                };
                let written = panel_columns.min(columns.end - first);
                for some in even_parts(rows_from..rows_to, self.path.rows()) {
                    let values = &rows.values[some.start * width..some.end * width];
                    let scales = &rows.scales[some.clone()];
                    let out = &mut out[some.start * stride + first - columns.start..];
                    let place = Place { out, stride, columns: written };
                    multiply(self.path, &panel, values, scales, place);
                }
            }
        }
    }
}

/// A range in as few parts as possible of at most so many, all about as long: a part of a few rows
/// takes almost as long as a larger one.
fn even_parts(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let mut from = range.start;
    std::iter::from_fn(move || {
        let left = range.end - from;
        let part = left.div_ceil(left.div_ceil(most).max(1));
        from += part;
        (part > 0).then(|| from - part..from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(seed: usize) -> f32 {
        ((seed * 7919 + 13) % 1009) as f32 / 504.0 - 1.0
    }

    /// A reference implementation: integers, one product after the other.
    fn reference(x: &[f32], inputs: usize, outputs: usize, bias: &[f32]) -> Vec<f32> {
        let mut out = Vec::new();
        for row in x.chunks_exact(inputs) {
            let largest = row.iter().fold(0.0f32, |a, b| a.max(b.abs()));
            for (j, bias) in bias.iter().enumerate() {
                let column: Vec<f32> = (0..inputs).map(|i| value(i * outputs + j + 5)).collect();
                let scale = scale_of(column.iter().copied());
                let sum: i32 = row
                    .iter()
                    .zip(&column)
                    .map(|(x, w)| {
                        let x = (x * (127.0 / largest)).round_ties_even() as i32;
                        x * i32::from(quantise(*w, scale))
                    })
                    .sum();
                out.push(sum as f32 * (largest / 127.0 * scale) + bias);
            }
        }
        out
    }

    proptest! {
        #[test]
        fn every_path_equals_the_plain_loop(
            rows in 0usize..30, inputs in 1usize..80, outputs in 1usize..80, seed in 0usize..1000,
        ) {
            let x: Vec<f32> = (0..rows * inputs).map(|i| value(i + seed)).collect();
            let bias: Vec<f32> = (0..outputs).map(value).collect();
            let expected = reference(&x, inputs, outputs, &bias);
            for path in Path::available() {
                let at = |i: usize, j: usize| value(i * outputs + j + 5);
                let matrix = Int8Matrix::for_path(path, inputs, outputs, at, &bias);
                let (mut quantised, mut out) = (Int8Rows::default(), vec![7.0; 3]);
                matrix.quantise(&x, &mut quantised);
                matrix.multiply_columns(&quantised, 0..outputs, &mut out);
                prop_assert_eq!(&out, &expected, "{:?}", path);
                let some: Vec<u32> = (0..outputs as u32).step_by(2).collect();
                matrix.select(&some).multiply_columns(&quantised, 0..some.len(), &mut out);
                let kept = expected.chunks_exact(outputs).flat_map(|row| row.iter().step_by(2));
                prop_assert!(kept.eq(&out), "{:?}", path);
                let column: Vec<f32> = matrix.column(outputs - 1).collect();
                let weights = (0..inputs).map(|i| at(i, outputs - 1));
                let scale = scale_of(weights.clone());
                let nearest = weights.map(|weight| scale * f32::from(quantise(weight, scale)));
                prop_assert!(nearest.eq(column), "{:?}", path);
            }
        }

        #[test]
        fn is_near_the_product_in_single_precision(rows in 1usize..5, inputs in 1usize..300) {
            let x: Vec<f32> = (0..rows * inputs).map(|i| value(i * 3)).collect();
            let at = |i: usize, j: usize| value(i * 7 + j);
            let matrix = Int8Matrix::new(inputs, 7, at, &[]);
            let (mut quantised, mut out) = (Int8Rows::default(), Vec::new());
            matrix.quantise(&x, &mut quantised);
            matrix.multiply_columns(&quantised, 0..7, &mut out);
            for (place, ours) in out.iter().enumerate() {
                let (row, j) = (place / 7, place % 7);
                let exact: f32 = (0..inputs).map(|i| x[row * inputs + i] * at(i, j)).sum();
                // Each factor is off by half a step of 1/127 at most, and none is larger than 1.
                let bound = inputs as f32 * (1.0 / 127.0 + 1.0 / (4.0 * 127.0 * 127.0)) + 1e-4;
                prop_assert!((ours - exact).abs() <= bound, "{ours} for {exact}");
            }
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        for path in Path::available() {
            let matrix = Int8Matrix::for_path(path, 4096, 3, |_, j| [1.0, -1.0, 0.0][j], &[]);
            let (mut quantised, mut out) = (Int8Rows::default(), Vec::new());
            let x: Vec<f32> = [1.0, -1.0].into_iter().flat_map(|x| [x; 4096]).collect();
            matrix.quantise(&x, &mut quantised);
            matrix.multiply_columns(&quantised, 0..3, &mut out);
            let close = |a: f32, b: f32| (a - b).abs() < 1e-2;
            assert!(
                out.iter()
                    .zip([4096.0, -4096.0, 0.0, -4096.0, 4096.0, 0.0])
                    .all(|(&a, b)| close(a, b)),
                "{path:?}: {out:?}"
            );
        }
    }
}
