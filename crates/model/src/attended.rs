//! What a translation attended to: attention weights over the source and the memory.
//!
//! For alignments, explanations and pictures. The decoder's attentions return their weights on
//! request.

use crate::checks::check_sequences;
use crate::config::Context;
use crate::decoder::{JoinedSentence, LayerWeights, Sources};
use crate::dropout::Dropout;
use crate::model::Model;
use crate::ops::Block;
use crate::packed::Packed;
use crate::{Error, Result};

/// What one translation attended to as each of its tokens was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Attended {
    /// What the columns of [`AttentionWeights::memory`] stand for.
    pub rows: Vec<MemoryRow>,
    /// The weights of each decoder layer, from the embedding upwards.
    pub layers: Vec<AttentionWeights>,
}

/// A row of the memory as a translation sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRow {
    /// The slot, as the memory layout numbers them; the one after the last is the sentence's own.
    pub slot: usize,
    /// The row within the entry. In models that join texts it is the token of the sentence, and
    /// the break after a sentence stands for its end.
    pub row: usize,
}

/// Weights, averaged over heads. The weights of an attention for a target token add up to one; if
/// one attention sees both source and memory, this holds for both together.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionWeights {
    /// For each target token (the end included) one weight per source token.
    pub source: Vec<Vec<f32>>,
    /// For each target token one weight per row of the memory.
    pub memory: Vec<Vec<f32>>,
}

impl Attended {
    /// The mean over all layers.
    pub fn mean(&self) -> AttentionWeights {
        let count = self.layers.len().max(1) as f32;
        let mean = |part: fn(&AttentionWeights) -> &Vec<Vec<f32>>| {
            let Some(first) = self.layers.first() else { return Vec::new() };
            let mut sum = part(first).clone();
            for layer in &self.layers[1..] {
                for (sum, weights) in sum.iter_mut().zip(part(layer)) {
                    sum.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
                }
            }
            sum.iter_mut().flatten().for_each(|weight| *weight /= count);
            sum
        };
        AttentionWeights {
            source: mean(|weights| &weights.source),
            memory: mean(|weights| &weights.memory),
        }
    }
}

impl Model {
    /// What given translations of encoded sources attend to (teacher forcing), one per example.
    pub fn attended(&self, sources: &Sources, targets: &Packed) -> Result<Vec<Attended>> {
        if targets.len() != sources.len() {
            return Err(Error::Input(format!(
                "{} translations for {} sources",
                targets.len(),
                sources.len()
            )));
        }
        check_sequences("translation", targets.iter(), self.config().target_vocabulary)?;
        let words = self.words_before(targets);
        let views: Vec<View> = (0..sources.len()).map(|i| self.view(sources, i)).collect();
        let mut attended: Vec<Attended> = views
            .iter()
            .map(|view| Attended { rows: view.rows.clone(), layers: Vec::new() })
            .collect();
        let mut layers = Vec::new();
        self.decoder.forward(&words, sources, &mut Dropout::off(), Some(&mut layers));
        let skip = self.config().start_words() - 1;
        for LayerWeights { source, context } in layers {
            for (example, (attended, view)) in attended.iter_mut().zip(&views).enumerate() {
                let context = context.get(example).map_or(&[][..], Vec::as_slice);
                attended.layers.push(view.sort(&source[example][skip..], context.get(skip..)));
            }
        }
        Ok(attended)
    }

    /// What the columns of the attentions of one example stand for.
    fn view(&self, sources: &Sources, example: usize) -> View {
        let rows = &sources.visible[example];
        let joined = sources.joined.get(example).map_or(&[][..], Vec::as_slice);
        let mut view = View::default();
        for (place, block) in rows.source.iter().enumerate() {
            let context = match (place, self.config().context) {
                (0, Context::SingleEncoder) => self.joined_length(joined),
                (0, _) => 0,
                _ => block.rows.len(),
            };
            self.memory_columns(&mut view, block, joined, context);
            view.cross.resize(view.cross.len() + context, Column::Memory);
            view.cross.resize(view.cross.len() + block.rows.len() - context, Column::Source);
        }
        for block in &rows.context {
            self.memory_columns(&mut view, block, joined, block.rows.len());
        }
        view
    }

    /// The tokens of a joined context; the published implementation has one even without context.
    fn joined_length(&self, joined: &[JoinedSentence]) -> usize {
        let tokens: usize = joined.iter().map(|sentence| sentence.tokens).sum();
        if self.config().as_published { tokens.max(1) } else { tokens }
    }

    fn memory_columns(
        &self,
        view: &mut View,
        block: &Block,
        joined: &[JoinedSentence],
        count: usize,
    ) {
        if let Some(slot) = block.slot {
            view.rows.extend((0..count).map(|row| MemoryRow { slot, row }));
            return;
        }
        let tokens = joined.iter().flat_map(|sentence| {
            (0..sentence.tokens).map(|row| MemoryRow { slot: sentence.slot, row })
        });
        // The end of an empty context stands for the sentence before.
        let nearest = self.config().context_size.saturating_sub(1);
        let nothing = std::iter::repeat(MemoryRow { slot: nearest, row: 0 });
        view.rows.extend(tokens.chain(nothing).take(count));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Source,
    Memory,
}

/// The columns of an example's attentions.
#[derive(Debug, Default)]
struct View {
    /// Memory rows: first those that the cross-attention sees, then those of the context attention.
    rows: Vec<MemoryRow>,
    /// The columns of the cross-attention.
    cross: Vec<Column>,
}

impl View {
    /// Separates source from memory.
    fn sort(&self, cross: &[Vec<f32>], context: Option<&[Vec<f32>]>) -> AttentionWeights {
        let of = |row: &[f32], wanted: Column| -> Vec<f32> {
            let columns = self.cross.iter().zip(row);
            columns.filter(|(column, _)| **column == wanted).map(|(_, weight)| *weight).collect()
        };
        let source = cross.iter().map(|row| of(row, Column::Source)).collect();
        let memory = cross.iter().enumerate().map(|(token, row)| {
            let mut memory = of(row, Column::Memory);
            memory.extend(context.and_then(|rows| rows.get(token)).into_iter().flatten());
            memory
        });
        AttentionWeights { source, memory: memory.collect() }
    }
}
