//! A tiny model directory with random weights, for tests of commands that need one.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_model::weights::ModelDirectory;
use abridge_model::{ModelConfig, ModelSize, Preset};
use assert_cmd::Command;
use burn::tensor::Device;

/// Sentences that the tokenizers are made from.
pub const SENTENCES: [&str; 6] = [
    "The old lamp is broken.",
    "She saw it near the river!",
    "It was never repaired, and they left.",
    "Who took the bread to the tall house?",
    "A quick blue bird was on the street.",
    "He left again when it was dark.",
];

/// The command, run in a folder.
pub fn abridge(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("abridge").unwrap();
    command.current_dir(folder);
    command
}

/// Writes `folder/model`: a random network of the preset that looks two sentences back.
pub fn model(folder: &Path, preset: Preset) {
    let lines: Vec<String> = SENTENCES.iter().map(ToString::to_string).collect();
    let settings = TrainSettings { vocabulary_size: 70, ..TrainSettings::default() };
    let tokenizer = Tokenizer::train(&count_words(&lines, 1), settings, &mut |_| {}).unwrap();
    let config = ModelConfig {
        width: 16,
        heads: 2,
        feed_forward: 24,
        max_positions: 64,
        ..preset.config(ModelSize::Tiny, 70, 70, 2)
    };
    let model = config.init(3, &Device::flex()).unwrap();
    let provenance = [("languages".to_owned(), "en-de".to_owned())].into();
    ModelDirectory::write(&folder.join("model"), &model, provenance, |folder| {
        for side in ["source", "target"] {
            tokenizer.save(folder, side).unwrap();
        }
        Ok::<(), abridge_model::Error>(())
    })
    .unwrap();
}
