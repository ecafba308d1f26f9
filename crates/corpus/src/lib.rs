//! Documents in, tokens out: everything in abridge that handles text, without tensors.
//!
//! A [`Document`] is a list of [`Segment`]s (usually sentences) whose order matters, because a
//! context-aware model translates each one with a memory of the preceding ones.

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod batch;
mod document;
mod error;
pub mod formats;
mod lexicon;
pub mod mentions;
pub mod practice;
pub mod prepare;
pub mod store;
pub mod swaps;
mod table;
pub mod tokenizer;
mod words;

pub use document::{Document, Segment};
pub use error::{Error, Result};
pub use formats::contrastive::{ContrastiveInput, ContrastiveItem, ContrastiveSet};
pub use formats::ctxpro::{CtxProItem, CtxProSet};
pub use formats::{Corpus, Format, Input, read, read_bytes, read_text};
pub use lexicon::{Entry, Lexicon};
pub use tokenizer::Tokenizer;
