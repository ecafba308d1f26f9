//! From documents to translations.
//!
//! A [`Translator`] holds a model directory. It translates documents with the memory of the
//! sentences before, and scores given translations. [`beam_search`] gives what the published
//! implementation gives, token by token and score by score (`tests/beam_parity.rs`).

mod beam;
mod candidates;
mod error;
mod translator;

pub use beam::{BeamSettings, Hypothesis, beam_search};
pub use error::{Error, Result};
pub use translator::{Score, ScoreRequest, TokenScores, Translator};
