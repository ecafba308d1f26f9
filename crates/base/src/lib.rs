//! What corpus and model both need, once: no tensors and no file formats.

#![forbid(unsafe_code)]

pub mod batch;
pub mod packed;
pub mod random;
pub mod tokens;

pub use batch::{Batch, Example, SourceBatch};
pub use packed::{Packed, Segments};
