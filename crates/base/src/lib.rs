//! What corpus and model both need, once: no tensors and no file formats.
//!
//! | module | decides |
//! | --- | --- |
//! | [`tokens`], [`packed`], [`batch`] | what a batch of sentences is |
//! | [`layout`] | which sentence stands in which slot of the memory |
//! | [`random`] | which numbers are drawn, from counters |
//! | [`workers`] | how work is done side by side |
//! | [`files`] | which files are read and written, and how an output takes its place |
//! | [`hash`] | SHA-256 of files and texts |
//! | [`manifest`] | what a directory of ours holds |
//! | [`error`] | kinds of errors, and the exit code of each |
//! | [`message`] | what is said to people |

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod batch;
pub mod error;
pub mod files;
pub mod hash;
pub mod layout;
pub mod manifest;
pub mod message;
pub mod packed;
pub mod random;
pub mod tokens;
pub mod workers;

pub use batch::{Batch, Example, SourceBatch};
pub use error::{Error, Kind, Result};
pub use layout::{MemoryLayout, Occupant, Place, Purpose, Reach};
pub use packed::{Packed, Segments};
pub use workers::Workers;
