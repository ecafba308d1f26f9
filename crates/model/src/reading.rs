//! Sentence by sentence: read once, remember, and translate with what is remembered.
//!
//! This is the streaming side of [`Model::sources`]: the same network, but what was computed for
//! earlier sentences comes from a memory instead of from the same batch.

use std::collections::BTreeMap;
use std::ops::Range;

use abridge_base::{Occupant, Purpose};
use burn::tensor::Tensor;

use crate::batch::{Example, SourceBatch};
use crate::checks::check_sequences;
use crate::config::Context;
use crate::context_rows::ContextRows;
use crate::decoder::{Sources, VisibleRows};
use crate::dropout::Dropout;
use crate::encoding::BothLanguages;
use crate::memory::{MemoryEntry, Remembered, Translated};
use crate::model::Model;
use crate::ops::{Block, KeyValue};
use crate::packed::Packed;
use crate::shortener::ShortenerInput;
use crate::tokens::END;
use crate::{Error, Result};

/// A sentence that has been read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The encoder's states, `[tokens, width]`, which its own translation attends to. Models that
    /// join texts have none, because they read a sentence together with its context.
    pub states: Option<Tensor<2>>,
    /// What the translations of later sentences need from it.
    pub remembered: Remembered,
}

/// A sentence about to be translated, with the sentences before it.
#[derive(Clone, Debug)]
pub struct SentenceInContext<'a> {
    /// The sentence.
    pub reading: &'a Reading,
    /// For each slot of the context the sentence in it, as
    /// [`MemoryLayout::context`](crate::MemoryLayout::context) returns them.
    pub context: Vec<Option<&'a Remembered>>,
}

/// What is stored of a memory entry: its rows, and the weight of each token for each group.
pub type StoredEntry = (Tensor<2>, Option<Tensor<2>>);

impl Model {
    /// Reads sentences: encodes, shortens and projects each of them once.
    pub fn read(&self, sentences: &Packed) -> Result<Vec<Reading>> {
        self.config().check_sentences(sentences)?;
        if matches!(self.config().context, Context::SingleEncoder | Context::MultiEncoder) {
            let reading = |tokens: &[u32]| Reading {
                states: None,
                remembered: Remembered { tokens: tokens.to_vec(), entry: None, translation: None },
            };
            return Ok(sentences.iter().map(reading).collect());
        }
        let segments = sentences.segments();
        let states = self.states(sentences, &mut Dropout::off());
        let mut entries = self.entries(&states, sentences).into_iter();
        let readings = sentences.iter().zip(segments.ranges()).map(|(tokens, range)| Reading {
            states: Some(states.clone().narrow(0, range.start, range.len())),
            remembered: Remembered {
                tokens: tokens.to_vec(),
                entry: entries.next(),
                translation: None,
            },
        });
        Ok(readings.collect())
    }

    /// Reads translations, for a memory that holds them.
    pub fn read_translations(&self, translations: &Packed) -> Result<Vec<Translated>> {
        check_sequences("translation", translations.iter(), self.config().target_vocabulary)?;
        if !self.config().target_context {
            return Err(Error::Input("the memory of this model holds no translations".into()));
        }
        if translations.is_empty() {
            return Ok(Vec::new());
        }
        let both = BothLanguages { source: Packed::default(), target: translations.clone() };
        let states = self.states_of_both(&both, &mut Dropout::off());
        let entries = self.entries(&states, translations);
        let translated = translations.iter().zip(entries);
        Ok(translated
            .map(|(tokens, entry)| Translated { tokens: tokens.to_vec(), entry })
            .collect())
    }

    /// One memory entry per sentence, in models with a memory.
    fn entries(&self, states: &Tensor<2>, sentences: &Packed) -> Vec<MemoryEntry> {
        let Some(shortener) = &self.shortener else { return Vec::new() };
        let lengths: Vec<usize> = sentences.segments().lengths().collect();
        let shortened = shortener.forward(ShortenerInput {
            states: states.clone(),
            segments: sentences.segments(),
            mean_lengths: &lengths,
        });
        let projected = self.decoder.project_context(&ContextRows::new(shortened.rows.clone()));
        let tokens = sentences.segments().ranges();
        let entry = |(rows, tokens): (Range<usize>, Range<usize>)| {
            let cut = |tensor: &Tensor<2>| tensor.clone().narrow(0, rows.start, rows.len());
            MemoryEntry {
                rows: cut(&shortened.rows),
                weights: shortened
                    .weights
                    .as_ref()
                    .map(|weights| weights.clone().narrow(0, tokens.start, tokens.len())),
                projected: projected
                    .iter()
                    .map(|layer| KeyValue { key: cut(&layer.key), value: cut(&layer.value) })
                    .collect(),
            }
        };
        shortened.segments.ranges().zip(tokens).map(entry).collect()
    }

    /// Restores a remembered sentence from its tokens and, in models with a memory, the rows and
    /// group weights of its entry; the projections are computed again.
    pub fn remember(&self, tokens: Vec<u32>, entry: Option<StoredEntry>) -> Result<Remembered> {
        self.config().check_sentences(&Packed::new([&tokens]))?;
        if entry.is_some() != self.shortener.is_some() {
            return Err(foreign());
        }
        let entry = entry.map(|entry| self.remember_entry(tokens.len(), entry)).transpose()?;
        Ok(Remembered { tokens, entry, translation: None })
    }

    /// Restores a translation that the memory held.
    pub fn remember_translation(&self, tokens: Vec<u32>, entry: StoredEntry) -> Result<Translated> {
        let sequence = std::iter::once(tokens.as_slice());
        check_sequences("translation", sequence, self.config().target_vocabulary)?;
        if !self.config().target_context {
            return Err(foreign());
        }
        let entry = self.remember_entry(tokens.len(), entry)?;
        Ok(Translated { tokens, entry })
    }

    fn remember_entry(&self, tokens: usize, (rows, weights): StoredEntry) -> Result<MemoryEntry> {
        let config = self.config();
        let expected = [config.entry_rows(tokens), config.width];
        if rows.dims() != expected {
            return Err(Error::Input(format!(
                "a memory entry of {:?} rows and channels, but the model makes {expected:?}",
                rows.dims()
            )));
        }
        let projected = self.decoder.project_context(&ContextRows::new(rows.clone()));
        Ok(MemoryEntry { rows, weights, projected })
    }

    /// Prepares the translation of sentences that were read, with what is remembered of others.
    pub fn sources_from_memory(&self, in_context: &[SentenceInContext<'_>]) -> Result<Sources> {
        let slots = self.config().context_size;
        if let Some(sentence) =
            in_context.iter().find(|sentence| slots > 0 && sentence.context.len() != slots)
        {
            return Err(Error::Input(format!(
                "a sentence has {} context slots, but the model has {slots}",
                sentence.context.len()
            )));
        }
        match self.config().context {
            Context::None | Context::Memory => self.sources_from_entries(in_context),
            Context::SingleEncoder | Context::MultiEncoder => self.sources(&joined(in_context)),
        }
    }

    fn sources_from_entries(&self, in_context: &[SentenceInContext<'_>]) -> Result<Sources> {
        let config = self.config();
        let layout = config.layout(Purpose::Inference);
        let is_missing =
            |sentence: &SentenceInContext<'_>| sentence.context.iter().any(Option::is_none);
        let empty_sentence = if layout.fills_empty_slots && in_context.iter().any(is_missing) {
            self.read(&Packed::new([[END]]))?.pop()
        } else {
            None
        };
        let empty_sentence = empty_sentence.as_ref().map(|reading| &reading.remembered);

        let mut states = Distinct::default();
        let mut entries = Distinct::default();
        let mut visible = Vec::with_capacity(in_context.len());
        for sentence in in_context {
            let own = sentence.reading.states.as_ref().ok_or_else(foreign)?;
            let source = vec![Block::plain(states.place(own, own.dims()[0]))];
            let mut context = Vec::new();
            if config.context == Context::Memory {
                let own = &sentence.reading.remembered;
                let has_translation = |held: &Remembered| held.translation.is_some();
                for (slot, held) in layout.occupants(own, &sentence.context, has_translation) {
                    let entry = match held {
                        Occupant::Sentence(held) => held.entry.as_ref(),
                        Occupant::TranslationOf(held) => {
                            held.translation.as_ref().map(|t| &t.entry)
                        }
                        Occupant::EmptySentence => {
                            empty_sentence.and_then(|held| held.entry.as_ref())
                        }
                    };
                    let entry = entry.ok_or_else(foreign)?;
                    let rows = entries.place(entry, entry.rows.dims()[0]);
                    context.push(Block { rows, slot: Some(slot) });
                }
            }
            visible.push(VisibleRows { source, context });
        }
        let projected = gather(&entries.items, config.decoder_layers);
        let states = Tensor::cat(states.items.into_iter().cloned().collect(), 0);
        Ok(self.decoder.sources_with(states, projected, visible))
    }
}

fn foreign() -> Error {
    Error::Input("a sentence was read by a model of another kind".into())
}

/// The texts of sentences and their contexts as a batch.
fn joined(in_context: &[SentenceInContext<'_>]) -> SourceBatch {
    let mut sentences: Vec<&[u32]> = Vec::new();
    let mut place = |tokens| {
        sentences.push(tokens);
        sentences.len() - 1
    };
    let examples = in_context.iter().map(|sentence| Example {
        source: place(&sentence.reading.remembered.tokens),
        context: sentence
            .context
            .iter()
            .map(|remembered| remembered.map(|remembered| place(&remembered.tokens)))
            .collect(),
    });
    let examples = examples.collect();
    SourceBatch { sentences: Packed::new(sentences), translations: Packed::default(), examples }
}

/// The distinct items that some sentences attend to, and where the rows of each are when all are
/// concatenated.
struct Distinct<'a, T> {
    items: Vec<&'a T>,
    /// By address; for lookup only.
    starts: BTreeMap<*const T, usize>,
    rows: usize,
}

impl<T> Default for Distinct<'_, T> {
    fn default() -> Self {
        Self { items: Vec::new(), starts: BTreeMap::default(), rows: 0 }
    }
}

impl<'a, T> Distinct<'a, T> {
    /// Where the rows of an item are. Neighbouring sentences share entries, and candidate
    /// translations of a sentence share its states.
    fn place(&mut self, item: &'a T, rows: usize) -> Range<usize> {
        let start = *self.starts.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.rows += rows;
            self.rows - rows
        });
        start..start + rows
    }
}

/// Keys and values of all entries per layer, or `None` if there is no entry.
fn gather(entries: &[&MemoryEntry], layers: usize) -> Option<Vec<KeyValue>> {
    if entries.is_empty() {
        return None;
    }
    let part = |layer: usize, part: fn(&KeyValue) -> &Tensor<2>| {
        Tensor::cat(entries.iter().map(|entry| part(&entry.projected[layer]).clone()).collect(), 0)
    };
    let layer = |layer| KeyValue {
        key: part(layer, |keys| &keys.key),
        value: part(layer, |keys| &keys.value),
    };
    Some((0..layers).map(layer).collect())
}
