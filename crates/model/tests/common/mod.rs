//! Documents and networks for the tests of this crate.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use abridge_model::config::{Activation, Autoregression, FirstWord, NormPosition, Positions};
use abridge_model::tokens::{END, PAD, SPECIAL_TOKENS};
use abridge_model::{
    Batch, DeviceKind, Example, Model, ModelConfig, ModelSize, Packed, Preset, Purpose,
    SourceBatch, random,
};
use burn::tensor::{Device, Tensor};

/// Words of the test vocabulary.
pub const VOCABULARY: usize = 40;

/// The device that these tests run on.
pub fn device() -> Device {
    DeviceKind::under_test().open().unwrap()
}

/// A small network of the preset, with random weights that leave nothing at zero.
pub fn model(preset: Preset, context_size: usize, device: &Device) -> Model {
    config(preset, context_size).init(7, device).unwrap()
}

/// The configuration of [`model`].
pub fn config(preset: Preset, context_size: usize) -> ModelConfig {
    ModelConfig {
        width: 16,
        heads: 2,
        feed_forward: 24,
        max_positions: 64,
        ..preset.config(ModelSize::Tiny, VOCABULARY, VOCABULARY, context_size)
    }
}

/// A kind of network: its name, and the change that turns a preset into it.
pub type Kind = (&'static str, fn(&mut ModelConfig));

/// The paper's network, and those of other toolkits.
pub const KINDS: [Kind; 5] = [
    ("as in the paper", |_| ()),
    ("shared embeddings", |config| config.shared_embeddings = true),
    ("pre-norm", |config| {
        config.norm = NormPosition::Before;
        config.activation = Activation::Gelu;
        config.norm_epsilon = 1e-6;
    }),
    // Like OPUS-MT.
    ("MarianMT", |config| {
        config.shared_embeddings = true;
        config.activation = Activation::Silu;
        config.positions = Positions { first: 0, endpoint: false, ..Positions::default() };
        config.first_word = FirstWord::Word(PAD);
        config.output_bias = true;
    }),
    // Like Firefox: a deep encoder, a shallow decoder with a recurrent unit; and a memory on top.
    ("Marian with SSRU", |config| {
        config.encoder_layers = 3;
        config.decoder_layers = 1;
        config.decoder_feed_forward = Some(40);
        config.shared_embeddings = true;
        config.norm_epsilon = 1e-9;
        config.positions = Positions { first: 0, ..Positions::default() };
        config.first_word = FirstWord::Zero;
        config.output_bias = true;
        config.autoregression = Autoregression::Ssru;
        config.context_norm = !config.has_context_attention();
    }),
];

/// Every preset at every context size, of every kind.
pub fn for_all(device: &Device, check: impl Fn(&str, &Model)) {
    for (kind, change) in KINDS {
        for preset in Preset::ALL {
            for context_size in context_sizes(preset) {
                let mut config = config(preset, context_size);
                change(&mut config);
                check(&format!("{preset}, {kind}"), &config.init(7, device).unwrap());
            }
        }
    }
}

/// A sentence of the given length, its end included.
pub fn sentence(key: u64, length: usize) -> Vec<u32> {
    let words = (VOCABULARY - SPECIAL_TOKENS) as u64;
    let word = |i| SPECIAL_TOKENS as u32 + (random::value(key, i) % words) as u32;
    let mut tokens: Vec<u32> = (0..length as u64 - 1).map(word).collect();
    tokens.push(END);
    tokens
}

/// The sentences of a document, and their translations.
pub type Document = (Vec<Vec<u32>>, Vec<Vec<u32>>);

/// A document with sentences of 1 to 12 tokens, and their translations.
pub fn document(key: u64, sentences: usize) -> Document {
    let side = |side: u64| {
        let keys = (0..sentences as u64).map(move |i| random::key(&[key, side, i]));
        keys.map(|key| sentence(key, 1 + (random::value(key, 99) % 12) as usize)).collect()
    };
    (side(0), side(1))
}

/// All sentences of some documents, each with the context that the configuration gives it.
pub fn batch(documents: &[Document], config: &ModelConfig) -> Batch {
    let mut sentences = Vec::new();
    let mut examples = Vec::new();
    let mut targets = Vec::new();
    for (sources, translations) in documents {
        let first = sentences.len();
        sentences.extend(sources.iter().cloned());
        targets.extend(translations.iter().cloned());
        examples.extend((0..sources.len()).map(|position| {
            Example {
                source: first + position,
                context: config
                    .layout(Purpose::Training)
                    .positions(position)
                    .into_iter()
                    .map(|slot| slot.map(|slot| first + slot))
                    .collect(),
            }
        }));
    }
    let source = SourceBatch {
        sentences: Packed::new(sentences),
        translations: Packed::default(),
        examples,
    };
    Batch { source, targets: Packed::new(targets) }
}

/// The context sizes that a preset is tested with.
pub fn context_sizes(preset: Preset) -> Vec<usize> {
    match preset {
        Preset::Sentence => vec![0],
        Preset::CachingTokens | Preset::SingleEncoder | Preset::MultiEncoder => vec![1, 3],
        _ => vec![0, 1, 3],
    }
}

/// All values of a tensor.
pub fn values<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.to_data().iter::<f64>().collect()
}

/// The largest difference.
pub fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "number of values");
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
