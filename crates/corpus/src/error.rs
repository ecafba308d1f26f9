//! One error type: what is wrong, where, and what to do about it.

pub use abridge_base::{Error, Result};
