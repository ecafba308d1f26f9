//! How exact the products of a thread are.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use abridge_machine::bf16::Kind;
use serde::{Deserialize, Serialize};

/// How exact products are. Everything else, and all sums, are `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// As the values are.
    #[default]
    F32,
    /// Operands of large products are rounded to bfloat16, with eight bits instead of 24: several
    /// times as fast to multiply on a processor with AMX, and twice as fast with AVX-512 BF16.
    Bf16,
}

thread_local! {
    static CURRENT: Cell<Precision> = const { Cell::new(Precision::F32) };
}

impl Precision {
    /// That of this thread.
    #[inline]
    pub fn current() -> Self {
        CURRENT.get()
    }

    /// Does some work of this thread with it.
    pub fn during<R>(self, work: impl FnOnce() -> R) -> R {
        struct Restore(Precision);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(self));
        work()
    }

    /// Whether it is as exact as can be.
    pub fn is_f32(&self) -> bool {
        *self == Self::F32
    }

    /// Whether this machine multiplies faster with it than in `f32`.
    pub fn is_faster_here(self) -> bool {
        self == Self::Bf16 && Kind::fastest().is_some()
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "f32" => Ok(Self::F32),
            "bf16" => Ok(Self::Bf16),
            other => Err(format!("there is no precision {other:?}; there are f32 and bf16")),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        })
    }
}
