//! Decoding step by step, on the fastest path that the device has.

use abridge_model::lean::{LeanDecoder, LeanDecoding};
use abridge_model::{Decoding, Model, Sources};

/// Some sentences in the middle of being translated.
pub(crate) enum Steps<'a> {
    /// On the engine, for any device.
    Engine {
        decoding: Decoding<'a>,
        /// The logits of the last step.
        logits: Vec<f32>,
    },
    /// On the CPU, without it.
    Lean(LeanDecoding<'a>),
}

impl<'a> Steps<'a> {
    pub fn new(model: &'a Model, lean: Option<&'a LeanDecoder>, sources: &Sources) -> Self {
        match lean {
            Some(lean) => Self::Lean(lean.decode(sources)),
            None => Self::Engine { decoding: model.decode(sources), logits: Vec::new() },
        }
    }

    /// Appends a word to each hypothesis; returns the logits of what could follow, row by row.
    pub fn step(&mut self, words: &[u32]) -> &mut [f32] {
        match self {
            Self::Lean(decoding) => decoding.step(words),
            Self::Engine { decoding, logits } => {
                let data = decoding.step(words).into_data().convert::<f32>();
                *logits = data.try_into_vec().expect("converted just now");
                logits
            }
        }
    }

    /// Hypothesis `i` goes on from what was hypothesis `parents[i]`.
    pub fn reorder(&mut self, parents: &[usize]) {
        match self {
            Self::Lean(decoding) => decoding.reorder(parents),
            Self::Engine { decoding, .. } => decoding.reorder(parents),
        }
    }
}
