//! What corpus and model share: no tensors and no file formats.
//!
//! | module | defines |
//! | --- | --- |
//! | [`tokens`], [`packed`], [`batch`] | what a batch of sentences is |
//! | [`layout`] | which sentence is in which slot of the memory |
//! | [`random`] | counter-based random numbers |
//! | [`workers`] | how work is done in parallel |
//! | [`files`] | which files may be read and written, and how an output replaces its target |
//! | [`hash`] | SHA-256 of files and strings |
//! | [`manifest`] | the list of files in a directory of ours |
//! | [`error`] | kinds of errors, and the exit code of each |
//! | [`message`] | messages to the user |

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
