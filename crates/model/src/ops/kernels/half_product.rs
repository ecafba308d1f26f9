//! Products with weights in half precision, for processors that can load them directly.
//!
//! With few rows a product is limited by memory bandwidth, so half the bytes take nearly half the
//! time. Weights are converted to single precision as they are loaded into registers, and the
//! arithmetic is that of [`packed_product`](super::packed_product), in the same order.

use std::ops::Range;

use abridge_machine::half::{ROWS, columns, multiply};
use half::f16;

use super::packed_product::{pack, panel_place};

/// `[inputs, outputs]` and a bias.
#[derive(Clone, Debug)]
pub struct HalfMatrix {
    inputs: usize,
    outputs: usize,
    columns: usize,
    /// `[outputs / columns, inputs, columns]`; the last panel is padded with zeros.
    panels: Vec<u16>,
    /// Padded likewise.
    bias: Vec<f32>,
}

impl HalfMatrix {
    /// Packs the matrix whose entry at row `i` and column `j` is `at(i, j)`; `None` if the
    /// processor cannot read it.
    pub fn new(
        inputs: usize,
        outputs: usize,
        at: impl Fn(usize, usize) -> f32,
        bias: &[f32],
    ) -> Option<Self> {
        let columns = columns()?;
        assert!(bias.is_empty() || bias.len() == outputs, "one bias per output, or none");
        let panels = pack([inputs, outputs], columns, |i, j| f16::from_f32(at(i, j)).to_bits());
        let mut bias = bias.to_vec();
        bias.resize(outputs.next_multiple_of(columns), 0.0);
        Some(Self { inputs, outputs, columns, panels, bias })
    }

    /// The number of columns.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The entries of a column, without its bias.
    pub fn column(&self, column: usize) -> impl Iterator<Item = f32> {
        let entry = move |i: usize| {
            f16::from_bits(self.panels[panel_place(self.inputs, self.columns, i, column)]).to_f32()
        };
        (0..self.inputs).map(entry)
    }

    /// The matrix of the given columns.
    pub fn select(&self, columns: &[u32]) -> Self {
        let at = |i: usize, j: usize| {
            self.panels[panel_place(self.inputs, self.columns, i, columns[j] as usize)]
        };
        let panels = pack([self.inputs, columns.len()], self.columns, at);
        let mut bias: Vec<f32> = columns.iter().map(|&column| self.bias[column as usize]).collect();
        bias.resize(columns.len().next_multiple_of(self.columns), 0.0);
        Self { outputs: columns.len(), panels, bias, ..*self }
    }

    /// Some columns of `x W + b`, from the start of a panel.
    ///
    /// # Shapes
    /// - x: `[rows, inputs]`, out: `[rows, columns]`
    pub fn multiply_columns(&self, x: &[f32], columns: Range<usize>, out: &mut Vec<f32>) {
        let inputs = self.inputs;
        let rows = x.len() / inputs;
        assert_eq!(rows * inputs, x.len(), "whole rows");
        assert!(columns.end <= self.outputs, "columns that exist");
        assert_eq!(columns.start % self.columns, 0, "the start of a panel");
        let stride = columns.len();
        out.resize(rows * stride, 0.0);
        for first in columns.clone().step_by(self.columns) {
            let weights = &self.panels[first * inputs..][..inputs * self.columns];
            let bias = &self.bias[first..][..self.columns];
            let shown = self.columns.min(columns.end - first);
            let rows = x.chunks(ROWS * inputs).zip(out.chunks_mut(ROWS * stride));
            for (x, out) in rows {
                multiply(self.columns, x, inputs, weights, |row, sums| {
                    let out = &mut out[row * stride + first - columns.start..][..shown];
                    for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
                        *out = sum + bias;
                    }
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::kernels::packed_product::PackedMatrix;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_product_of_the_same_weights(
            rows in 0usize..20, inputs in 1usize..50, outputs in 1usize..80,
        ) {
            let value = |seed: usize| ((seed * 7919 + 13) % 997) as f32 / 498.0 - 1.0;
            let x: Vec<f32> = (0..rows * inputs).map(value).collect();
            let bias: Vec<f32> = (0..outputs).map(value).collect();
            let at = |i: usize, j: usize| f16::from_f32(value(i * outputs + j + 5)).to_f32();
            let Some(half) = HalfMatrix::new(inputs, outputs, at, &bias) else {
                prop_assert!(abridge_machine::half::columns().is_none());
                eprintln!("skipped: no F16C here");
                return Ok(());
            };
            let (mut ours, mut theirs) = (vec![7.0; 3], Vec::new());
            half.multiply_columns(&x, 0..outputs, &mut ours);
            PackedMatrix::new(inputs, outputs, at, &bias).multiply(&x, &mut theirs);
            prop_assert_eq!(&ours, &theirs);
            let some: Vec<u32> = (0..outputs as u32).step_by(2).collect();
            half.select(&some).multiply_columns(&x, 0..some.len(), &mut ours);
            let kept = theirs.chunks_exact(outputs).flat_map(|row| row.iter().step_by(2));
            prop_assert!(kept.eq(&ours));
        }
    }
}
