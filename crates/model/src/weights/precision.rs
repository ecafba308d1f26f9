//! Weights in fewer bits: half precision, and 8-bit integers.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use safetensors::tensor::Dtype;

use super::{Parameter, ParameterKind};
use crate::ops::kernels::int8_product::{MAX_INPUTS, quantise, scale_of};

/// How the weights of a file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightPrecision {
    /// 32 bits each, as they are trained.
    Single,
    /// Matrices in 16 bits.
    Half,
    /// Matrices in 8 bits, with a scale for each output channel of a product.
    Int8,
}

impl fmt::Display for WeightPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "f32",
            Self::Half => "f16",
            Self::Int8 => "int8",
        })
    }
}

impl FromStr for WeightPrecision {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Single, Self::Half, Self::Int8]
            .into_iter()
            .find(|precision| precision.to_string() == name)
            .ok_or_else(|| format!("there is no precision {name:?}; choose int8, f16 or f32"))
    }
}

/// A tensor as it is written.
pub(super) struct Encoded {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// The name of the scales of a tensor of integers: `[rows, 1]` or `[1, columns]`.
pub(super) fn scale_name(name: &str) -> String {
    format!("{name}.scale")
}

/// Weights as they are written. Vectors (biases, gains) are few and stay in single precision.
pub(super) fn encode(
    weights: BTreeMap<String, (Parameter, Vec<f32>)>,
    precision: WeightPrecision,
) -> Vec<Encoded> {
    let encode = |(parameter, values): (Parameter, Vec<f32>)| {
        let is_matrix = parameter.kind != ParameterKind::Vector;
        match precision {
            WeightPrecision::Half if is_matrix => {
                let bytes = values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes());
                let Parameter { name, shape, .. } = parameter;
                vec![Encoded { name, dtype: Dtype::F16, shape, bytes: bytes.collect() }]
            }
            WeightPrecision::Int8 if is_matrix && has_int8_products(&parameter) => {
                int8(&parameter, &values)
            }
            _ => vec![single(parameter.name, parameter.shape, &values)],
        }
    };
    weights.into_values().flat_map(encode).collect()
}

/// Whether sums over the inputs of a matrix fit, if it holds integers.
fn has_int8_products(Parameter { shape, kind, .. }: &Parameter) -> bool {
    let inputs = if *kind == ParameterKind::Table { shape[1] } else { shape[0] };
    inputs <= MAX_INPUTS
}

pub(super) fn single(name: String, shape: Vec<usize>, values: &[f32]) -> Encoded {
    let bytes = values.iter().copied().flat_map(f32::to_le_bytes).collect();
    Encoded { name, dtype: Dtype::F32, shape, bytes }
}

/// Integers and their scales. A row of an embedding gives one logit of the tied output projection,
/// so an embedding has a scale per row, and a linear layer one per column.
fn int8(parameter: &Parameter, values: &[f32]) -> Vec<Encoded> {
    let Parameter { name, shape, kind, .. } = parameter;
    let (rows, columns) = (shape[0], shape[1]);
    let at = |row: usize, column: usize| values[row * columns + column];
    let is_by_row = *kind == ParameterKind::Table;
    let (scales, scales_shape): (Vec<f32>, _) = if is_by_row {
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
        Encoded { name: name.clone(), dtype, shape: shape.clone(), bytes },
        single(scale_name(name), scales_shape, &scales),
    ]
}

#[cfg(test)]
mod tests {
    use burn::module::ParamId;

    use super::*;
    use crate::Part;

    #[test]
    fn matrices_with_too_many_inputs_are_not_stored_as_integers() {
        let stored = |inputs: usize| {
            let (name, shape, kind) = ("w".to_owned(), vec![inputs, 1], ParameterKind::Matrix);
            let (part, id) = (Part::Base, ParamId::new());
            let parameter = Parameter { name, shape, kind, part, id };
            let weights = [("w".to_owned(), (parameter, vec![1.0; inputs]))];
            encode(weights.into(), WeightPrecision::Int8)[0].dtype
        };
        assert_eq!((stored(MAX_INPUTS), stored(MAX_INPUTS + 1)), (Dtype::I8, Dtype::F32));
    }
}
