//! The precision of products.

use std::fmt;
use std::str::FromStr;

use abridge_machine::bf16::Kind;
use serde::{Deserialize, Serialize};

/// The precision of products. Everything else, and all sums, are `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProductPrecision {
    /// Single precision, like the values.
    #[default]
    F32,
    /// Operands of large products are rounded to bfloat16, with eight bits instead of 24: several
    /// times as fast to multiply on a processor with AMX, and twice as fast with AVX-512 BF16.
    Bf16,
    /// Operands and results are half precision, with eleven bits but little range, so that the loss has
    /// to be scaled. For other devices than the CPU.
    F16,
}

impl ProductPrecision {
    /// Whether it is full precision.
    pub fn is_f32(&self) -> bool {
        *self == Self::F32
    }

    /// Whether this machine multiplies faster with it than in `f32`.
    pub fn is_faster_here(self) -> bool {
        self == Self::Bf16 && Kind::fastest().is_some()
    }
}

impl FromStr for ProductPrecision {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "f32" => Ok(Self::F32),
            "bf16" => Ok(Self::Bf16),
            "f16" => Ok(Self::F16),
            other => Err(format!("there is no precision {other:?}; choose f32, bf16 or f16")),
        }
    }
}

impl fmt::Display for ProductPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        })
    }
}
