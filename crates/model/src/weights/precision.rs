//! Weights in fewer bits: half precision, and whole numbers of eight bits.

use std::fmt;
use std::str::FromStr;

use safetensors::tensor::Dtype;

use super::{NamedTensors, Parameter};
use crate::ops::kernels::int8_product::{quantise, scale_of};

/// How the weights of a file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits each, as they are trained.
    Single,
    /// Matrices in 16 bits.
    Half,
    /// Matrices in 8 bits, with a scale for each channel that a product gives.
    Int8,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "f32",
            Self::Half => "f16",
            Self::Int8 => "int8",
        })
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Single, Self::Half, Self::Int8]
            .into_iter()
            .find(|precision| precision.to_string() == name)
            .ok_or_else(|| format!("no precision {name:?}; there are int8, f16 and f32"))
    }
}

/// A tensor as it is written.
pub(super) struct Encoded {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// The name of the scales of a tensor of whole numbers: `[rows, 1]` or `[1, columns]`.
pub(super) fn scale_name(name: &str) -> String {
    format!("{name}.scale")
}

/// Tensors as they are written. Vectors (biases, gains) are few and stay in single precision.
pub(super) fn encode(tensors: &NamedTensors, precision: Precision) -> Vec<Encoded> {
    tensors
        .iter()
        .flat_map(|(name, (shape, values))| match (precision, &shape[..]) {
            (Precision::Half, [_, _]) => {
                let bytes = values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes());
                let (name, shape, bytes) = (name.clone(), shape.clone(), bytes.collect());
                vec![Encoded { name, dtype: Dtype::F16, shape, bytes }]
            }
            (Precision::Int8, &[rows, columns]) => int8(name, [rows, columns], values),
            _ => vec![single(name.clone(), shape.clone(), values)],
        })
        .collect()
}

fn single(name: String, shape: Vec<usize>, values: &[f32]) -> Encoded {
    let bytes = values.iter().copied().flat_map(f32::to_le_bytes).collect();
    Encoded { name, dtype: Dtype::F32, shape, bytes }
}

/// Whole numbers and their scales. A row of a table of words is what the tied output projection
/// makes one logit of, so a table has a scale per row, and a linear layer one per column.
fn int8(name: &str, [rows, columns]: [usize; 2], values: &[f32]) -> Vec<Encoded> {
    let at = |row: usize, column: usize| values[row * columns + column];
    let is_by_row = Parameter::is_table(name);
    let (scales, shape): (Vec<f32>, _) = if is_by_row {
        let scale = |row| scale_of((0..columns).map(|column| at(row, column)));
        ((0..rows).map(scale).collect(), vec![rows, 1])
    } else {
        let scale = |column| scale_of((0..rows).map(|row| at(row, column)));
        ((0..columns).map(scale).collect(), vec![1, columns])
    };
    let bytes = values.iter().enumerate().map(|(place, &value)| {
        let scale = scales[if is_by_row { place / columns } else { place % columns }];
        quantise(value, scale).cast_unsigned()
    });
    let (dtype, bytes) = (Dtype::I8, bytes.collect());
    vec![
        Encoded { name: name.to_owned(), dtype, shape: vec![rows, columns], bytes },
        single(scale_name(name), shape, &scales),
    ]
}
