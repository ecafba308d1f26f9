//! Small translators with random weights, and documents for them.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_model::config::{Activation, Autoregression, FirstWord, NormPosition};
use abridge_model::tokens::PAD;
use abridge_model::{DeviceKind, ModelConfig, ModelSize, Preset, random};
use abridge_translate::{BeamSettings, Rendition, Translation, Translator};

const WORDS: [&str; 24] = [
    "the", "lamp", "river", "old", "is", "was", "broken", "she", "it", "he", "saw", "and", "tall",
    "a", "house", "blue", "they", "when", "left", "again", "bread", "quick", "street", "never",
];

/// Sentences of one to twelve words, each with a full stop.
pub fn document(key: u64, sentences: usize) -> Vec<String> {
    let sentence = |number: u64| {
        let key = random::key(&[key, number]);
        let length = 1 + random::value(key, 0) % 12;
        let word = |i| WORDS[(random::value(key, i + 1) % WORDS.len() as u64) as usize];
        (0..length).map(word).collect::<Vec<_>>().join(" ") + "."
    };
    (0..sentences as u64).map(sentence).collect()
}

/// A tokenizer of the words above.
pub fn tokenizer() -> Tokenizer {
    let lines: Vec<String> = document(1, 200);
    let settings = TrainSettings { vocabulary_size: 60, ..TrainSettings::default() };
    Tokenizer::train(&count_words(&lines, 1), settings, &mut |_| {}).unwrap()
}

/// A small configuration of the preset.
pub fn config(preset: Preset, context_size: usize) -> ModelConfig {
    ModelConfig {
        width: 16,
        heads: 2,
        feed_forward: 24,
        max_positions: 64,
        ..preset.config(ModelSize::Tiny, 60, 60, context_size)
    }
}

/// The name of a kind of network, and a change that makes a configuration one.
type Kind = (&'static str, fn(&mut ModelConfig));

/// Networks as in other toolkits, each with an optional memory on top.
const FOREIGN: [Kind; 3] = [
    ("pre-norm", |config| {
        config.norm = NormPosition::Before;
        config.activation = Activation::Gelu;
    }),
    ("MarianMT", |config| {
        config.shared_embeddings = true;
        config.activation = Activation::Silu;
        config.first_word = FirstWord::Word(PAD);
        config.output_bias = true;
    }),
    ("Marian with SSRU", |config| {
        config.encoder_layers = 3;
        config.decoder_layers = 1;
        config.shared_embeddings = true;
        config.first_word = FirstWord::Zero;
        config.output_bias = true;
        config.autoregression = Autoregression::Ssru;
        config.context_norm = !config.has_context_attention();
    }),
];

/// Translators of all presets, and of other networks with and without a memory, by name.
pub fn translators(context_size: usize) -> Vec<(String, Translator)> {
    let of_paper = Preset::ALL.map(|preset| (preset.to_string(), config(preset, context_size)));
    let foreign = FOREIGN.iter().flat_map(|(kind, change)| {
        [Preset::Sentence, Preset::Grouping, Preset::CachingTokens].map(|preset| {
            let mut config = config(preset, context_size);
            change(&mut config);
            (format!("{preset}, {kind}"), config)
        })
    });
    let all = of_paper.into_iter().chain(foreign);
    all.map(|(name, config)| {
        let translator = with_random_weights(&config, &name);
        (name, translator)
    })
    .collect()
}

/// A translator with random weights.
pub fn translator(preset: Preset, context_size: usize) -> Translator {
    with_random_weights(&config(preset, context_size), &format!("{preset}{context_size}"))
}

fn with_random_weights(config: &ModelConfig, hash: &str) -> Translator {
    let model = config.init(7, &DeviceKind::under_test().open().unwrap()).unwrap();
    Translator::new(model, tokenizer(), tokenizer(), hash).unwrap()
}

/// Random networks never end a sentence, so the longest translation is short.
pub fn settings() -> BeamSettings {
    BeamSettings { beam: 3, max_length: 12, ..BeamSettings::default() }
}

/// The best hypothesis of each translation.
pub fn best(translations: &[Translation]) -> Vec<&Rendition> {
    translations.iter().map(|translation| &translation.hypotheses[0]).collect()
}

/// The same tokens, and scores within 1e-5.
pub fn assert_same(what: &str, a: &[&Rendition], b: &[&Rendition]) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (place, (a, b)) in a.iter().zip(b).enumerate() {
        assert_eq!(a.tokens, b.tokens, "{what}, sentence {place}");
        assert!((a.score - b.score).abs() < 1e-5, "{what}, sentence {place}");
    }
}
