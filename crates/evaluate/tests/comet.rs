//! Equality with COMET: against scores that the real `unbabel-comet` computed with tiny random models
//! (`fixtures/comet`, made by its `make.py`).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use abridge_evaluate::Documents;
use abridge_evaluate::comet::{Comet, CometScores, CometTexts, Side};
use burn::tensor::Device;
use serde::Deserialize;

const TOLERANCE: f64 = 1e-4;

#[derive(Deserialize)]
struct Expected {
    samples: Vec<Sample>,
    documents: Vec<String>,
    context: usize,
    tokens: Vec<Vec<u32>>,
    longest: usize,
    variants: BTreeMap<String, Variant>,
}

#[derive(Deserialize)]
struct Sample {
    source: String,
    hypothesis: String,
    reference: String,
}

#[derive(Deserialize)]
struct Variant {
    scores: Vec<f64>,
    context_scores: Vec<f64>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/comet")
}

fn expected() -> Expected {
    serde_json::from_slice(&fs::read(fixtures().join("expected.json")).unwrap()).unwrap()
}

/// A model directory as a user has it, of one of the two variants.
fn directory(variant: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        let target = folder.path().join(to);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(fixtures().join(from), target).unwrap();
    };
    copy("config.json", "config.json");
    copy("sentencepiece.bpe.model", "sentencepiece.bpe.model");
    if variant == "sparsemax" {
        copy("hparams.yaml", "hparams.yaml");
        copy("model.ckpt", "checkpoints/model.ckpt");
    } else {
        copy("layer-norm/hparams.yaml", "hparams.yaml");
        copy("layer-norm/model.safetensors", "model.safetensors");
    }
    folder
}

fn open(variant: &str) -> Comet {
    Comet::open(directory(variant).path(), &Device::flex()).unwrap()
}

fn score(comet: &Comet, expected: &Expected, context: Option<usize>) -> CometScores {
    let side = |text: fn(&Sample) -> &String| -> Vec<String> {
        expected.samples.iter().map(|sample| text(sample).clone()).collect()
    };
    let sources = side(|sample| &sample.source);
    let references = side(|sample| &sample.reference);
    let hypotheses = side(|sample| &sample.hypothesis);
    let documents = Documents::from_ids(&expected.documents).unwrap();
    let texts = CometTexts {
        sources: &sources,
        references: &references,
        systems: &[&hypotheses],
        context: context.map(|size| (&documents, size)),
    };
    comet.score(&texts, &mut |_| {})
}

fn assert_equal(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (line, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found - expected).abs();
        assert!(difference < TOLERANCE, "{what}, line {}: {found}, not {expected}", line + 1);
    }
}

#[test]
fn ids_are_those_of_xlm_roberta() {
    let (comet, expected) = (open("sparsemax"), expected());
    for (sample, ids) in expected.samples.iter().zip(&expected.tokens) {
        let found = comet.ids(&sample.source);
        if ids.len() <= expected.longest {
            assert_eq!(&found, ids, "{}", sample.source);
        } else {
            assert_eq!(found[..expected.longest - 1], ids[..expected.longest - 1]);
            assert_eq!(found.len(), expected.longest);
        }
    }
}

#[test]
fn scores_are_those_of_comet_at_any_batch_size() {
    let expected = expected();
    for (name, variant) in &expected.variants {
        for batch_tokens in [1, 50, 100_000] {
            let comet = open(name).with_batch_tokens(batch_tokens);
            let what = format!("{name}, {batch_tokens} tokens per batch");
            let found = score(&comet, &expected, None);
            assert_equal(&found.systems[0], &variant.scores, &what);
            let found = score(&comet, &expected, Some(expected.context));
            assert_equal(&found.systems[0], &variant.context_scores, &format!("{what}, context"));
        }
    }
}

#[test]
fn context_matters_and_none_is_the_same_as_plain() {
    let (comet, expected) = (open("sparsemax"), expected());
    let plain = score(&comet, &expected, None);
    assert_eq!(score(&comet, &expected, Some(0)), plain);
    assert_ne!(score(&comet, &expected, Some(1)).systems, plain.systems);
}

#[test]
fn truncated_texts_are_reported() {
    let (comet, expected) = (open("sparsemax"), expected());
    let cut = score(&comet, &expected, None).cut;
    let long = expected.tokens.iter().position(|ids| ids.len() > expected.longest).unwrap();
    let first = cut.iter().find(|cut| cut.line == long + 1).unwrap();
    assert_eq!((first.side, first.read), (Side::Source, expected.longest));
    assert_eq!(first.tokens, expected.tokens[long].len());
    let with_context = score(&comet, &expected, Some(2)).cut;
    assert!(with_context.len() > cut.len());
    assert!(with_context.iter().any(|cut| cut.side == Side::System(0)), "{with_context:?}");
}

#[test]
fn settings_come_from_the_checkpoint_without_hparams_yaml() {
    let folder = directory("sparsemax");
    fs::remove_file(folder.path().join("hparams.yaml")).unwrap();
    let comet = Comet::open(folder.path(), &Device::flex()).unwrap();
    let expected = expected();
    let found = score(&comet, &expected, None);
    assert_equal(&found.systems[0], &expected.variants["sparsemax"].scores, "checkpoint");
}

#[test]
fn broken_directories_are_refused_with_the_remedy() {
    let refused = |variant: &str, change: &dyn Fn(&Path)| {
        let folder = directory(variant);
        change(folder.path());
        Comet::open(folder.path(), &Device::flex()).unwrap_err().to_string()
    };
    let remove =
        |name: &'static str| move |folder: &Path| fs::remove_file(folder.join(name)).unwrap();
    let error = refused("layer-norm", &remove("hparams.yaml"));
    assert!(error.contains("hparams.yaml: missing; copy it"), "{error}");
    let error = refused("sparsemax", &remove("sentencepiece.bpe.model"));
    assert!(error.contains("no sentencepiece.bpe.model here"), "{error}");
    let error = refused("sparsemax", &remove("config.json"));
    assert!(error.contains("copy the config.json"), "{error}");
    let error = refused("sparsemax", &remove("checkpoints/model.ckpt"));
    assert!(error.contains("wmt22-comet-da"), "{error}");
    // Weights of another model.
    let error = refused("layer-norm", &|folder| {
        let model = fixtures().join("../../../../model/tests/fixtures/parity/sentence.safetensors");
        fs::copy(model, folder.join("model.safetensors")).unwrap();
    });
    assert!(error.contains("give a COMET model"), "{error}");
}

#[test]
fn damaged_weights_never_panic() {
    let device = Device::flex();
    for (variant, file) in
        [("sparsemax", "checkpoints/model.ckpt"), ("layer-norm", "model.safetensors")]
    {
        let folder = directory(variant);
        let path = folder.path().join(file);
        let whole = fs::read(&path).unwrap();
        for keep in [0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..keep]).unwrap();
            let error = Comet::open(folder.path(), &device).unwrap_err().to_string();
            assert!(error.contains(file), "{keep}: {error}");
        }
        for flip in 0..150u64 {
            let mut bytes = whole.clone();
            let place = abridge_model::random::value(flip, 0) as usize % bytes.len();
            bytes[place] ^= 1 << (flip % 8);
            fs::write(&path, bytes).unwrap();
            // A flipped bit in a weight goes unnoticed; anything else is an error that names the
            // file.
            if let Err(error) = Comet::open(folder.path(), &device) {
                assert!(error.to_string().contains("model."), "{error}");
            }
        }
    }
}
