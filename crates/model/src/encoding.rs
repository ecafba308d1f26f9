//! From sentences to what the decoder attends to: the four ways in which context enters.

use std::collections::BTreeMap;
use std::ops::Range;

use abridge_base::{Occupant, Purpose, Reach};
use burn::tensor::Tensor;

use crate::batch::{Example, SourceBatch};
use crate::config::Context;
use crate::context_rows::{ContextRows, Kind};
use crate::decoder::VisibleRows;
use crate::dropout::Dropout;
use crate::model::Model;
use crate::ops::{Block, indices};
use crate::packed::{Packed, Segments};
use crate::shortener::{Shortened, Shortener, ShortenerInput};
use crate::tokens::{BREAK, END};

/// Everything that the decoder may attend to, before it is projected.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The encoder's states, `[source rows, width]`.
    pub states: Tensor<2>,
    /// Memory entries, or the second encoder's states.
    pub context: Option<ContextRows>,
    /// Which rows each example sees.
    pub visible: Vec<VisibleRows>,
}

impl Model {
    /// Encodes each distinct sentence once.
    pub fn encode(&self, batch: &SourceBatch, dropout: &mut Dropout) -> Encoded {
        match self.config().context {
            Context::None => self.encode_alone(batch, dropout),
            Context::SingleEncoder => self.encode_joined(batch, dropout),
            Context::MultiEncoder => self.encode_beside(batch, dropout),
            Context::Memory => self.encode_with_memory(batch, dropout),
        }
    }

    /// The states of some token sequences, packed.
    ///
    /// # Shapes
    /// - result: `[tokens, width]`
    pub(crate) fn states(&self, sequences: &Packed, dropout: &mut Dropout) -> Tensor<2> {
        let embedded = self.source_embedding().forward(sequences, dropout);
        self.encoder.forward(embedded, sequences.segments(), dropout)
    }

    /// The states of sentences of both languages, read by the same encoder.
    ///
    /// # Shapes
    /// - result: `[tokens, width]`, the source sentences first
    pub(crate) fn states_of_both(
        &self,
        sentences: &BothLanguages,
        dropout: &mut Dropout,
    ) -> Tensor<2> {
        let BothLanguages { source, target } = sentences;
        if target.is_empty() {
            return self.states(source, dropout);
        }
        let mut embedded = self.decoder.embedding.forward(target, dropout);
        if !source.is_empty() {
            let source = self.source_embedding().forward(source, dropout);
            embedded = Tensor::cat(vec![source, embedded], 0);
        }
        let lengths = source.segments().lengths().chain(target.segments().lengths());
        self.encoder.forward(embedded, &Segments::from_lengths(lengths), dropout)
    }

    /// Sentence-level: the source alone.
    fn encode_alone(&self, batch: &SourceBatch, dropout: &mut Dropout) -> Encoded {
        let source = |example: &Example| batch.sentences.get(example.source).to_vec();
        self.encode_texts(batch.examples.iter().map(source), dropout)
    }

    /// Single-encoder: context, an end, the source, all in one sequence.
    fn encode_joined(&self, batch: &SourceBatch, dropout: &mut Dropout) -> Encoded {
        let text = |example: &Example| {
            let mut text = self.join_context(example, &batch.sentences);
            text.extend_from_slice(batch.sentences.get(example.source));
            text
        };
        self.encode_texts(batch.examples.iter().map(text), dropout)
    }

    /// Each example sees the states of its own text; equal texts are encoded once.
    fn encode_texts(
        &self,
        texts: impl Iterator<Item = Vec<u32>>,
        dropout: &mut Dropout,
    ) -> Encoded {
        let mut sequences = Distinct::default();
        let places: Vec<usize> = texts.map(|text| sequences.place(text)).collect();
        let sequences = sequences.pack();
        let visible = places.iter().map(|&place| VisibleRows {
            source: vec![Block::plain(sequences.segments().range(place))],
            context: Vec::new(),
        });
        let visible = visible.collect();
        Encoded { states: self.states(&sequences, dropout), context: None, visible }
    }

    /// Multi-encoder: a separate encoder reads the context.
    fn encode_beside(&self, batch: &SourceBatch, dropout: &mut Dropout) -> Encoded {
        let mut encoded = self.encode_alone(batch, dropout);
        let mut contexts = Distinct::default();
        let places: Vec<Option<usize>> = batch
            .examples
            .iter()
            .map(|example| {
                let text = self.join_context(example, &batch.sentences);
                (!text.is_empty()).then(|| contexts.place(text))
            })
            .collect();
        let contexts = contexts.pack();
        if contexts.is_empty() {
            return encoded;
        }
        for (rows, place) in encoded.visible.iter_mut().zip(places) {
            rows.context = place
                .map(|place| Block::plain(contexts.segments().range(place)))
                .into_iter()
                .collect();
        }
        let embedded = self.source_embedding().forward(&contexts, dropout);
        encoded.context = self
            .context_encoder
            .as_ref()
            .map(|encoder| encoder.forward(embedded, contexts.segments(), dropout))
            .map(ContextRows::new);
        encoded
    }

    /// The context sentences, oldest first, separated by breaks and followed by one end; empty
    /// without context. The published implementation has the end even then.
    fn join_context(&self, example: &Example, sentences: &Packed) -> Vec<u32> {
        let mut joined = Vec::new();
        let mut is_first = true;
        for &sentence in example.context.iter().flatten() {
            if !is_first {
                joined.push(BREAK);
            }
            is_first = false;
            let tokens = sentences.get(sentence);
            joined.extend_from_slice(tokens.strip_suffix(&[END]).unwrap_or(tokens));
        }
        if !is_first || self.config().as_published {
            joined.push(END);
        }
        joined
    }

    /// Memory: every sentence is encoded once, shortened once, and seen from many slots.
    ///
    /// In training there is one kind of context rows for each [`Reach`] that a slot has: with the
    /// gradient, without it, and shortened from states without it.
    fn encode_with_memory(&self, batch: &SourceBatch, dropout: &mut Dropout) -> Encoded {
        let shortener = self.shortener.as_ref().expect("a model with a memory has a shortener");
        let plan = MemoryPlan::new(self, shortener, batch);

        // Sentences that no gradient reaches are encoded separately, so that nothing is stored for
        // them.
        let trained = self.states_of_both(&plan.trained, dropout);
        let states = if plan.untrained.is_empty() {
            trained
        } else {
            let untrained = self.states_of_both(&plan.untrained, dropout).detach();
            Tensor::cat(vec![trained, untrained], 0)
        };

        let mut kinds = Kinds::default();
        if !plan.whole.is_empty() {
            let whole = plan.shorten(shortener, states.clone(), &plan.whole);
            if plan.is_used(Reach::Decoder) {
                let rows = whole.rows.clone().detach();
                kinds.keep(Reach::Decoder, &plan.whole, Shortened { rows, ..whole.clone() });
            }
            if plan.is_used(Reach::Encoder) {
                kinds.keep(Reach::Encoder, &plan.whole, whole);
            }
        }
        if !plan.shortener_only.is_empty() {
            let shortened = plan.shorten(shortener, states.clone().detach(), &plan.shortener_only);
            kinds.keep(Reach::Shortener, &plan.shortener_only, shortened);
        }
        let visible = batch.examples.iter().zip(&plan.slots).map(|(example, slots)| {
            let context = slots.iter().map(|slot| Block {
                rows: kinds.rows(slot.reach, slot.entry),
                slot: Some(slot.slot),
            });
            let source = plan.segments.range(plan.place_of[&example.source]);
            VisibleRows { source: vec![Block::plain(source)], context: context.collect() }
        });
        let visible = visible.collect();
        Encoded { states, context: kinds.into_rows(), visible }
    }
}

/// Shortened entries by the reach of the slots that they occupy.
#[derive(Default)]
struct Kinds {
    by_reach: Vec<(Reach, Shortened)>,
    /// For each distinct entry the first of its rows among the distinct values.
    first_value: BTreeMap<Entry, usize>,
    /// Parts of the distinct values.
    distinct: Vec<Tensor<2>>,
    /// For each row of each kind its row among the distinct values.
    values: Vec<Vec<usize>>,
}

impl Kinds {
    fn keep(&mut self, reach: Reach, entries: &[Entry], shortened: Shortened) {
        let mut next: usize = self.distinct.iter().map(|part| part.dims()[0]).sum();
        let mut new_rows = Vec::new();
        let mut values = Vec::with_capacity(shortened.segments.rows());
        for (entry, range) in entries.iter().zip(shortened.segments.ranges()) {
            let first = *self.first_value.entry(*entry).or_insert_with(|| {
                new_rows.extend(range.clone());
                next += range.len();
                next - range.len()
            });
            values.extend(first..first + range.len());
        }
        if !new_rows.is_empty() {
            let rows = shortened.rows.clone().detach();
            let is_all = new_rows.len() == rows.dims()[0];
            let new_rows = indices(new_rows, &rows.device());
            self.distinct.push(if is_all { rows } else { rows.select(0, new_rows) });
        }
        self.values.push(values);
        self.by_reach.push((reach, shortened));
    }

    /// Where the rows of an entry of this reach are, counted through all kinds.
    fn rows(&self, reach: Reach, entry: usize) -> Range<usize> {
        let place = self.by_reach.iter().position(|(kind, _)| *kind == reach).expect("kept");
        let first: usize =
            self.by_reach[..place].iter().map(|(_, kind)| kind.segments.rows()).sum();
        let range = self.by_reach[place].1.segments.range(entry);
        first + range.start..first + range.end
    }

    fn into_rows(self) -> Option<ContextRows> {
        if let [(_, only)] = &self.by_reach[..] {
            return Some(ContextRows::new(only.rows.clone()));
        }
        let kinds = self.by_reach.into_iter().zip(self.values);
        let kinds: Vec<Kind> = kinds
            .map(|((reach, shortened), values)| {
                let is_open = reach != Reach::Decoder;
                Kind { rows: shortened.rows, values, is_open }
            })
            .collect();
        (!kinds.is_empty()).then(|| ContextRows::of_kinds(kinds, Tensor::cat(self.distinct, 0)))
    }
}

/// An entry is a sentence and the length that a mean over it divides by.
type Entry = (usize, usize);

/// Sentences to read, by language.
pub(crate) struct BothLanguages {
    pub source: Packed,
    pub target: Packed,
}

impl BothLanguages {
    fn is_empty(&self) -> bool {
        self.source.is_empty() && self.target.is_empty()
    }
}

/// Which sentences are encoded with and without a gradient, which entries are made, and which
/// example sees which.
struct MemoryPlan {
    /// Sentences that a gradient may reach.
    trained: BothLanguages,
    /// The others.
    untrained: BothLanguages,
    /// All sentences' states: the trained ones, then the others.
    segments: Segments,
    /// The position of a sentence of the batch among them.
    place_of: BTreeMap<usize, usize>,
    /// Entries whose gradient goes all the way, or nowhere.
    whole: Vec<Entry>,
    /// Entries whose gradient stops before the encoder.
    shortener_only: Vec<Entry>,
    /// The filled slots of each example.
    slots: Vec<Vec<FilledSlot>>,
}

#[derive(Clone, Copy)]
struct FilledSlot {
    slot: usize,
    reach: Reach,
    /// Index into the entries of this reach.
    entry: usize,
}

impl MemoryPlan {
    fn new(model: &Model, shortener: &Shortener, batch: &SourceBatch) -> Self {
        let config = model.config();
        let layout = config.layout(Purpose::Training);
        // An empty sentence and the translations count as sentences, numbered after all others.
        let empty_sentence = batch.sentences.len();
        let first_translation = empty_sentence + 1;
        let tokens = |sentence: usize| match sentence.checked_sub(first_translation) {
            Some(translated) => batch.translations.get(translated),
            None if sentence == empty_sentence => &[END],
            None => batch.sentences.get(sentence),
        };
        let length = |sentence: usize| tokens(sentence).len();
        let occupants: Vec<Vec<(usize, usize)>> = batch
            .examples
            .iter()
            .map(|example| {
                let is_known = |sentence: usize| {
                    !batch.translations.is_empty() && !batch.translations.get(sentence).is_empty()
                };
                let occupants = layout.occupants(example.source, &example.context, is_known);
                let sentence = |occupant| match occupant {
                    Occupant::Sentence(sentence) => sentence,
                    Occupant::TranslationOf(sentence) => first_translation + sentence,
                    Occupant::EmptySentence => empty_sentence,
                };
                occupants.into_iter().map(|(slot, held)| (slot, sentence(held))).collect()
            })
            .collect();
        let mut longest = vec![0; layout.slots()];
        for &(slot, sentence) in occupants.iter().flatten() {
            longest[slot] = longest[slot].max(length(sentence));
        }
        let is_trained = model.device().is_autodiff();
        let reach_of = |slot| match layout.reach(slot) {
            // Without gradients all slots are of one kind.
            _ if !is_trained => Reach::Encoder,
            Reach::Shortener if !shortener.is_learned() => Reach::Decoder,
            reach => reach,
        };

        let mut whole = Distinct::default();
        let mut shortener_only = Distinct::default();
        let mut trained: Vec<usize> = batch.examples.iter().map(|example| example.source).collect();
        let mut others = Vec::new();
        let slots = occupants.iter().map(|occupants| {
            let slots = occupants.iter().map(|&(slot, sentence)| {
                let reach = reach_of(slot);
                if reach == Reach::Encoder { &mut trained } else { &mut others }.push(sentence);
                let divisor = if config.as_published { longest[slot] } else { length(sentence) };
                let entries = match reach {
                    Reach::Shortener => &mut shortener_only,
                    Reach::Encoder | Reach::Decoder => &mut whole,
                };
                FilledSlot { slot, reach, entry: entries.place((sentence, divisor)) }
            });
            slots.collect()
        });
        let slots = slots.collect();

        trained.sort_unstable();
        trained.dedup();
        others.retain(|sentence| trained.binary_search(sentence).is_err());
        others.sort_unstable();
        others.dedup();
        let order = trained.iter().chain(&others);
        let both = |sentences: &[usize]| {
            let (source, target) =
                sentences.split_at(sentences.partition_point(|&s| s < first_translation));
            let pack = |part: &[usize]| Packed::new(part.iter().map(|&sentence| tokens(sentence)));
            BothLanguages { source: pack(source), target: pack(target) }
        };
        Self {
            trained: both(&trained),
            untrained: both(&others),
            segments: Segments::from_lengths(order.clone().map(|&sentence| length(sentence))),
            place_of: order.enumerate().map(|(place, &sentence)| (sentence, place)).collect(),
            whole: whole.items,
            shortener_only: shortener_only.items,
            slots,
        }
    }

    fn is_used(&self, reach: Reach) -> bool {
        self.slots.iter().flatten().any(|slot| slot.reach == reach)
    }

    /// Shortens the given entries, in their order.
    fn shorten(&self, shortener: &Shortener, states: Tensor<2>, entries: &[Entry]) -> Shortened {
        let places: Vec<usize> =
            entries.iter().map(|(sentence, _)| self.place_of[sentence]).collect();
        let mean_lengths: Vec<usize> = entries.iter().map(|&(_, length)| length).collect();
        if places.iter().copied().eq(0..self.segments.len()) {
            let segments = &self.segments;
            return shortener.forward(ShortenerInput {
                states,
                segments,
                mean_lengths: &mean_lengths,
            });
        }
        let rows = places.iter().flat_map(|&place| self.segments.range(place));
        let states = states.clone().select(0, indices(rows, &states.device()));
        let segments =
            Segments::from_lengths(places.iter().map(|&place| self.segments.length(place)));
        shortener.forward(ShortenerInput {
            states,
            segments: &segments,
            mean_lengths: &mean_lengths,
        })
    }
}

/// Distinct items in order of first appearance.
struct Distinct<T> {
    places: BTreeMap<T, usize>,
    items: Vec<T>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), items: Vec::new() }
    }
}

impl<T: Ord + Clone> Distinct<T> {
    fn place(&mut self, item: T) -> usize {
        *self.places.entry(item).or_insert_with_key(|item| {
            self.items.push(item.clone());
            self.items.len() - 1
        })
    }
}

impl Distinct<Vec<u32>> {
    fn pack(&self) -> Packed {
        Packed::new(&self.items)
    }
}
