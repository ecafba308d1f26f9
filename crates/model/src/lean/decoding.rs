//! Sentences that are being translated, on plain slices.

use super::LeanDecoder;
use super::fixed::FixedRows;
use super::layer::{Buffers, LayerState, OneWord};
use crate::Sources;
use crate::decoder::VisibleRows;
use crate::ops::Block;
use crate::ops::kernels::most_probable::{MostProbable, Wanted, Words};
use crate::ops::kernels::vectorised;
use crate::ops::kernels::weight_matrix::WeightMatrix;

/// The lean counterpart of [`Decoding`](crate::Decoding): the same hypotheses, the same order.
#[derive(Debug)]
pub struct LeanDecoding<'a> {
    decoder: &'a LeanDecoder,
    layers: Vec<LayerState>,
    /// For each hypothesis its sentence, in ascending order.
    sentence_of: Vec<usize>,
    /// For each hypothesis the rows of its words in the caches of the layers: hypotheses share rows
    /// by number, and nothing is ever moved.
    words: Vec<Vec<u32>>,
    /// Words written so far.
    written: usize,
    /// For each sentence its list of allowed words; empty if all words are allowed.
    listed: Vec<Listed>,
    /// The states of the newest words, `[hypotheses, width]`.
    x: Vec<f32>,
    buffers: Buffers,
    /// Of all words, or of a tile of the vocabulary.
    logits: Vec<f32>,
    found: Vec<MostProbable>,
    position: usize,
}

/// Some words of the vocabulary, with their part of the output projection.
#[derive(Debug)]
struct Listed {
    words: Vec<u32>,
    output: WeightMatrix,
}

impl<'a> LeanDecoding<'a> {
    pub(super) fn new(decoder: &'a LeanDecoder, sources: Sources, lists: &[Vec<u32>]) -> Self {
        let (width, heads) = (decoder.width, decoder.heads);
        let Sources { layers, visible: seen, .. } = sources;
        let visible = |blocks: fn(&VisibleRows) -> &[Block]| seen.iter().map(blocks);
        let layers = layers.into_iter().map(|layer| LayerState {
            cross: FixedRows::new(layer.cross, visible(|rows| &rows.source), width, heads),
            context: layer.context.map(|context| {
                FixedRows::new(context, visible(|rows| &rows.context), width, heads)
            }),
            own: Vec::new(),
        });
        let mut decoding = Self {
            decoder,
            layers: layers.collect(),
            sentence_of: (0..seen.len()).collect(),
            words: vec![Vec::new(); seen.len()],
            written: 0,
            listed: lists.iter().map(|words| decoder.listed(words.clone())).collect(),
            x: Vec::new(),
            buffers: Buffers::default(),
            logits: Vec::new(),
            found: Vec::new(),
            position: 0,
        };
        for _ in 1..decoder.start_words {
            decoding.advance(&vec![decoder.start_word; decoding.sentence_of.len()]);
        }
        decoding
    }

    /// Appends a word to each hypothesis and scores what could follow: see
    /// [`Decoding::step`](crate::Decoding::step). Scores all words of the vocabulary, even if there
    /// are lists.
    ///
    /// # Shapes
    /// - result: `[hypotheses, vocabulary]`, logits
    pub fn step(&mut self, words: &[u32]) -> &[f32] {
        self.advance(words);
        self.decoder.output.multiply(&self.x, &mut self.buffers.rows, &mut self.logits);
        &self.logits
    }

    /// Like [`Self::step`], when only the most probable next words of each hypothesis are needed.
    /// Logits are examined tile by tile as they are computed, and never written to memory all
    /// together. If there are lists, only the words on the list of a sentence are considered.
    pub fn step_to_best(&mut self, words: &[u32], wanted: &Wanted<'_>) -> &[MostProbable] {
        self.advance(words);
        let Self { x, logits, found, buffers: Buffers { rows, .. }, .. } = self;
        found.resize_with(words.len(), MostProbable::default);
        found.iter_mut().for_each(MostProbable::clear);
        if self.listed.is_empty() {
            self.decoder.output.multiply_in_tiles(x, rows, logits, |columns, logits| {
                look_at(found, Words::From(columns.start), logits, columns.len(), wanted);
            });
        } else {
            let (mut x, mut found) = (&x[..], &mut found[..]);
            for hypotheses in self.sentence_of.chunk_by(|a, b| a == b) {
                let listed = &self.listed[hypotheses[0]];
                let (own, others) = x.split_at(hypotheses.len() * self.decoder.width);
                let (place, places) = found.split_at_mut(hypotheses.len());
                (x, found) = (others, places);
                listed.output.multiply(own, rows, logits);
                look_at(place, Words::Listed(&listed.words), logits, listed.words.len(), wanted);
            }
        }
        for found in found.iter_mut() {
            found.finish(wanted);
        }
        found
    }

    /// Appends a word to each hypothesis: from words to the states of the last layer.
    fn advance(&mut self, words: &[u32]) {
        assert_eq!(words.len(), self.sentence_of.len(), "one word per hypothesis");
        let LeanDecoder { width, heads, order, .. } = *self.decoder;
        let position = &self.decoder.positions[self.position * width..][..width];
        let mut x = std::mem::take(&mut self.x);
        x.clear();
        for &word in words {
            if self.position == 0 && self.decoder.starts_from_zero {
                x.extend_from_slice(position);
                continue;
            }
            let first = x.len();
            self.decoder.output.append_column(word as usize, &mut x);
            for (value, place) in x[first..].iter_mut().zip(position) {
                *value = *value * self.decoder.embedding_scale + place;
            }
        }
        for (hypothesis, rows) in self.words.iter_mut().enumerate() {
            rows.push((self.written + hypothesis) as u32);
        }
        self.written += words.len();
        for (layer, state) in self.decoder.layers.iter().zip(&mut self.layers) {
            let mut stage = OneWord {
                layer,
                state,
                buffers: &mut self.buffers,
                words: &self.words,
                sentence_of: &self.sentence_of,
                width,
                heads,
            };
            x = order.decode(&mut stage, x);
        }
        if let Some(norm) = &self.decoder.norm {
            norm.apply(&mut x, &[]);
        }
        self.x = x;
        self.position += 1;
    }

    /// Hypothesis `i` continues what was hypothesis `parents[i]`: see
    /// [`Decoding::reorder`](crate::Decoding::reorder).
    pub fn reorder(&mut self, parents: &[usize]) {
        self.sentence_of = parents.iter().map(|&parent| self.sentence_of[parent]).collect();
        assert!(self.sentence_of.is_sorted(), "hypotheses stay in the order of their sentences");
        self.words = parents.iter().map(|&parent| self.words[parent].clone()).collect();
    }
}

/// Examines the logits of some words, `[hypotheses, words]`.
fn look_at(
    found: &mut [MostProbable],
    words: Words<'_>,
    logits: &[f32],
    count: usize,
    wanted: &Wanted<'_>,
) {
    vectorised(
        #[inline(always)]
        || {
            for (found, logits) in found.iter_mut().zip(logits.chunks_exact(count)) {
                found.look(words, logits, wanted);
            }
        },
    );
}

impl LeanDecoder {
    fn listed(&self, words: Vec<u32>) -> Listed {
        assert!(!words.is_empty() && words.is_sorted(), "words in ascending order");
        Listed { output: self.output.select(&words), words }
    }
}
