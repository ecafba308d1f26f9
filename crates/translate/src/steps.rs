//! Decoding step by step, on the fastest path that the device has.

use abridge_model::lean::{LeanDecoder, LeanDecoding, MostProbable, Wanted};
use abridge_model::{Decoding, Model, Sources};

/// The state of decoding some sentences.
pub(crate) enum Steps<'a> {
    /// On the tensor backend, for any device.
    Engine {
        decoding: Decoding<'a>,
        /// The logits of the last step.
        logits: Vec<f32>,
        /// The most probable words of them.
        found: Vec<MostProbable>,
        /// The shortlist of each sentence; all words if empty.
        lists: Vec<Vec<u32>>,
    },
    /// The CPU decoder, without the backend.
    Lean(Box<LeanDecoding<'a>>),
}

impl<'a> Steps<'a> {
    /// `lists` are the shortlists of the sentences, or empty.
    pub fn new(
        model: &'a Model,
        lean: Option<&'a LeanDecoder>,
        sources: Sources,
        lists: &[Vec<u32>],
    ) -> Self {
        match lean {
            Some(lean) => Self::Lean(Box::new(lean.decode_among(sources, lists))),
            None => Self::Engine {
                decoding: model.decode(&sources),
                logits: Vec::new(),
                found: Vec::new(),
                lists: lists.to_vec(),
            },
        }
    }

    /// Appends a word to each hypothesis; returns the logits of the next word, row by row.
    pub fn step(&mut self, words: &[u32]) -> &[f32] {
        match self {
            Self::Lean(decoding) => decoding.step(words),
            Self::Engine { decoding, logits, .. } => {
                let data = decoding.step(words).into_data().convert::<f32>();
                *logits = data.try_into_vec().expect("converted just now");
                logits
            }
        }
    }

    /// As [`Self::step`], when only the most probable words that could follow each hypothesis are
    /// needed. Words that are not on the list of their sentence are ignored.
    pub fn step_to_best(&mut self, words: &[u32], wanted: &Wanted<'_>) -> &[MostProbable] {
        if let Self::Engine { .. } = self {
            self.step(words);
        }
        match self {
            Self::Lean(decoding) => decoding.step_to_best(words, wanted),
            Self::Engine { decoding, logits, found, lists } => {
                let vocabulary = logits.len() / words.len().max(1);
                let rows = logits.chunks_exact(vocabulary.max(1)).enumerate();
                let found_in = |(hypothesis, row): (usize, &[f32])| match lists
                    .get(decoding.sentence_of(hypothesis))
                {
                    Some(list) => MostProbable::of_listed(row, list, wanted),
                    None => MostProbable::of_row(row, wanted),
                };
                *found = rows.map(found_in).collect();
                found
            }
        }
    }

    /// Hypothesis `i` continues what was hypothesis `parents[i]`.
    pub fn reorder(&mut self, parents: &[usize]) {
        match self {
            Self::Lean(decoding) => decoding.reorder(parents),
            Self::Engine { decoding, .. } => decoding.reorder(parents),
        }
    }
}
