//! Reads documents with a model, and records what its memory keeps and what it attends to.

use std::path::Path;

use abridge_corpus::Document;
use abridge_model::config::Context;
use abridge_model::shortener::Weighs;
use abridge_model::tokens::END;
use abridge_model::{Attended, ModelConfig, Occupant, Packed, Reading, SentenceInContext};
use abridge_translate::{BeamSettings, Result, Translator, origins};
use burn::tensor::{Device, Tensor};

use super::influence::{Influence, influence};
use super::pieces::all_shown;
use super::shares::to_words;
use super::{
    ContextSentence, GroupKind, GroupedSentence, Groups, InspectedDocument, InspectedSentence, Kept,
};

/// Sentences processed together.
const CHUNK: usize = 32;

/// A model to inspect.
#[derive(Debug)]
pub struct Inspector {
    translator: Translator,
}

/// A sentence as the model reads it.
struct ReadSentence {
    tokens: Vec<u32>,
    weights: Option<Vec<Vec<f32>>>,
}

impl Inspector {
    /// Opens a model directory.
    pub fn open(path: &Path, device: &Device) -> Result<Self> {
        Ok(Self::new(Translator::open(path, device)?))
    }

    /// Inspects an open translator.
    pub fn new(translator: Translator) -> Self {
        Self { translator }
    }

    /// The model's translator.
    pub fn translator(&self) -> &Translator {
        &self.translator
    }

    /// Looks at a document. Sentences that have a translation are looked at with it; others are
    /// translated. `done` hears how many sentences have just been looked at.
    pub fn document(
        &self,
        document: &Document,
        settings: &BeamSettings,
        done: &mut dyn FnMut(usize),
    ) -> Result<InspectedDocument> {
        let translations = self.translations(document, settings)?;
        let sentences: Vec<Vec<u32>> =
            document.segments.iter().map(|s| self.encode(&s.source)).collect();
        let model = self.translator.model();
        let config = model.config();
        let readings = self.read(&sentences)?;
        let read: Vec<ReadSentence> = readings.iter().map(ReadSentence::new).collect();
        let mut inspected = Vec::with_capacity(sentences.len());
        for first in (0..sentences.len()).step_by(CHUNK) {
            let range = first..(first + CHUNK).min(sentences.len());
            let in_context: Vec<SentenceInContext<'_>> = range
                .clone()
                .map(|position| SentenceInContext {
                    reading: &readings[position],
                    context: self
                        .translator
                        .layout()
                        .context(|back| Some(&readings[position.checked_sub(back)?].remembered)),
                })
                .collect();
            let targets = range.clone().map(|position| {
                let mut tokens = self.translator.target().encode(&translations[position]);
                tokens.truncate(config.max_positions - 1);
                tokens.push(END);
                tokens
            });
            let targets = Packed::new(targets.collect::<Vec<_>>());
            let attended = model.attended(&model.sources_from_memory(&in_context)?, &targets)?;
            for ((position, attended), target) in range.zip(&attended).zip(targets.iter()) {
                let influence =
                    influence(model, self.translator.source(), &readings, position, target)?;
                inspected.push(InspectedSentence {
                    position,
                    source: document.segments[position].source.clone(),
                    translation: translations[position].clone(),
                    source_tokens: all_shown(self.translator.source(), &read[position].tokens),
                    target_tokens: all_shown(self.translator.target(), target),
                    kept: kept(config, &read[position]),
                    context: self.context(position, &read, &readings, attended, influence),
                });
                done(1);
            }
        }
        Ok(InspectedDocument { id: document.id.clone(), sentences: inspected })
    }

    /// The groups of sentences, without translating them; `None` if the model has no groups.
    pub fn groups(&self, sentences: &[String]) -> Result<Option<Vec<GroupedSentence>>> {
        let config = self.translator.model().config();
        let Some(kind) = kind_of(config) else { return Ok(None) };
        let encoded: Vec<Vec<u32>> = sentences.iter().map(|s| self.encode(s)).collect();
        let mut groups = Vec::with_capacity(sentences.len());
        for part in encoded.chunks(CHUNK) {
            for reading in self.read(part)? {
                let read = ReadSentence::new(&reading);
                let tokens = all_shown(self.translator.source(), &read.tokens);
                let weights = read.weights.unwrap_or_default();
                groups.push(GroupedSentence { tokens, groups: Groups { kind, weights } });
            }
        }
        Ok(Some(groups))
    }

    fn translations(&self, document: &Document, settings: &BeamSettings) -> Result<Vec<String>> {
        let given: Vec<Option<&String>> =
            document.segments.iter().map(|segment| segment.target.as_ref()).collect();
        if let Some(given) = given.iter().copied().collect::<Option<Vec<_>>>() {
            return Ok(given.into_iter().cloned().collect());
        }
        let sources: Vec<String> = document.segments.iter().map(|s| s.source.clone()).collect();
        let found = self.translator.translate_documents(&[sources], settings, &|_| {})?;
        let found = found.into_iter().next().unwrap_or_default();
        Ok(given.into_iter().zip(found).map(|(given, own)| given.cloned().unwrap_or(own)).collect())
    }

    fn encode(&self, sentence: &str) -> Vec<u32> {
        let mut tokens = self.translator.source().encode(sentence);
        tokens.truncate(self.translator.model().config().max_positions - 1);
        tokens.push(END);
        tokens
    }

    fn read(&self, sentences: &[Vec<u32>]) -> Result<Vec<Reading>> {
        let mut readings = Vec::with_capacity(sentences.len());
        for part in sentences.chunks(CHUNK) {
            readings.extend(self.translator.model().read(&Packed::new(part))?);
        }
        Ok(readings)
    }

    /// Sorts the columns of the attention by sentence, and distributes each over its words.
    fn context(
        &self,
        position: usize,
        read: &[ReadSentence],
        readings: &[Reading],
        attended: &Attended,
        mut influence: Influence,
    ) -> Vec<ContextSentence> {
        let config = self.translator.model().config();
        let weights = attended.mean().memory;
        let layout = self.translator.layout();
        let mut context = Vec::new();
        for (slot, held) in layout.occupants(position, &layout.positions(position), |_| false) {
            // A slot before the document's start holds at most an empty sentence.
            let Occupant::Sentence(occupant) = held else { continue };
            let columns: Vec<(usize, usize)> = attended
                .rows
                .iter()
                .enumerate()
                .filter(|(_, row)| row.slot == slot)
                .map(|(column, row)| (column, row.row))
                .collect();
            if columns.is_empty() {
                continue;
            }
            let sentence = &read[occupant];
            let origins = origins(
                config,
                sentence.tokens.len(),
                readings[occupant].remembered.entry.as_ref(),
            );
            let rows = columns.iter().map(|(_, row)| row + 1).max().unwrap_or(0);
            let entry: Vec<Vec<f32>> = weights
                .iter()
                .map(|all| {
                    let mut entry = vec![0.0; rows];
                    for &(column, row) in &columns {
                        entry[row] += all[column];
                    }
                    entry
                })
                .collect();
            let words = entry
                .iter()
                .map(|entry| to_words(entry, &origins, sentence.tokens.len()))
                .collect();
            context.push(ContextSentence {
                distance: layout.place(slot).back(),
                tokens: all_shown(self.translator.source(), &sentence.tokens),
                entry,
                words,
                influence: influence.get_mut(slot).and_then(Option::take).unwrap_or_default(),
            });
        }
        context.sort_by_key(|sentence| std::cmp::Reverse(sentence.distance));
        context
    }
}

impl ReadSentence {
    fn new(reading: &Reading) -> Self {
        let entry = reading.remembered.entry.as_ref();
        Self {
            tokens: reading.remembered.tokens.clone(),
            weights: entry.and_then(|entry| entry.weights.as_ref()).map(rows_of),
        }
    }
}

fn rows_of(tensor: &Tensor<2>) -> Vec<Vec<f32>> {
    let columns = tensor.dims()[1];
    let values: Vec<f32> = tensor.to_data().iter::<f32>().collect();
    values.chunks_exact(columns).map(<[f32]>::to_vec).collect()
}

fn kind_of(config: &ModelConfig) -> Option<GroupKind> {
    config.shortener?.weighs().map(|weighs| match weighs {
        Weighs::Tokens => GroupKind::Grouping,
        Weighs::Groups => GroupKind::Selecting,
    })
}

fn kept(config: &ModelConfig, sentence: &ReadSentence) -> Kept {
    if let (Some(kind), Some(weights)) = (kind_of(config), &sentence.weights) {
        return Kept::Groups(Groups { kind, weights: weights.clone() });
    }
    let tokens = sentence.tokens.len();
    Kept::Note(match (config.context, config.shortener) {
        (Context::None, _) => "This model has no memory: it sees each sentence alone.".into(),
        (Context::SingleEncoder, _) => {
            "This model has no memory: it prepends the previous sentences and encodes them again."
                .into()
        }
        (Context::MultiEncoder, _) => {
            "This model has no memory: a second encoder encodes the previous sentences again."
                .into()
        }
        (Context::Memory, shortener) => {
            let kept = shortener.map(|shortener| shortener.keeps_of(tokens));
            format!("The memory keeps {}.", kept.unwrap_or_default())
        }
    })
}
