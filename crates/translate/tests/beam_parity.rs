//! Beam search equals the published one, token by token and score by score.
//!
//! Runs on the cases of `abridge-model`'s parity test, or on those of `ABRIDGE_PARITY_DIR`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use abridge_model::config::{PoolingConfig, ShortenerConfig};
use abridge_model::tokens::END;
use abridge_model::weights::FairseqCheckpoint;
use abridge_model::{DeviceKind, Example, Model, Packed, Preset, Purpose, SourceBatch};
use abridge_translate::{BeamSettings, Hypothesis, beam_search};
use serde_json::Value;

struct Case {
    name: String,
    json: Value,
    model: Model,
}

fn cases() -> Vec<Case> {
    let folder = std::env::var_os("ABRIDGE_PARITY_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures/parity"),
        PathBuf::from,
    );
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files.iter().map(|file| case(file)).collect()
}

fn case(file: &Path) -> Case {
    let json: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let size = |name: &str| json["config"][name].as_u64().unwrap() as usize;
    let preset: Preset = match json["model"].as_str().unwrap() {
        "short_avg" => Preset::PoolingAvg,
        "short_max" => Preset::PoolingMax,
        "short_linear" => Preset::PoolingLinear,
        name => name.replace('_', "-").parse().unwrap(),
    };
    let checkpoint = FairseqCheckpoint::open(&file.with_extension("safetensors")).unwrap();
    let mut config = checkpoint.infer(preset, size("heads"), size("context_size")).unwrap();
    if let Some(ShortenerConfig::Pooling(PoolingConfig { window, .. })) = &mut config.shortener {
        *window = size("k_pool");
    }
    let model = checkpoint.load(&config, &DeviceKind::under_test().open().unwrap()).unwrap();
    Case { name: file.file_stem().unwrap().to_string_lossy().into_owned(), json, model }
}

impl Case {
    /// Every example as its own batch, as for the published numbers.
    fn sources(&self) -> Vec<SourceBatch> {
        let tokens = |value: &Value| -> Vec<u32> {
            let words = value.as_array().unwrap().iter();
            words.map(|word| word.as_u64().unwrap() as u32).chain([END]).collect()
        };
        let examples = self.json["examples"].as_array().unwrap().iter();
        examples
            .map(|example| {
                let history = example["history"].as_array().unwrap();
                let mut sentences: Vec<Vec<u32>> = history.iter().map(tokens).collect();
                sentences.push(tokens(&example["src"]));
                let source = history.len();
                let context = self.model.config().layout(Purpose::Training).positions(source);
                let examples = vec![Example { source, context }];
                SourceBatch {
                    sentences: Packed::new(sentences),
                    translations: Packed::default(),
                    examples,
                }
            })
            .collect()
    }

    fn search(&self, batch: &SourceBatch, settings: &BeamSettings) -> Vec<Vec<Hypothesis>> {
        beam_search(&self.model, &self.model.sources(batch).unwrap(), settings)
    }
}

fn published() -> BeamSettings {
    BeamSettings { max_length: 20, n_best: 5, early_exit: false, ..BeamSettings::default() }
}

#[test]
fn the_same_hypotheses_with_the_same_scores() {
    for case in cases() {
        let expected = case.json["beam5_maxlen20"].as_array().unwrap();
        for (index, batch) in case.sources().iter().enumerate() {
            let ours = case.search(batch, &published()).remove(0);
            let theirs = expected[index].as_array().unwrap();
            assert_eq!(ours.len(), theirs.len(), "{}", case.name);
            for (ours, theirs) in ours.iter().zip(theirs) {
                let tokens: Vec<u64> = ours.tokens.iter().map(|&token| token.into()).collect();
                let expected: Vec<u64> = theirs["tokens"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|token| token.as_u64().unwrap())
                    .collect();
                assert_eq!(tokens, expected, "{} {index}", case.name);
                let off = (ours.score - theirs["score"].as_f64().unwrap()).abs();
                assert!(off < 1e-5, "{}: score off by {off:e}", case.name);
                for (a, b) in
                    ours.token_scores.iter().zip(theirs["positional_scores"].as_array().unwrap())
                {
                    assert!((f64::from(*a) - b.as_f64().unwrap()).abs() < 2e-5, "{}", case.name);
                }
            }
        }
    }
}

/// All examples in one batch, as sentences are translated in practice.
fn together(batches: &[SourceBatch]) -> SourceBatch {
    let mut sentences: Vec<Vec<u32>> = Vec::new();
    let mut examples = Vec::new();
    for batch in batches {
        let first = sentences.len();
        sentences.extend(batch.sentences.iter().map(<[u32]>::to_vec));
        examples.extend(batch.examples.iter().map(|example| Example {
            source: first + example.source,
            context: example.context.iter().map(|slot| slot.map(|slot| first + slot)).collect(),
        }));
    }
    SourceBatch { sentences: Packed::new(sentences), translations: Packed::default(), examples }
}

#[test]
fn a_batch_changes_nothing() {
    for case in cases() {
        if matches!(case.model.config().shortener, Some(ShortenerConfig::Mean)) {
            // In the published code, the mean of this model depends on the batch's padding.
            continue;
        }
        let batches = case.sources();
        let at_once = case.search(&together(&batches), &published());
        for (batch, at_once) in batches.iter().zip(at_once) {
            let alone = case.search(batch, &published()).remove(0);
            let tokens = |hypotheses: &[Hypothesis]| -> Vec<Vec<u32>> {
                hypotheses.iter().map(|hypothesis| hypothesis.tokens.clone()).collect()
            };
            assert_eq!(tokens(&alone), tokens(&at_once), "{}", case.name);
        }
    }
}

#[test]
fn an_early_exit_finds_the_same_best() {
    for case in cases() {
        for batch in case.sources() {
            for n_best in [1, 3] {
                let patient = case.search(&batch, &BeamSettings { n_best, ..published() });
                let early = BeamSettings { n_best, early_exit: true, ..published() };
                let early = case.search(&batch, &early);
                let tokens = |found: &[Vec<Hypothesis>]| -> Vec<Vec<u32>> {
                    found[0].iter().map(|hypothesis| hypothesis.tokens.clone()).collect()
                };
                assert_eq!(tokens(&patient), tokens(&early), "{}", case.name);
            }
        }
    }
}

#[test]
fn limits_hold() {
    let case = &cases()[0];
    let batch = &case.sources()[0];
    let free = case.search(batch, &published()).remove(0).remove(0);
    let first = free.tokens[0];
    let forbidden = BeamSettings { forbidden: vec![first], ..published() };
    let found = case.search(batch, &forbidden).remove(0);
    assert!(found.iter().all(|hypothesis| !hypothesis.tokens.contains(&first)));
    let bounded = BeamSettings { min_length: 3, max_length: 4, ..published() };
    for hypothesis in case.search(batch, &bounded).remove(0) {
        assert!((4..=5).contains(&hypothesis.tokens.len()), "{:?}", hypothesis.tokens);
        assert_eq!(hypothesis.tokens.last(), Some(&END));
    }
    let greedy = BeamSettings { beam: 1, n_best: 1, ..published() };
    assert_eq!(case.search(batch, &greedy).remove(0).len(), 1);
}
