//! Small translators with random weights, and documents for them.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_model::{ModelConfig, Preset, Width, random};
use abridge_translate::{BeamSettings, Rendition, Translation, Translator};
use burn::tensor::Device;

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
        ..preset.config(Width::Tiny, 60, 60, context_size)
    }
}

/// A translator with random weights.
pub fn translator(preset: Preset, context_size: usize) -> Translator {
    let config = config(preset, context_size);
    let model = config.init(7, &Device::flex()).unwrap();
    let hash = format!("{preset}{context_size}");
    Translator::new(model, tokenizer(), tokenizer(), &hash).unwrap()
}

/// Random networks never end a sentence, so the longest translation is short.
pub fn settings() -> BeamSettings {
    BeamSettings { beam: 3, max_length: 12, ..BeamSettings::default() }
}

/// The best hypotheses, one after the other.
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
