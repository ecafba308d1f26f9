//! Translation word by word, with a cache of everything that does not change.
//!
//! Keys and values of the words so far are kept per hypothesis; those of the source and of the
//! memory are kept once per sentence and shared by all its hypotheses.

use burn::tensor::{Int, Tensor};

use crate::attention::Attention;
use crate::decoder::{Projected, Sources, Words};
use crate::model::Model;
use crate::ops::{self, Block, FixedKeys, fixed_attention, indices};
use crate::recurrence::Ssru;

/// Sentences that are being translated.
///
/// Each has one or more hypotheses; hypotheses are numbered consecutively, those of a sentence one
/// after the other. Decoding starts with one per sentence.
#[derive(Debug)]
pub struct Decoding<'a> {
    model: &'a Model,
    layers: Vec<LayerState>,
    /// For each hypothesis its sentence, in ascending order.
    sentence_of: Vec<usize>,
    /// For each unfinished sentence its number at the start.
    sentences: Vec<usize>,
    position: usize,
}

#[derive(Debug)]
struct LayerState {
    cross: FixedKeys,
    context: Option<FixedKeys>,
    /// Keys and values of the words so far, `[hypotheses, heads, words, head width]`.
    own: Option<(Tensor<4>, Tensor<4>)>,
    /// The cell of a recurrent unit after the words so far, `[hypotheses, width]`.
    cell: Option<Tensor<2>>,
}

impl<'a> Decoding<'a> {
    pub(crate) fn new(model: &'a Model, sources: &Sources) -> Self {
        let device = model.device();
        let heads = model.config().heads;
        let visible = |blocks: fn(&crate::decoder::VisibleRows) -> &Vec<Block>| -> Vec<Vec<Block>> {
            sources.visible.iter().map(|rows| blocks(rows).clone()).collect()
        };
        let (source, context) = (visible(|rows| &rows.source), visible(|rows| &rows.context));
        let fix = |projected: &Projected, seen: &[Vec<Block>]| {
            FixedKeys::new(&projected.keys, projected.shifts.as_ref(), seen, heads, &device)
        };
        let layers = sources.layers.iter().map(|layer| LayerState {
            cross: fix(&layer.cross, &source),
            context: layer.context.as_ref().map(|projected| fix(projected, &context)),
            own: None,
            cell: None,
        });
        let sentences: Vec<usize> = (0..sources.visible.len()).collect();
        let mut decoding = Self {
            model,
            layers: layers.collect(),
            sentence_of: sentences.clone(),
            sentences,
            position: 0,
        };
        for _ in 1..model.config().start_words() {
            decoding.step(&vec![model.config().start_word(); decoding.sentence_of.len()]);
        }
        decoding
    }

    /// For each hypothesis the sentence that it translates.
    pub fn sentence_of(&self, hypothesis: usize) -> usize {
        self.sentences[self.sentence_of[hypothesis]]
    }

    /// The number of hypotheses.
    pub fn hypotheses(&self) -> usize {
        self.sentence_of.len()
    }

    /// Appends a word to each hypothesis and scores what could follow.
    ///
    /// The first word of every translation is
    /// [`start_word`](crate::ModelConfig::start_word).
    ///
    /// # Shapes
    /// - result: `[hypotheses, vocabulary]`, logits
    pub fn step(&mut self, words: &[u32]) -> Tensor<2> {
        assert_eq!(words.len(), self.sentence_of.len(), "one word per hypothesis");
        let decoder = &self.model.decoder;
        let mut x = decoder.embed_at(words, self.position);
        let beams = Beams::new(&self.sentence_of, self.sentences.len(), &x);
        for (layer, state) in self.layers.iter_mut().enumerate() {
            x = decoder.step(layer, x, OneWord { state, beams: &beams });
        }
        self.position += 1;
        ops::logits(decoder.finish(x), decoder.projection())
    }

    /// Hypothesis `i` continues what was hypothesis `parents[i]`.
    ///
    /// Parents may be repeated or left out, but stay in the order of their sentences. A sentence
    /// without hypotheses is finished and costs nothing more.
    pub fn reorder(&mut self, parents: &[usize]) {
        let rows = indices(parents.iter().copied(), &self.model.device());
        let mut sentence_of: Vec<usize> =
            parents.iter().map(|&parent| self.sentence_of[parent]).collect();
        assert!(sentence_of.is_sorted(), "hypotheses stay in the order of their sentences");
        let mut alive = sentence_of.clone();
        alive.dedup();
        for state in &mut self.layers {
            state.own = state
                .own
                .take()
                .map(|(key, value)| (key.select(0, rows.clone()), value.select(0, rows.clone())));
            state.cell = state.cell.take().map(|cell| cell.select(0, rows.clone()));
            if alive.len() < self.sentences.len() {
                state.cross = state.cross.select(&alive);
                state.context = state.context.as_ref().map(|keys| keys.select(&alive));
            }
        }
        for sentence in &mut sentence_of {
            *sentence = alive.partition_point(|alive| alive < sentence);
        }
        self.sentences = alive.iter().map(|&sentence| self.sentences[sentence]).collect();
        self.sentence_of = sentence_of;
    }
}

/// The hypotheses of each sentence as a rectangle, so that they can share the sentence's keys.
struct Beams {
    sentences: usize,
    beam: usize,
    /// Row indices of the rectangle and the way back, unless it is full.
    ragged: Option<(Tensor<1, Int>, Tensor<1, Int>)>,
}

impl Beams {
    fn new(sentence_of: &[usize], sentences: usize, x: &Tensor<2>) -> Self {
        let mut sizes = vec![0; sentences];
        let mut places = Vec::with_capacity(sentence_of.len());
        for &sentence in sentence_of {
            places.push((sentence, sizes[sentence]));
            sizes[sentence] += 1;
        }
        let beam = sizes.iter().copied().max().unwrap_or(0);
        let ragged = sizes.iter().any(|&size| size < beam).then(|| {
            let mut rows = vec![0; sentences * beam];
            let restore: Vec<usize> =
                places.iter().map(|(sentence, place)| sentence * beam + place).collect();
            for (hypothesis, &place) in restore.iter().enumerate() {
                rows[place] = hypothesis;
            }
            (indices(rows, &x.device()), indices(restore, &x.device()))
        });
        Self { sentences, beam, ragged }
    }

    fn attend(&self, attention: &Attention, x: Tensor<2>, keys: &FixedKeys) -> Tensor<2> {
        let width = x.dims()[1];
        let mut query = attention.query.forward(x);
        if let Some((rows, _)) = &self.ragged {
            query = query.select(0, rows.clone());
        }
        let query = query.reshape([self.sentences, self.beam, width]);
        let mut attended =
            fixed_attention(query, keys).reshape([self.sentences * self.beam, width]);
        if let Some((_, restore)) = &self.ragged {
            attended = attended.select(0, restore.clone());
        }
        attention.output.forward(attended)
    }
}

/// One more word per hypothesis.
struct OneWord<'a> {
    state: &'a mut LayerState,
    beams: &'a Beams,
}

impl Words for OneWord<'_> {
    fn own(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        let [hypotheses, width] = x.dims();
        let head_width = width / attention.heads();
        let split = |rows: Tensor<2>| rows.reshape([hypotheses, attention.heads(), 1, head_width]);
        let query = split(attention.query.forward(x.clone()));
        let new = attention.project(x);
        let (new_key, new_value) = (split(new.key), split(new.value));
        let (key, value) = match self.state.own.take() {
            None => (new_key, new_value),
            Some((key, value)) => {
                (Tensor::cat(vec![key, new_key], 2), Tensor::cat(vec![value, new_value], 2))
            }
        };
        let (attended, _) = ops::attend(query, key.clone().transpose(), value.clone(), None);
        self.state.own = Some((key, value));
        attention.output.forward(attended.reshape([hypotheses, width]))
    }

    fn recur(&mut self, unit: &Ssru, x: Tensor<2>) -> Tensor<2> {
        unit.step(x, &mut self.state.cell)
    }

    fn source(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        self.beams.attend(attention, x, &self.state.cross)
    }

    fn context(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        match &self.state.context {
            Some(keys) => self.beams.attend(attention, x, keys),
            None => attention.output_of_nothing(x),
        }
    }
}
