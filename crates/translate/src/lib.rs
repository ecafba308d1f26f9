//! From encoded sentences to translations.
//!
//! [`beam_search`] translates the sentences of a batch together. It gives what the published
//! implementation gives, token by token and score by score (`tests/beam_parity.rs`).

mod beam;
mod candidates;

pub use beam::{BeamSettings, Hypothesis, beam_search};
