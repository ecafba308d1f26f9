//! Where a translation looked: attention weights over the source and the memory.
//!
//! A path of its own, for alignments, explanations and pictures: the ordinary ones never make these
//! weights visible, and stay as fast as they are.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use crate::attention::{Attention, Looked};
use crate::checks::check_sequences;
use crate::config::Context;
use crate::decoder::{JoinedSentence, LayerSources, Projected, Seen, Sight, Sources};
use crate::dropout::Dropout;
use crate::model::Model;
use crate::ops::{AttentionLayout, Block};
use crate::packed::{Packed, Segments};
use crate::{Error, Result};

/// Where one translation looked while each of its tokens was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Attended {
    /// What the columns of [`AttentionWeights::memory`] are.
    pub rows: Vec<MemoryRow>,
    /// The weights of each decoder layer, from the embedding upwards.
    pub layers: Vec<AttentionWeights>,
}

/// A row of the memory as a translation sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRow {
    /// The slot, in the order of [`ModelConfig::slots`](crate::ModelConfig::slots); the last one
    /// after them is the sentence's own.
    pub slot: usize,
    /// The row within the entry. In models that join texts it is the token of the sentence, and
    /// the break after a sentence stands for its end.
    pub row: usize,
}

/// Weights, averaged over heads. Each attention's weights for a target token add up to one; where
/// one attention sees source and memory, they do so together.
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
    /// Where given translations of encoded sources look (teacher forcing), one per example.
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
        let own = AttentionLayout::causal(words.segments());
        let mut dropout = Dropout::off();
        let mut x = self.decoder.embedding.forward(&words, &mut dropout);
        for (layer, looked) in self.decoder.layers.iter().zip(&sources.layers) {
            let mut sight = Watched {
                own: &own,
                segments: words.segments(),
                seen: &sources.seen,
                looked,
                source: Vec::new(),
                context: Vec::new(),
            };
            x = layer.forward(x, &mut sight, &mut dropout);
            let Watched { source, context, .. } = sight;
            for (example, (attended, view)) in attended.iter_mut().zip(&views).enumerate() {
                let context = context.get(example).map_or(&[][..], Vec::as_slice);
                let skip = self.config().start_words() - 1;
                attended.layers.push(view.sort(&source[example][skip..], context.get(skip..)));
            }
        }
        Ok(attended)
    }

    /// What the columns of the attentions of one example stand for.
    fn view(&self, sources: &Sources, example: usize) -> View {
        let seen = &sources.seen[example];
        let joined = sources.joined.get(example).map_or(&[][..], Vec::as_slice);
        let mut view = View::default();
        for (place, block) in seen.source.iter().enumerate() {
            let context = match (place, self.config().context) {
                (0, Context::SingleEncoder) => self.joined_length(joined),
                (0, _) => 0,
                _ => block.rows.len(),
            };
            self.memory_columns(&mut view, block, joined, context);
            view.cross.resize(view.cross.len() + context, Column::Memory);
            view.cross.resize(view.cross.len() + block.rows.len() - context, Column::Source);
        }
        for block in &seen.context {
            self.memory_columns(&mut view, block, joined, block.rows.len());
        }
        view
    }

    /// The tokens of a joined context; the published implementation has one even of nothing.
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
    /// Tells source from memory.
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

/// For each example and target token a row of weights.
type Watching = Vec<Vec<Vec<f32>>>;

/// Looks at everything as [`Model::score_targets`] does, and notes where it looked.
struct Watched<'a> {
    own: &'a AttentionLayout,
    segments: &'a Segments,
    seen: &'a [Seen],
    looked: &'a LayerSources,
    source: Watching,
    context: Watching,
}

impl Watched<'_> {
    /// Each example for itself: this is for pictures, not for speed.
    fn look(
        &self,
        attention: &Attention,
        x: Tensor<2>,
        projected: &Projected,
        blocks: fn(&Seen) -> &Vec<Block>,
    ) -> (Tensor<2>, Watching) {
        let [_, width] = x.dims();
        let heads = attention.heads();
        let head_width = width / heads;
        let split = |rows: Tensor<2>| {
            let count = rows.dims()[0];
            rows.reshape([count, heads, head_width]).swap_dims(0, 1)
        };
        let query = attention.query.forward(x) * (head_width as f64).powf(-0.5);
        let mut results = Vec::with_capacity(self.seen.len());
        let mut watching = Vec::with_capacity(self.seen.len());
        for (range, seen) in self.segments.ranges().zip(self.seen) {
            let query = query.clone().narrow(0, range.start, range.len());
            let Some(keys) = gather(projected, blocks(seen)) else {
                results.push(query.zeros_like());
                watching.push(vec![Vec::new(); range.len()]);
                continue;
            };
            let (key, value) = (split(keys.0), split(keys.1));
            let weights = softmax(split(query).matmul(key.transpose()), 2);
            let attended = weights.clone().matmul(value);
            results.push(attended.swap_dims(0, 1).reshape([range.len(), width]));
            let columns = weights.dims()[2];
            let mean: Vec<f32> = weights.mean_dim(0).into_data().iter::<f32>().collect();
            watching.push(mean.chunks_exact(columns).map(<[f32]>::to_vec).collect());
        }
        (attention.output.forward(Tensor::cat(results, 0)), watching)
    }
}

/// The keys and values of some blocks, each with what its slot adds.
fn gather(projected: &Projected, blocks: &[Block]) -> Option<(Tensor<2>, Tensor<2>)> {
    let blocks: Vec<&Block> = blocks.iter().filter(|block| !block.rows.is_empty()).collect();
    if blocks.is_empty() {
        return None;
    }
    let part = |rows: &Tensor<2>, shifts: Option<&Tensor<2>>| {
        let blocks = blocks.iter().map(|block| {
            let rows = rows.clone().narrow(0, block.rows.start, block.rows.len());
            match (shifts, block.slot) {
                (Some(shifts), Some(slot)) => rows + shifts.clone().narrow(0, slot, 1),
                _ => rows,
            }
        });
        Tensor::cat(blocks.collect(), 0)
    };
    let shifts = projected.shifts.as_ref();
    Some((
        part(&projected.keys.key, shifts.map(|shifts| &shifts.key)),
        part(&projected.keys.value, shifts.map(|shifts| &shifts.value)),
    ))
}

impl Sight for Watched<'_> {
    fn own(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        let keys = attention.project(x.clone());
        attention.forward(x, Looked { keys: &keys, shifts: None, layout: self.own })
    }

    fn source(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        let (result, weights) = self.look(attention, x, &self.looked.cross, |seen| &seen.source);
        self.source = weights;
        result
    }

    fn context(&mut self, attention: &Attention, x: Tensor<2>) -> Tensor<2> {
        let Some(context) = &self.looked.context else { return attention.output_of_nothing(x) };
        let (result, weights) = self.look(attention, x, context, |seen| &seen.context);
        self.context = weights;
        result
    }
}
