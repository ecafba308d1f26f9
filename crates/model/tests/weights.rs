//! Files of weights: what is written comes back, and damaged or foreign files are refused by name.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use abridge_model::weights::{FairseqCheckpoint, ModelDirectory, ParameterKind};
use abridge_model::{Error, ModelConfig, Preset, random};
use burn::module::Module;
use burn::tensor::Device;
use common::{config, model, values};

fn saved(folder: &Path, preset: Preset) -> (ModelConfig, PathBuf) {
    let file = folder.join("model.safetensors");
    let config = config(preset, 1);
    config.init(3, &Device::flex()).unwrap().save(&file).unwrap();
    (config, file)
}

fn refusal(config: &ModelConfig, file: &Path) -> String {
    let error = config.load(file, &Device::flex()).expect_err("must be refused");
    assert!(matches!(error, Error::Weights { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(&file.display().to_string()), "names the file: {text}");
    text
}

#[test]
fn weights_come_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let all = Preset::ALL.iter().flat_map(|&preset| common::KINDS.map(|kind| (preset, kind)));
    for (preset, (kind, change)) in all {
        let (mut config, file) = saved(folder.path(), preset);
        change(&mut config);
        config.init(3, &Device::flex()).unwrap().save(&file).unwrap();
        let bytes = fs::read(&file).unwrap();
        let loaded = config.load(&file, &Device::flex()).unwrap();
        let again = folder.path().join("again.safetensors");
        loaded.save(&again).unwrap();
        assert!(bytes == fs::read(&again).unwrap(), "{preset}, {kind}");
    }
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 2, "nothing half-written is left behind: {files:?}");
}

#[test]
fn names_are_paths_in_the_network() {
    let model = model(Preset::Grouping, 1, &Device::flex());
    let names: Vec<String> = model.parameters().into_iter().map(|p| p.name).collect();
    for name in [
        "source_embedding.weight",
        "encoder.layers.0.self_attention.query.weight",
        "shortener.reduction.categoriser.scores.hidden.weight",
        "shortener.refinement.positions.weight",
        "decoder.segments.weight",
        "decoder.layers.1.context.attention.key.bias",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
}

#[test]
fn shared_embeddings_are_stored_once() {
    let mut config = config(Preset::Grouping, 1);
    let count = |config: &ModelConfig| config.init(3, &Device::flex()).unwrap().num_params();
    let apart = count(&config);
    config.shared_embeddings = true;
    assert_eq!(count(&config) + config.source_vocabulary * config.width, apart);
    let model = config.init(3, &Device::flex()).unwrap();
    let names: Vec<String> = model.parameters().into_iter().map(|p| p.name).collect();
    assert!(names.iter().all(|name| name != "source_embedding.weight"), "{names:?}");
}

#[test]
fn parameters_have_the_right_kind() {
    let tables = [
        "source_embedding.weight",
        "decoder.embedding.weight",
        "decoder.segments.weight",
        "shortener.refinement.positions.weight",
    ];
    for preset in Preset::ALL {
        let context_size = usize::from(preset != Preset::Sentence);
        for parameter in model(preset, context_size, &Device::flex()).parameters() {
            let expected = match parameter.shape.len() {
                2 if tables.contains(&parameter.name.as_str()) => ParameterKind::Table,
                2 => ParameterKind::Matrix,
                _ => ParameterKind::Vector,
            };
            assert_eq!(parameter.kind, expected, "{preset}: {}", parameter.name);
        }
    }
}

#[test]
fn a_file_of_another_model_is_refused_by_tensor_and_shape() {
    let folder = tempfile::tempdir().unwrap();
    let (mut config, file) = saved(folder.path(), Preset::Grouping);
    config.feed_forward = 48;
    let text = refusal(&config, &file);
    assert!(text.contains("encoder.layers.0.feed_forward.hidden.weight"), "{text}");
    assert!(text.contains("[16, 24]") && text.contains("[16, 48]"), "{text}");

    let text = refusal(&common::config(Preset::Sentence, 0), &file);
    assert!(text.contains("is not part of this configuration"), "{text}");

    let (_, sentence) = saved(folder.path(), Preset::Sentence);
    let text = refusal(&common::config(Preset::Grouping, 1), &sentence);
    assert!(text.contains("is missing") && text.contains("more"), "{text}");
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (config, file) = saved(folder.path(), Preset::PoolingLinear);
    let whole = fs::read(&file).unwrap();
    for length in [0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        let text = refusal(&config, &file);
        assert!(
            text.contains("truncated") || text.contains("header") || text.contains("cut off"),
            "{length} bytes: {text}"
        );
    }
    fs::remove_file(&file).unwrap();
    assert!(refusal(&config, &file).contains("cannot read"));
}

#[test]
fn a_flipped_bit_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let (config, file) = saved(folder.path(), Preset::Selecting);
    let whole = fs::read(&file).unwrap();
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for attempt in 0..400 {
        let mut bytes = whole.clone();
        // Flips in the weights give other weights; those in the header are damage.
        let place = (random::value(attempt, 0) % header as u64) as usize;
        bytes[place] ^= 1 << (random::value(attempt, 1) % 8);
        fs::write(&file, &bytes).unwrap();
        let _ = config.load(&file, &Device::flex());
    }
}

#[test]
fn a_model_directory_comes_back_and_names_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let model = model(Preset::CachingSentence, 1, &Device::flex());
    let write = || {
        let provenance = [("made by".to_owned(), "a test".to_owned())].into();
        ModelDirectory::write::<Error>(&path, &model, provenance, |folder| {
            fs::write(folder.join("tokenizer.source.json"), "{}").unwrap();
            Ok(())
        })
    };
    write().unwrap();
    // A second time it replaces itself.
    write().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let directory = ModelDirectory::open(&path).unwrap();
    assert_eq!(directory.config(), model.config());
    assert_eq!(directory.provenance()["made by"], "a test");
    directory.load(&Device::flex()).unwrap();

    for name in ["model.safetensors", "config.toml", "tokenizer.source.json", "MANIFEST.json"] {
        let file = path.join(name);
        let whole = fs::read(&file).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for damaged in [&whole[..whole.len() / 2], &flipped, &[]] {
            fs::write(&file, damaged).unwrap();
            let error = ModelDirectory::open(&path).unwrap_err().to_string();
            assert!(error.contains(name), "{name}: {error}");
        }
        fs::write(&file, &whole).unwrap();
    }
    ModelDirectory::open(&path).unwrap();

    let other = folder.path().join("notes");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.txt"), "years").unwrap();
    let error = ModelDirectory::write::<Error>(&other, &model, [].into(), |_| Ok(()));
    assert!(error.unwrap_err().to_string().contains("did not write"));
    fs::write(path.join("thesis.txt"), "years").unwrap();
    assert!(write().unwrap_err().to_string().contains("holds thesis.txt"));
    assert_eq!(fs::read(path.join("thesis.txt")).unwrap(), b"years");
}

fn checkpoint() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checkpoint/grouping.pt")
}

#[test]
fn a_pytorch_checkpoint_gives_the_same_weights_as_safetensors() {
    let device = Device::flex();
    let pickled = FairseqCheckpoint::open(&checkpoint()).unwrap();
    let config = pickled.infer(Preset::Grouping, 2, 2).unwrap();
    let tensors = checkpoint().with_file_name("../parity/grouping.safetensors");
    let plain = FairseqCheckpoint::open(&tensors).unwrap();
    assert_eq!(config, plain.infer(Preset::Grouping, 2, 2).unwrap());
    let (a, b) = (pickled.load(&config, &device).unwrap(), plain.load(&config, &device).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let written = [a, b].map(|model| {
        let file = folder.path().join("model.safetensors");
        model.save(&file).unwrap();
        fs::read(&file).unwrap()
    });
    assert!(written[0] == written[1]);
}

#[test]
fn a_checkpoint_of_another_model_is_refused() {
    let pickled = FairseqCheckpoint::open(&checkpoint()).unwrap();
    let error = pickled.infer(Preset::PoolingLinear, 2, 2).unwrap_err().to_string();
    assert!(error.contains("encoder.linear_pooler.weight"), "{error}");
    let config = pickled.infer(Preset::CachingTokens, 2, 2).unwrap();
    let error = pickled.load(&config, &Device::flex()).unwrap_err().to_string();
    assert!(error.contains("encoder.group_positions.weight is not part"), "{error}");
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(checkpoint()).unwrap();
    let file = folder.path().join("damaged.pt");
    for length in [0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        let error = FairseqCheckpoint::open(&file).unwrap_err().to_string();
        assert!(error.contains("damaged.pt"), "{error}");
    }
    for attempt in 0..300 {
        let mut bytes = whole.clone();
        let place = (random::value(attempt, 7) % whole.len() as u64) as usize;
        bytes[place] ^= 1 << (random::value(attempt, 8) % 8);
        fs::write(&file, &bytes).unwrap();
        let loaded = FairseqCheckpoint::open(&file).and_then(|checkpoint| {
            let config = checkpoint.infer(Preset::Grouping, 2, 2)?;
            checkpoint.load(&config, &Device::flex())
        });
        if let Ok(model) = loaded {
            assert!(values(&model.source_embedding().weight.val()).len() == 30 * 16);
        }
    }
}
