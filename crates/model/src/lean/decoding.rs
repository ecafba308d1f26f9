//! Some sentences in the middle of being translated, on plain slices.

use super::fixed::FixedRows;
use super::matrix::Matrix;
use super::{ContextLooking, Layer, LeanDecoder};
use crate::Sources;
use crate::decoder::Seen;
use crate::ops::Block;
use crate::ops::kernels::int8_product::Int8Rows;
use crate::ops::kernels::most_probable::{MostProbable, Wanted, Words};
use crate::ops::kernels::softmax::{exp, softmax};
use crate::ops::kernels::{add_weighted, sum_of_pairs, vectorised};
use crate::tokens::END;

/// The lean twin of [`Decoding`](crate::Decoding): the same hypotheses, the same order.
#[derive(Debug)]
pub struct LeanDecoding<'a> {
    decoder: &'a LeanDecoder,
    layers: Vec<LayerState>,
    /// For each hypothesis its sentence, in ascending order.
    sentence_of: Vec<usize>,
    /// For each hypothesis the rows of its words in the layers' own keys and values: hypotheses go
    /// on from each other by their row numbers, and no key is ever moved.
    words: Vec<Vec<u32>>,
    /// For each sentence what its translation may be made of; all words where there is no list.
    listed: Vec<Listed>,
    buffers: Buffers,
    position: usize,
}

/// Some words of the vocabulary, with their part of the output projection.
#[derive(Debug)]
struct Listed {
    words: Vec<u32>,
    output: Matrix,
}

#[derive(Debug)]
struct LayerState {
    cross: FixedRows,
    context: Option<FixedRows>,
    /// Keys and values of all words ever written, `[rows, 2 * width]`.
    own: Vec<f32>,
}

/// What a step writes to, kept for the next one.
#[derive(Debug, Default)]
struct Buffers {
    x: Vec<f32>,
    /// What is multiplied, in the precision of the weights.
    rows: Int8Rows,
    /// The state before the cross-attention, for a parallel context attention.
    before: Vec<f32>,
    projected: Vec<f32>,
    attended: Vec<f32>,
    update: Vec<f32>,
    weights: Vec<f32>,
    /// Of all words, or of a stretch of the vocabulary.
    logits: Vec<f32>,
    found: Vec<MostProbable>,
}

impl<'a> LeanDecoding<'a> {
    pub(super) fn new(decoder: &'a LeanDecoder, sources: &Sources, lists: &[Vec<u32>]) -> Self {
        let (width, heads) = (decoder.width, decoder.heads);
        let seen = |blocks: fn(&Seen) -> &[Block]| sources.seen.iter().map(blocks);
        let layers = sources.layers.iter().map(|layer| LayerState {
            cross: FixedRows::new(&layer.cross, seen(|seen| &seen.source), width, heads),
            context: layer
                .context
                .as_ref()
                .map(|context| FixedRows::new(context, seen(|seen| &seen.context), width, heads)),
            own: Vec::new(),
        });
        let mut decoding = Self {
            decoder,
            layers: layers.collect(),
            sentence_of: (0..sources.len()).collect(),
            words: vec![Vec::new(); sources.len()],
            listed: lists.iter().map(|words| decoder.listed(words.clone())).collect(),
            buffers: Buffers::default(),
            position: 0,
        };
        for _ in 1..decoder.start_words {
            decoding.advance(&vec![END; decoding.sentence_of.len()]);
        }
        decoding
    }

    /// Appends a word to each hypothesis and scores what could follow: see
    /// [`Decoding::step`](crate::Decoding::step). All words of the vocabulary, also where there are
    /// lists.
    ///
    /// # Shapes
    /// - result: `[hypotheses, vocabulary]`, logits
    pub fn step(&mut self, words: &[u32]) -> &[f32] {
        self.advance(words);
        let Buffers { x, rows, logits, .. } = &mut self.buffers;
        self.decoder.output.multiply(x, rows, logits);
        logits
    }

    /// As [`Self::step`], for who only wants to know the most probable words: for each hypothesis
    /// what could follow. Logits are looked at where they are made, stretch by stretch, and never
    /// written to memory all together. Where there are lists, a word that is not on the list of
    /// its sentence does not exist.
    pub fn step_to_best(&mut self, words: &[u32], wanted: &Wanted<'_>) -> &[MostProbable] {
        self.advance(words);
        let Buffers { x, rows, logits, found, .. } = &mut self.buffers;
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
        let width = self.decoder.width;
        let position = &self.decoder.positions[self.position * width..][..width];
        let x = &mut self.buffers.x;
        x.clear();
        for &word in words {
            let embedding = &self.decoder.embedding[word as usize * width..][..width];
            x.extend(embedding.iter().zip(position).map(|(embedding, place)| embedding + place));
        }
        let first_row = self.layers.first().map_or(0, |layer| layer.own.len() / (2 * width));
        for (hypothesis, rows) in self.words.iter_mut().enumerate() {
            rows.push((first_row + hypothesis) as u32);
        }
        for (layer, state) in self.decoder.layers.iter().zip(&mut self.layers) {
            layer.step(state, &self.words, &self.sentence_of, self.decoder, &mut self.buffers);
        }
        self.position += 1;
    }

    /// Hypothesis `i` goes on from what was hypothesis `parents[i]`: see
    /// [`Decoding::reorder`](crate::Decoding::reorder).
    pub fn reorder(&mut self, parents: &[usize]) {
        self.sentence_of = parents.iter().map(|&parent| self.sentence_of[parent]).collect();
        assert!(self.sentence_of.is_sorted(), "hypotheses stay in the order of their sentences");
        self.words = parents.iter().map(|&parent| self.words[parent].clone()).collect();
    }
}

/// Looks at the logits of some words, `[hypotheses, words]`.
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

impl Layer {
    /// The same sublayers as [`DecoderLayer::forward`](crate::decoder::DecoderLayer).
    fn step(
        &self,
        state: &mut LayerState,
        words: &[Vec<u32>],
        sentence_of: &[usize],
        decoder: &LeanDecoder,
        buffers: &mut Buffers,
    ) {
        let Buffers { x, rows, before, projected, attended, update, weights, .. } = buffers;
        let width = decoder.width;
        self.own.multiply(x, rows, projected);
        for row in projected.chunks_exact(3 * width) {
            state.own.extend_from_slice(&row[width..]);
        }
        attend_own(projected, &state.own, words, decoder, attended, weights);
        self.own_output.multiply(attended, rows, update);
        self.own_norm.apply(x, update);

        let parallel = self.context.as_ref().filter(|context| context.is_parallel);
        if parallel.is_some() {
            before.clone_from(x);
        }
        self.cross.query.multiply(x, rows, projected);
        state.cross.attend(projected, sentence_of, attended, weights);
        self.cross.output.multiply(attended, rows, update);
        self.cross.norm.apply(x, update);

        if let Some(context) = &self.context {
            let y = if context.is_parallel { &mut *before } else { &mut *x };
            context.looking.query.multiply(y, rows, projected);
            if let Some(seen) = &state.context {
                seen.attend(projected, sentence_of, attended, weights);
            } else {
                attended.clear();
                attended.resize(y.len(), 0.0);
            }
            context.looking.output.multiply(attended, rows, update);
            context.gate(!context.is_gated_after_norm, update, width);
            context.looking.norm.apply(y, update);
            context.gate(context.is_gated_after_norm, y, width);
            if context.is_parallel {
                for (x, y) in x.iter_mut().zip(&*before) {
                    *x += y;
                }
            }
        }

        self.hidden.multiply(x, rows, projected);
        for value in projected.iter_mut() {
            *value = value.max(0.0);
        }
        self.output.multiply(projected, rows, update);
        self.norm.apply(x, update);
    }
}

impl ContextLooking {
    /// Equation (5), if this is its place.
    fn gate(&self, is_here: bool, rows: &mut [f32], width: usize) {
        let Some((weight, bias)) = self.gate.as_ref().filter(|_| is_here) else { return };
        for row in rows.chunks_exact_mut(width) {
            let score = bias + sum_of_pairs(row, weight, |x, w| x * w);
            let open = 1.0 / (1.0 + exp(-score));
            for value in row {
                *value *= open;
            }
        }
    }
}

/// Each hypothesis looks at its own words.
///
/// # Shapes
/// - projected: `[hypotheses, 3 * width]`, of which the queries come first
fn attend_own(
    projected: &[f32],
    own: &[f32],
    words: &[Vec<u32>],
    decoder: &LeanDecoder,
    attended: &mut Vec<f32>,
    weights: &mut Vec<f32>,
) {
    let width = decoder.width;
    let head_width = width / decoder.heads;
    let scale = (head_width as f32).powf(-0.5);
    attended.clear();
    attended.resize(words.len() * width, 0.0);
    vectorised(
        #[inline(always)]
        || {
            let queries = projected.chunks_exact(3 * width).zip(attended.chunks_exact_mut(width));
            for ((query, out), rows) in queries.zip(words) {
                for head in 0..decoder.heads {
                    let channels = head * head_width..(head + 1) * head_width;
                    let query = &query[channels.clone()];
                    weights.resize(rows.len(), 0.0);
                    for (weight, &row) in weights.iter_mut().zip(rows) {
                        let key = &own[row as usize * 2 * width..][channels.clone()];
                        *weight = scale * sum_of_pairs(query, key, |q, k| q * k);
                    }
                    softmax(weights);
                    let values = rows.iter().map(
                        #[inline(always)]
                        |&row| &own[row as usize * 2 * width + width..][channels.clone()],
                    );
                    add_weighted(&mut out[channels.clone()], values.zip(weights.iter().copied()));
                }
            }
        },
    );
}
