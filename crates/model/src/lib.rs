//! The network of abridge: context-aware machine translation with a short, learned memory.
//!
//! This crate implements the models of *Sequence Shortening for Context-Aware Machine Translation*
//! (Mąka, Semerci, Scholtes and Spanakis, Findings of EACL 2024) on the [Burn](burn) engine.
//!
//! # One idea
//!
//! Every sentence of a document passes through the [encoder] **once**. A [shortener] turns its
//! states into a few vectors: the sentence's entry in the [memory]. The [decoder] attends to the
//! current sentence's states and to the entries of the sentences before.
//!
//! ```text
//! tokens ──▶ encoder ──▶ states ──▶ shortener ──▶ memory entry ─┐
//!                          │                                    ▼
//!                          └───────── states ──────▶ decoder ◀─ memory (last C entries)
//! ```
//!
//! # The ten models are one model with four choices
//!
//! | choice | values |
//! | --- | --- |
//! | where context enters ([`Context`](config::Context)) | nowhere, joined to the source, a second encoder, the memory |
//! | what the memory keeps ([`ShortenerConfig`](config::ShortenerConfig)) | every token, the mean, pooled windows, latent groups, latent selections |
//! | what normalises groups ([`Normaliser`](config::Normaliser)) | sparsemax, softmax |
//! | how the decoder uses it ([`Integration`](config::Integration)) | joined, serial, parallel; with or without a gate |
//!
//! The rows of the paper's tables are [`Preset`]s of a [`ModelConfig`].
//!
//! # From equation to file
//!
//! `docs/equations.md` of the repository maps each equation of the paper to its file.
//!
//! # An example
//!
//! ```
//! use abridge_model::{Dropout, Packed, Preset, Purpose, SentenceInContext, ModelSize, tokens::END};
//! use burn::tensor::Device;
//!
//! let config = Preset::Grouping.config(ModelSize::Tiny, 100, 100, 1);
//! let model = config.init(42, &Device::flex())?;
//!
//! // A document of two sentences: read the first and remember it.
//! let first = model.read(&Packed::new([[17, 23, 9, END]]))?.remove(0).remembered;
//!
//! // Translate the second with a memory of the first.
//! let second = model.read(&Packed::new([[12, 61, END]]))?.remove(0);
//! assert_eq!(config.layout(Purpose::Inference).positions(1), [Some(0)]);
//! let sources = model.sources_from_memory(&[SentenceInContext { reading: &second, context: vec![Some(&first)] }])?;
//! let mut decoding = model.decode(&sources);
//! let logits = decoding.step(&[END]);
//! assert_eq!(logits.dims(), [1, 100]);
//! # Ok::<(), abridge_model::Error>(())
//! ```
//!
//! # Sound by default, as published on request
//!
//! The published implementation differs from the paper in places. The default here follows the
//! paper and does not depend on the batch; `as_published = true` reproduces the code, so that its
//! weights give its numbers (see `tests/parity.rs`):
//!
//! | | default | `as_published` |
//! | --- | --- | --- |
//! | slots in translation and scoring | as in training: oldest first | mirrored: newest first |
//! | slots before a document's start | empty, not attended to | a sentence of one end token |
//! | mean of a sentence | over its tokens | over the padded length of the batch |
//! | ragged window of average pooling | over its tokens | over the window, zeros included |
//! | ragged window of max pooling | over its tokens | zeros included |
//! | gate | on what the attention returns, equation (5) | after residual and normalisation |
//! | single-encoder: start of a translation | one end token | two |
//! | single- and multi-encoder without context | nothing | one end token |

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod addition;
pub mod attended;
pub mod attention;
mod checks;
pub mod config;
mod context_rows;
pub mod decoder;
mod decoding;
pub mod device;
pub mod dropout;
pub mod embedding;
pub mod encoder;
mod encoding;
mod error;
mod init;
pub mod lean;
mod limits;
pub mod linear;
pub mod memory;
mod model;
pub mod ops;
mod presets;
mod reading;
pub mod recurrence;
pub mod shortener;
mod sublayers;
pub mod synthetic;
pub mod weights;

pub use abridge_base::{
    Batch, Example, MemoryLayout, Occupant, Packed, Place, Purpose, Reach, Segments, SourceBatch,
    batch, packed, random, tokens,
};
pub use addition::Part;
pub use attended::{Attended, AttentionWeights, MemoryRow};
pub use config::ModelConfig;
pub use context_rows::ContextRows;
pub use decoder::Sources;
pub use decoding::Decoding;
pub use device::DeviceKind;
pub use dropout::Dropout;
pub use encoding::Encoded;
pub use error::{Error, Result};
pub use memory::{MemoryEntry, Remembered, Translated};
pub use model::Model;
pub use presets::{ModelSize, Preset};
pub use reading::{Reading, SentenceInContext, StoredEntry};
