//! Weights in fewer bits: what comes back, how large it is, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use abridge_base::manifest::Manifest;
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

/// Four sentences, each with those before it.
fn batch(model: &Model) -> SourceBatch {
    let text: Vec<Vec<u32>> = (0..4).map(|i| vec![7 + i, 30 + 5 * i, 100 + i, END]).collect();
    let examples = (0..4).map(|source| Example {
        source,
        context: model.config().layout(Purpose::Inference).positions(source),
    });
    SourceBatch {
        sentences: Packed::new(&text),
        translations: Packed::default(),
        examples: examples.collect(),
    }
}

/// The logits of some steps in single precision and in another one, with the same weights.
fn logits(precision: WeightPrecision) -> (Vec<f32>, Vec<f32>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.safetensors");
    model().save_in(precision, &file).unwrap();
    let model = model().config().load(&file, &Device::flex()).unwrap();
    let sources = model.sources(&batch(&model)).unwrap();
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

/// The distance from some values, as a share of their size.
fn distance(exact: &[f32], ours: &[f32]) -> f32 {
    assert_eq!(exact.len(), ours.len());
    let square = |x: f32| x * x;
    let size: f32 = exact.iter().copied().map(square).sum();
    let off: f32 = exact.iter().zip(ours).map(|(a, b)| square(a - b)).sum();
    (off / size).sqrt()
}

#[test]
fn int8_products_are_near_those_of_unpacked_weights() {
    let (exact, ours) = logits(WeightPrecision::Int8);
    let off = distance(&exact, &ours);
    assert!(off > 0.0, "rows are rounded as well");
    assert!(off < 0.05, "off by {off}");
}

#[test]
fn for_translation_a_network_multiplies_the_integers_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    for preset in [Preset::Sentence, Preset::MultiEncoder, Preset::Grouping] {
        for (kind, change) in common::KINDS {
            let mut config = preset.config(ModelSize::Tiny, 900, 900, 2);
            change(&mut config);
            let network = config.init(4, &Device::flex()).unwrap();
            let path = folder.path().join(format!("{preset}, {kind}"));
            ModelDirectory::write_in(WeightPrecision::Int8, &path, &network, [].into(), |_| {
                Ok::<(), abridge_model::Error>(())
            })
            .unwrap();
            let directory = ModelDirectory::open(&path).unwrap();
            let unpacked = directory.load(&Device::flex()).unwrap();
            let (model, integers) = directory.load_for_translation(&Device::flex()).unwrap();
            let (model, lean) = model.for_translation(WeightPrecision::Int8, &integers);
            let lean = lean.expect("the network is on the CPU");
            let exact = unpacked.lean_decoder_in(WeightPrecision::Int8).unwrap();
            let sources = [&unpacked, &model].map(|model| model.sources(&batch(model)).unwrap());

            // The decoder has the same integers, whether packed from the file or from values.
            let (mut steps, mut others) = (exact.decode(&sources[0]), lean.decode(&sources[0]));
            let difference = distance(steps.step(&[END; 4]), others.step(&[END; 4]));
            assert!(difference < 1e-5, "{preset}, {kind}: off by {difference}");

            // What it attends to was made with rounded rows.
            let (mut steps, mut others) = (exact.decode(&sources[0]), lean.decode(&sources[1]));
            let off = distance(steps.step(&[END; 4]), others.step(&[END; 4]));
            assert!(off > 1e-5, "{preset}, {kind}: rows are rounded as well");
            assert!(off < 0.1, "{preset}, {kind}: off by {off}");

            // Who needs the values still gets them, and they can be written again.
            let file = folder.path().join("again.safetensors");
            model.save(&file).unwrap();
            let (again, exact) = (TensorFile::open(&file).unwrap(), unpacked.parameters());
            let stored = TensorFile::open(&path.join("model.safetensors")).unwrap();
            for parameter in exact {
                let name = &parameter.name;
                assert!(again.read(name).unwrap() == stored.read(name).unwrap(), "{name}");
            }
        }
    }
}

#[test]
fn integers_that_products_cannot_take_are_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    ModelDirectory::write_in(WeightPrecision::Int8, &path, &model(), [].into(), |_| {
        Ok::<(), abridge_model::Error>(())
    })
    .unwrap();
    // -128 in every tensor: one more step than our own quantisation uses.
    let file = path.join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    let foreign: Vec<u8> = bytes.iter().map(|&b| if b == 0x81 { 0x80 } else { b }).collect();
    fs::write(&file, foreign).unwrap();
    let manifest = Manifest::read(&path).unwrap();
    fs::remove_file(path.join(Manifest::FILE)).unwrap();
    let manifest = Manifest::of_directory(&path, manifest.format, manifest.provenance).unwrap();
    manifest.write(&path).unwrap();
    let directory = ModelDirectory::open(&path).unwrap();
    let unpacked = directory.load(&Device::flex()).unwrap();
    let (model, integers) = directory.load_for_translation(&Device::flex()).unwrap();
    let (model, _) = model.for_translation(WeightPrecision::Int8, &integers);
    let states = [&unpacked, &model].map(|model| {
        let encoded = model.encode(&batch(model), &mut abridge_model::Dropout::off());
        encoded.states.into_data().try_into_vec::<f32>().unwrap()
    });
    assert!(distance(&states[0], &states[1]) < 0.1);
}

#[test]
fn products_of_half_precision_equal_those_of_unpacked_weights() {
    let (exact, ours) = logits(WeightPrecision::Half);
    assert!(exact == ours);
}
