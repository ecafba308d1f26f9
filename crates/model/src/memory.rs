//! The context memory: which entries a sentence sees, in which slot, and how far the gradient goes.
//!
//! A memory of context size C has slots 0 to C - 1 for the sentences before, oldest first, so that
//! the previous sentence always stands in slot C - 1; where a document has not begun, slots are
//! missing. If the current sentence's own entry is kept too, it stands in slot C. Slot `i` is
//! marked by segment embedding `i`. Beyond the paper, the translations of the sentences before may
//! stand in C further slots, in the same order.

use burn::tensor::Tensor;

use crate::ModelConfig;
use crate::config::ShortenerConfig;
use crate::ops::KeyValue;

/// What a network is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Training and validation.
    Training,
    /// Translation and scoring.
    Inference,
}

/// How far the gradient goes from a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Through the shortener into the encoder.
    Encoder,
    /// Into the shortener.
    Shortener,
    /// Not beyond the decoder.
    Decoder,
}

impl ModelConfig {
    /// Which sentences the sentence at `position` of a document sees: for each slot the position
    /// of the sentence in it, if there is one.
    ///
    /// Training, translation, scoring and pictures all ask this function. The published
    /// implementation fills slots newest first when it translates, the mirror image of its
    /// training; `as_published` does the same.
    pub fn slots(&self, position: usize, purpose: Purpose) -> Vec<Option<usize>> {
        let size = self.context_size;
        let mirrored = self.as_published
            && purpose == Purpose::Inference
            && self.context == crate::config::Context::Memory;
        let distance = |slot: usize| if mirrored { slot + 1 } else { size - slot };
        (0..size).map(|slot| position.checked_sub(distance(slot))).collect()
    }

    /// The rows of the entry of a sentence with the given number of tokens.
    pub fn entry_rows(&self, tokens: usize) -> usize {
        match self.shortener {
            None => 0,
            Some(ShortenerConfig::Tokens) => tokens,
            Some(ShortenerConfig::Mean) => 1,
            Some(ShortenerConfig::Pooling { window, .. }) => tokens.div_ceil(window),
            Some(ShortenerConfig::Grouping(config) | ShortenerConfig::Selecting(config)) => {
                config.groups
            }
        }
    }

    /// The slot of the current sentence's own entry.
    pub(crate) fn own_slot(&self) -> usize {
        self.context_size
    }

    /// The slot of the translation of the context sentence in `slot`.
    pub fn target_slot(&self, slot: usize) -> usize {
        self.context_size + usize::from(self.current_in_memory) + slot
    }

    /// How far the gradient goes from `slot`; from a translation as far as from its sentence.
    pub(crate) fn reach(&self, slot: usize) -> Reach {
        let slot = match slot.checked_sub(self.target_slot(0)) {
            Some(sentence) if self.target_context => sentence,
            _ => slot,
        };
        let is_open = |nearest| slot + nearest >= self.context_size;
        if slot == self.own_slot() {
            Reach::Encoder
        } else if !self.gradient_sentences.is_none_or(is_open) {
            Reach::Decoder
        } else if self.context_encoder_gradient {
            Reach::Encoder
        } else {
            Reach::Shortener
        }
    }
}

/// A sentence's entry in the memory, projected once for every layer that will look at it.
#[derive(Clone, Debug)]
pub struct MemoryEntry {
    /// What the shortener made of the sentence, `[rows, width]`, before any segment embedding.
    pub rows: Tensor<2>,
    /// For grouping and selecting the weight of each token for each group, `[tokens, groups]`.
    pub weights: Option<Tensor<2>>,
    /// Keys and values per decoder layer.
    pub(crate) projected: Vec<KeyValue>,
}

/// What later sentences of a document need of a sentence.
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

    /// The same with storage of its own.
    ///
    /// What [`Model::read`](crate::Model::read) returns is cut from the tensors of all sentences
    /// that were read together, and keeps them all alive. What stays for longer than its batch is
    /// copied.
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
    use crate::{Preset, Width};

    #[test]
    fn the_previous_sentence_is_always_in_the_last_slot() {
        let config = Preset::Grouping.config(Width::Tiny, 10, 10, 3);
        for purpose in [Purpose::Training, Purpose::Inference] {
            assert_eq!(config.slots(0, purpose), [None; 3]);
            assert_eq!(config.slots(1, purpose), [None, None, Some(0)]);
            assert_eq!(config.slots(5, purpose), [Some(2), Some(3), Some(4)]);
        }
    }

    #[test]
    fn as_published_mirrors_the_slots_in_inference_only() {
        let mut config = Preset::Grouping.config(Width::Tiny, 10, 10, 3);
        config.as_published = true;
        assert_eq!(config.slots(2, Purpose::Training), [None, Some(0), Some(1)]);
        assert_eq!(config.slots(2, Purpose::Inference), [Some(1), Some(0), None]);
    }

    #[test]
    fn the_gradient_rules_of_the_paper() {
        use Reach::{Decoder, Encoder, Shortener};
        let reaches = |preset: Preset| {
            let config = preset.config(Width::Tiny, 10, 10, 3);
            [0, 1, 2, 3].map(|slot| config.reach(slot))
        };
        assert_eq!(reaches(Preset::Grouping), [Decoder, Encoder, Encoder, Encoder]);
        assert_eq!(reaches(Preset::Selecting), [Decoder, Decoder, Encoder, Encoder]);
        assert_eq!(reaches(Preset::PoolingAvg), [Shortener, Shortener, Shortener, Encoder]);
    }
}
