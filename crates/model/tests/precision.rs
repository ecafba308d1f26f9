//! Weights in fewer bits: what comes back, how large it is, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use abridge_model::tokens::END;
use abridge_model::weights::{ModelDirectory, TensorFile, WeightPrecision};
use abridge_model::{Example, Model, ModelSize, Packed, Preset, Purpose, SourceBatch};
use burn::tensor::Device;

fn model() -> Model {
    Preset::Grouping.config(ModelSize::Tiny, 900, 900, 2).init(4, &Device::flex()).unwrap()
}

fn directory(path: &Path) -> ModelDirectory {
    ModelDirectory::write(path, &model(), [].into(), |folder| {
        fs::write(folder.join("tokenizer.source.json"), "{}").unwrap();
        Ok::<(), abridge_model::Error>(())
    })
    .unwrap();
    ModelDirectory::open(path).unwrap()
}

#[test]
fn every_weight_is_close_and_writing_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let model = model();
    let exact = folder.path().join("exact.safetensors");
    model.save(&exact).unwrap();
    let exact = TensorFile::open(&exact).unwrap();
    for precision in [WeightPrecision::Half, WeightPrecision::Int8] {
        let file = folder.path().join("model.safetensors");
        model.save_in(precision, &file).unwrap();
        let stored = TensorFile::open(&file).unwrap();
        assert_eq!(stored.precision(), precision);
        assert!(stored.names().eq(exact.names()), "a scale is not a tensor by itself");
        for name in exact.names() {
            let (theirs, ours) = (exact.read(name).unwrap(), stored.read(name).unwrap());
            assert_eq!(stored.shape(name), exact.shape(name));
            let largest = theirs.iter().fold(0.0f32, |a, b| a.max(b.abs()));
            for (theirs, ours) in theirs.iter().zip(&ours) {
                // Half a step at most: 1/2048 of the number, or 1/254 of its channel's largest.
                let bound = match precision {
                    _ if exact.shape(name).unwrap().len() == 1 => 0.0,
                    WeightPrecision::Half => theirs.abs() / 2047.0 + 1e-7,
                    _ => largest / 253.0,
                };
                assert!((theirs - ours).abs() <= bound, "{name}: {ours} for {theirs}");
            }
        }
        let again = folder.path().join("again.safetensors");
        let loaded = model.config().load(&file, &Device::flex()).unwrap();
        loaded.save_in(precision, &again).unwrap();
        let again = TensorFile::open(&again).unwrap();
        for name in exact.names() {
            let (once, twice) = (stored.read(name).unwrap(), again.read(name).unwrap());
            let same = once.iter().zip(&twice).all(|(a, b)| (a - b).abs() <= 2e-7 * a.abs());
            assert!(same, "{name} in {precision}");
        }
    }
}

#[test]
fn a_directory_is_a_quarter_or_half_the_size_and_keeps_the_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let original = directory(&folder.path().join("model"));
    for (precision, most) in [(WeightPrecision::Int8, 0.30), (WeightPrecision::Half, 0.53)] {
        let path = folder.path().join(precision.to_string());
        let quantised = original.quantise(precision, &path, []).unwrap();
        let share = quantised.weights_size() as f64 / original.weights_size() as f64;
        assert!(share < most, "{precision}: {share}");
        assert_eq!(quantised.precision().unwrap(), precision);
        assert_eq!(quantised.config(), original.config());
        assert_ne!(quantised.weights_hash(), original.weights_hash());
        assert_eq!(quantised.provenance()["made of"], original.weights_hash());
        assert!(path.join("tokenizer.source.json").is_file());
        let names = |directory: &ModelDirectory| {
            let model = directory.load(&Device::flex()).unwrap();
            model.parameters().into_iter().map(|p| (p.name, p.shape)).collect::<Vec<_>>()
        };
        assert_eq!(names(&quantised), names(&original));
    }
}

#[test]
fn damage_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.safetensors");
    let model = model();
    model.save_in(WeightPrecision::Int8, &file).unwrap();
    let whole = fs::read(&file).unwrap();
    let refusal = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let error = model.config().load(&file, &Device::flex()).expect_err("must be refused");
        error.to_string()
    };
    for length in [0, 9, whole.len() / 2, whole.len() - 1] {
        assert!(refusal(&whole[..length]).contains("model.safetensors"));
    }
    let renamed = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = whole.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
        let mut bytes = whole.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        bytes
    };
    let text =
        refusal(&renamed("decoder.embedding.weight.scale", "decoder.embedding.weight.scalp"));
    assert!(text.contains("its scale decoder.embedding.weight.scale is missing"), "{text}");
    let text = refusal(&renamed("[900,1]", "[1,900]"));
    assert!(text.contains("has shape [1, 900], but must be [900, 1] or [1, 64]"), "{text}");
}

/// The logits of some steps in single precision and in another one, with the same weights.
fn logits(precision: WeightPrecision) -> (Vec<f32>, Vec<f32>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.safetensors");
    model().save_in(precision, &file).unwrap();
    let model = model().config().load(&file, &Device::flex()).unwrap();
    let text: Vec<Vec<u32>> = (0..4).map(|i| vec![7 + i, 30 + 5 * i, 100 + i, END]).collect();
    let examples = (0..4).map(|source| Example {
        source,
        context: model.config().layout(Purpose::Inference).positions(source),
    });
    let batch = SourceBatch {
        sentences: Packed::new(&text),
        translations: Packed::default(),
        examples: examples.collect(),
    };
    let sources = model.sources(&batch).unwrap();
    let lean = |precision| model.lean_decoder_in(precision).expect("the network is on the CPU");
    let (single, other) = (lean(WeightPrecision::Single), lean(precision));
    let (mut single, mut other) = (single.decode(&sources), other.decode(&sources));
    let mut both = (Vec::new(), Vec::new());
    for word in [END, 50, 60] {
        both.0.extend_from_slice(single.step(&[word; 4]));
        both.1.extend_from_slice(other.step(&[word; 4]));
    }
    both
}

#[test]
fn int8_products_are_near_those_of_unpacked_weights() {
    let (exact, ours) = logits(WeightPrecision::Int8);
    let size = (exact.iter().map(|x| x * x).sum::<f32>() / exact.len() as f32).sqrt();
    let off = exact.iter().zip(&ours).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
    let off = (off / exact.len() as f32).sqrt();
    assert!(off > 0.0, "rows are rounded as well");
    assert!(off < 0.05 * size, "off by {off} of {size}");
}

#[test]
fn products_of_half_precision_equal_those_of_unpacked_weights() {
    let (exact, ours) = logits(WeightPrecision::Half);
    assert!(exact == ours);
}
