//! The context memory: what is kept of a sentence.
//!
//! Which entries a sentence sees, in which slot, and how far the gradient goes is decided by
//! [`MemoryLayout`].

use abridge_base::{MemoryLayout, Purpose};
use burn::tensor::Tensor;

use crate::ModelConfig;
use crate::config::Context;
use crate::ops::KeyValue;

impl ModelConfig {
    /// Which sentence occupies which slot. Only the published implementation distinguishes training
    /// from inference.
    pub fn layout(&self, purpose: Purpose) -> MemoryLayout {
        let as_published = self.as_published && self.context == Context::Memory;
        MemoryLayout {
            context_size: self.context_size,
            holds_own: self.current_in_memory,
            holds_translations: self.target_context,
            is_mirrored: as_published && purpose == Purpose::Inference,
            fills_empty_slots: as_published,
            encoder_gradient: self.context_encoder_gradient,
            gradient_sentences: self.gradient_sentences,
        }
    }

    /// The rows of the entry of a sentence with the given number of tokens.
    pub fn entry_rows(&self, tokens: usize) -> usize {
        self.shortener.map_or(0, |shortener| shortener.rows(tokens))
    }
}

/// A sentence's entry in the memory, projected once for every layer that will attend to it.
#[derive(Clone, Debug)]
pub struct MemoryEntry {
    /// The shortened sentence, `[rows, width]`, before any segment embedding.
    pub rows: Tensor<2>,
    /// For grouping and selecting the weight of each token for each group, `[tokens, groups]`.
    pub weights: Option<Tensor<2>>,
    /// Keys and values per decoder layer.
    pub(crate) projected: Vec<KeyValue>,
}

/// What later sentences of a document need from a sentence.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// Its tokens, the end included: what single- and multi-encoder models join.
    pub tokens: Vec<u32>,
    /// Its memory entry, in models with a memory.
    pub entry: Option<MemoryEntry>,
    /// Its translation, in models whose memory holds translations, once there is one.
    pub translation: Option<Translated>,
}

/// A translation that the memory holds.
#[derive(Clone, Debug)]
pub struct Translated {
    /// Its tokens, the end included.
    pub tokens: Vec<u32>,
    /// Its memory entry.
    pub entry: MemoryEntry,
}

impl Remembered {
    /// The number of values that are kept, projections included.
    pub fn values(&self) -> usize {
        let translation = self.translation.as_ref().map(|translation| &translation.entry);
        self.entry.iter().chain(translation).map(MemoryEntry::values).sum()
    }

    /// The memory that it takes: tokens, entry and projections.
    pub fn size_in_bytes(&self) -> usize {
        let translation = self.translation.as_ref().map_or(0, |t| t.tokens.len());
        (self.tokens.len() + translation) * size_of::<u32>() + self.values() * size_of::<f32>()
    }

    /// A copy with its own storage.
    ///
    /// What [`Model::read`](crate::Model::read) returns are views of the tensors of all sentences
    /// that were read together, which keep them all alive. Copy what outlives its batch.
    #[must_use]
    pub fn owned(&self) -> Self {
        let translation = self.translation.as_ref().map(|translation| Translated {
            tokens: translation.tokens.clone(),
            entry: translation.entry.owned(),
        });
        let entry = self.entry.as_ref().map(MemoryEntry::owned);
        Self { tokens: self.tokens.clone(), entry, translation }
    }
}

impl MemoryEntry {
    fn values(&self) -> usize {
        let count = |tensor: &Tensor<2>| tensor.dims().iter().product::<usize>();
        let projected = self.projected.iter();
        count(&self.rows)
            + self.weights.as_ref().map_or(0, count)
            + projected.map(|p| count(&p.key) + count(&p.value)).sum::<usize>()
    }

    fn owned(&self) -> Self {
        let copy = |tensor: &Tensor<2>| Tensor::from_data(tensor.to_data(), &tensor.device());
        let layer =
            |layer: &KeyValue| KeyValue { key: copy(&layer.key), value: copy(&layer.value) };
        Self {
            rows: copy(&self.rows),
            weights: self.weights.as_ref().map(copy),
            projected: self.projected.iter().map(layer).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelSize, Preset};

    #[test]
    fn as_published_mirrors_the_memory_in_inference_only() {
        for preset in [Preset::Grouping, Preset::SingleEncoder, Preset::MultiEncoder] {
            let mut config = preset.config(ModelSize::Tiny, 10, 10, 3);
            for purpose in [Purpose::Training, Purpose::Inference] {
                assert_eq!(config.layout(purpose).positions(2), [None, Some(0), Some(1)]);
            }
            config.as_published = true;
            assert_eq!(config.layout(Purpose::Training).positions(2), [None, Some(0), Some(1)]);
            // Models that join texts read them in order.
            let has_memory = config.context == Context::Memory;
            assert_eq!(config.layout(Purpose::Inference).is_mirrored, has_memory, "{preset}");
        }
    }

    #[test]
    fn the_gradient_rules_of_the_paper() {
        use abridge_base::Reach::{Decoder, Encoder, Shortener};
        let reaches = |preset: Preset| {
            let layout = preset.config(ModelSize::Tiny, 10, 10, 3).layout(Purpose::Training);
            [0, 1, 2, 3].map(|slot| layout.reach(slot))
        };
        assert_eq!(reaches(Preset::Grouping), [Decoder, Encoder, Encoder, Encoder]);
        assert_eq!(reaches(Preset::Selecting), [Decoder, Decoder, Encoder, Encoder]);
        assert_eq!(reaches(Preset::PoolingAvg), [Shortener, Shortener, Shortener, Encoder]);
    }
}
