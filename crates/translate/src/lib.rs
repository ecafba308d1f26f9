//! From documents to translations.
//!
//! A [`Translator`] holds a model directory. A [`Session`] holds the context of a document's next
//! sentence. [`Translator::translate_turns`] translates the next sentences of many documents
//! together, [`Translator::translate_next`] those of one document, and
//! [`Translator::translate_documents`] whole documents, a window at a time. All of them give the
//! same translation of a sentence: nothing depends on the batch (`tests/invariance.rs`).
//!
//! [`beam_search`] finds the same tokens and scores as the published implementation
//! (`tests/beam_parity.rs`).

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod batches;
mod beam;
mod candidates;
mod documents;
mod error;
mod explain;
mod foreign;
mod given;
mod in_context;
mod installed;
mod mentions;
mod prose;
mod sampling;
mod score;
mod session;
mod settings;
pub mod shortlist;
mod split;
mod steps;
mod stored;
mod translation;
mod translator;
mod turns;
mod walk;

pub use batches::BATCH_SENTENCES;
pub use beam::{Hypothesis, beam_search, beam_search_with};
pub use documents::DocumentSettings;
pub use error::{Error, Result};
pub use explain::{Explanation, SentenceAttention, TargetWord, origins};
pub use foreign::ForeignTranslator;
pub use in_context::InContext;
pub use installed::{InstalledModel, InstalledModels};
pub use mentions::MentionDocuments;
pub use prose::{Prose, has_paragraphs};
pub use score::{Score, ScoreRequest};
pub use session::Session;
pub use settings::{BeamSettings, Sampling, Stop};
pub use translation::{Attention, Part, Rendition, Translation};
pub use translator::Translator;
pub use turns::{Control, Turn};
