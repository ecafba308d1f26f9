//! Starting from other weights, and averaging.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use abridge_model::weights::{ModelDirectory, TensorFile, WeightPrecision};
use abridge_train::{Choice, Event, Options, average};

use burn::tensor::Device;
use common::{data, go_on, one_worker, open_with, prepare, recipe, train};

fn sentence_model(folder: &Path) -> PathBuf {
    sentence_model_of(&[], folder)
}

/// Trained with further settings.
fn sentence_model_of(settings: &[&str], folder: &Path) -> PathBuf {
    let run = folder.join("sentence");
    let settings = [&["stop.max_updates=20", "model.preset=sentence"], settings].concat();
    let (_, _, training) = train(&settings, &run);
    let model = run.join("model");
    training.write_model(&model).unwrap();
    model
}

fn from(model: &Path) -> Options {
    Options { from: Some(model.to_path_buf()), ..one_worker() }
}

#[test]
fn every_preset_can_start_from_a_sentence_level_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = sentence_model(folder.path());
    let old = TensorFile::open(&model.join("model.safetensors")).unwrap();
    for preset in ["grouping", "selecting", "caching-tokens", "multi-encoder", "single-encoder"] {
        let run = folder.path().join(preset);
        let setting = format!("model.preset={preset}");
        // The first update has rate 0: the weights are the initial ones.
        let recipe = recipe(&[&setting, "stop.max_updates=1"]);
        let mut training = open_with(recipe, data(), &run, from(&model)).unwrap();
        let (_, events) = go_on(&mut training);
        let Event::Started { copied, new, unused, .. } = &events[0] else {
            panic!("{preset}: {:?}", events[0])
        };
        assert_eq!((*copied, unused.len()), (old.names().count(), 0), "{preset}");
        let has_new = preset != "single-encoder";
        assert_eq!(!new.is_empty(), has_new, "{preset}: {new:?}");
        assert!(new.iter().all(|name| old.shape(name).is_none()), "{new:?}");
        let started = run.join("started.safetensors");
        training.model().save(&started).unwrap();
        let started = TensorFile::open(&started).unwrap();
        for name in old.names() {
            assert_eq!(started.read(name).unwrap(), old.read(name).unwrap(), "{preset}: {name}");
        }
        for name in new {
            assert!(started.read(name).unwrap().iter().all(|value| value.is_finite()));
        }
        // Resuming does not start again.
        drop(training);
        let again = common::recipe(&[&setting, "stop.max_updates=2"]);
        let mut training = open_with(again, data(), &run, from(&model)).unwrap();
        let (_, events) = go_on(&mut training);
        assert!(matches!(events[0], Event::Resumed { update: 1, .. }), "{:?}", events[0]);
    }
}

#[test]
fn only_the_memory_is_trained_on_a_frozen_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = sentence_model(folder.path());
    let old = TensorFile::open(&model.join("model.safetensors")).unwrap();
    let run = folder.path().join("run");
    let settings = ["optimisation.train=context", "stop.max_updates=20"];
    // The network is that of the model, regardless of the recipe's size.
    let recipe_of = |settings: &[&str]| {
        let mut recipe = recipe(settings);
        recipe.model.size = "small".into();
        recipe.model.change.clear();
        recipe
    };
    let open = |settings: &[&str], options| open_with(recipe_of(settings), data(), &run, options);
    let mut training = open(&settings, from(&model)).unwrap();
    let (_, events) = go_on(&mut training);
    let losses: Vec<f64> = events
        .iter()
        .filter_map(|event| match event {
            Event::Validated { loss, .. } => Some(*loss),
            _ => None,
        })
        .collect();
    assert!(losses[1] < losses[0], "{losses:?}");
    let now = folder.path().join("now.safetensors");
    training.model().save(&now).unwrap();
    let now = TensorFile::open(&now).unwrap();
    for name in old.names() {
        assert_eq!(now.read(name).unwrap(), old.read(name).unwrap(), "{name} stays");
    }
    let output = "decoder.layers.0.context.attention.output.weight";
    assert!(now.read(output).unwrap().iter().any(|&value| value != 0.0));
    let moments = run.join("checkpoints/update-00000020/optimizer.safetensors");
    let moments = TensorFile::open(&moments).unwrap();
    assert!(moments.names().all(|name| old.shape(name.split_once('.').unwrap().1).is_none()));
    let checkpoint = run.join("checkpoints/update-00000020/model.safetensors");
    let checkpoint = TensorFile::open(&checkpoint).unwrap();
    assert!(checkpoint.names().all(|name| old.shape(name).is_none()), "only the memory is saved");

    // Only the memory is written; it finds the model below it.
    let out = run.join("model");
    training.write_model(&out).unwrap();
    let stored = TensorFile::open(&out.join("model.safetensors")).unwrap();
    assert!(stored.names().all(|name| old.shape(name).is_none()));
    let whole = |path: &Path| {
        let directory = ModelDirectory::open(path).unwrap();
        let file = folder.path().join("whole.safetensors");
        directory.load(&Device::flex()).unwrap().save(&file).unwrap();
        fs::read(&file).unwrap()
    };
    let before = whole(&out);
    training.best_model().unwrap().save(&folder.path().join("best.safetensors")).unwrap();
    assert!(before == fs::read(folder.path().join("best.safetensors")).unwrap());
    // Both can be moved together, or the memory alone to the folder of the model.
    let beside = model.with_file_name("memory");
    fs::rename(&out, &beside).unwrap();
    assert!(whole(&beside) == before);
    // Quantising writes both as one model.
    let int8 = folder.path().join("int8");
    ModelDirectory::open(&beside).unwrap().quantise(WeightPrecision::Int8, &int8, []).unwrap();
    assert!(ModelDirectory::open(&int8).unwrap().below().is_none());
    let away = folder.path().join("far/away/memory");
    fs::create_dir_all(away.parent().unwrap()).unwrap();
    fs::rename(&beside, &away).unwrap();
    let error = ModelDirectory::open(&away).unwrap_err().to_string();
    assert!(error.contains("put that model beside it"), "{error}");

    // An average also holds only the memory.
    let mean = folder.path().join("mean");
    average(&run, Choice::Last(2), &mean).unwrap();
    let stored = TensorFile::open(&mean.join("model.safetensors")).unwrap();
    assert!(stored.names().all(|name| old.shape(name).is_none()));
    ModelDirectory::open(&mean).unwrap().load(&Device::flex()).unwrap();

    // It resumes without --from, but not if the model below is missing.
    drop(training);
    let more = ["optimisation.train=context", "stop.max_updates=21"];
    let (_, events) = go_on(&mut open(&more, one_worker()).unwrap());
    assert!(matches!(events[0], Event::Resumed { update: 20, .. }), "{:?}", events[0]);
    let moved = folder.path().join("moved");
    fs::rename(&model, &moved).unwrap();
    let more = ["optimisation.train=context", "stop.max_updates=22"];
    let error = open(&more, one_worker()).err().unwrap().to_string();
    assert!(error.contains("sentence/model") && error.contains("--from"), "{error}");
    let (_, events) = go_on(&mut open(&more, from(&moved)).unwrap());
    assert!(matches!(events[0], Event::Resumed { update: 21, .. }), "{:?}", events[0]);
    fs::rename(&moved, &model).unwrap();

    let nothing_below = folder.path().join("nothing below");
    let error = open_with(recipe(&settings), data(), &nothing_below, one_worker()).err().unwrap();
    assert!(error.to_string().contains("name it with --from"), "{error}");
    let none = [&settings[..], &["model.preset=sentence"]].concat();
    let other = folder.path().join("other");
    let error = open_with(recipe(&none), data(), &other, from(&model)).err().unwrap();
    assert!(error.to_string().contains("has no context"), "{error}");
}

#[test]
fn a_memory_learns_on_architectures_of_other_toolkits() {
    for (kind, settings) in [
        ("pre-norm", &["model.change.norm=before", "model.change.activation=gelu"][..]),
        ("MarianMT", &["model.change.activation=silu", "model.change.output_bias=true"]),
        (
            "Marian with SSRU",
            &[
                "model.change.autoregression=ssru",
                "model.change.first_word=zero",
                "model.change.output_bias=true",
                "model.change.encoder_layers=3",
                "model.change.decoder_layers=1",
            ],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let model = sentence_model_of(settings, folder.path());
        for (preset, train) in
            [("grouping", "context"), ("caching-tokens", "context"), ("caching-tokens", "all")]
        {
            let run = folder.path().join(format!("{preset} {train}"));
            let preset = format!("model.preset={preset}");
            let train = format!("optimisation.train={train}");
            let settings = [&*preset, &*train, "stop.max_updates=20"];
            let mut training = open_with(recipe(&settings), data(), &run, from(&model)).unwrap();
            let (_, events) = go_on(&mut training);
            let losses: Vec<f64> = events
                .iter()
                .filter_map(|event| match event {
                    Event::Validated { loss, .. } => Some(*loss),
                    _ => None,
                })
                .collect();
            assert!(losses.last() < losses.first(), "{kind}, {preset}, {train}: {losses:?}");
        }
    }
}

#[test]
fn a_frozen_network_has_no_dropout() {
    let folder = tempfile::tempdir().unwrap();
    let model = sentence_model(folder.path());
    // The first update has rate 0, and the memory contributes nothing yet: the loss is that of the
    // model.
    let first_loss = |dropout: &str, train: &str| {
        let (dropout, train) =
            (format!("model.change.dropout={dropout}"), format!("optimisation.train={train}"));
        let recipe = recipe(&[&dropout, &train, "stop.max_updates=1"]);
        let run = folder.path().join(format!("{dropout} {train}"));
        let (_, events) = go_on(&mut open_with(recipe, data(), &run, from(&model)).unwrap());
        events.iter().find_map(|event| match event {
            Event::Updated { loss, .. } => Some(*loss),
            _ => None,
        })
    };
    let without = first_loss("0.0", "context");
    assert_eq!(first_loss("0.4", "context"), without);
    assert!(first_loss("0.4", "all") > without);
}

#[test]
fn the_base_network_can_have_a_lower_rate() {
    let folder = tempfile::tempdir().unwrap();
    let model = sentence_model(folder.path());
    let old = TensorFile::open(&model.join("model.safetensors")).unwrap();
    let moved = |factor: &str| {
        let setting = format!("optimisation.base_rate={factor}");
        let run = folder.path().join(factor);
        let recipe = recipe(&[&setting, "stop.max_updates=5", "model.change.dropout=0.0"]);
        let mut training = open_with(recipe, data(), &run, from(&model)).unwrap();
        go_on(&mut training);
        let file = run.join("now.safetensors");
        training.model().save(&file).unwrap();
        let now = TensorFile::open(&file).unwrap();
        let name = "encoder.layers.0.feed_forward.hidden.weight";
        let pairs = now.read(name).unwrap().into_iter().zip(old.read(name).unwrap());
        pairs.map(|(now, old)| f64::from((now - old).abs())).sum::<f64>()
    };
    let (none, slow, whole) = (moved("0.0"), moved("0.1"), moved("1.0"));
    assert!(none == 0.0 && slow > 0.0 && slow < 0.3 * whole, "{none} {slow} {whole}");
}

#[test]
fn training_starts_at_the_loss_of_the_other_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = sentence_model(folder.path());
    let first_loss = |options: Options, name: &str| {
        let recipe = recipe(&["stop.max_updates=1", "model.change.dropout=0.0"]);
        let run = folder.path().join(name);
        let (_, events) = go_on(&mut open_with(recipe, data(), &run, options).unwrap());
        events.iter().find_map(|event| match event {
            Event::Updated { loss, .. } => Some(*loss),
            _ => None,
        })
    };
    let (fresh, started) = (first_loss(one_worker(), "fresh"), first_loss(from(&model), "started"));
    assert!(started.unwrap() < fresh.unwrap() - 0.3, "{started:?} {fresh:?}");
}

#[test]
fn rejects_models_that_do_not_fit_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let model = sentence_model(folder.path());
    let refused = |settings: &[&str], data: &Path| {
        let run = folder.path().join("refused");
        open_with(recipe(settings), data, &run, from(&model)).err().unwrap().to_string()
    };
    let error = refused(&["model.change.width=32"], data());
    assert!(error.contains("its width is 16, but the recipe has 32"), "{error}");
    let error = refused(&["model.change.heads=4"], data());
    assert!(error.contains("its heads is 2"), "{error}");
    let other = folder.path().join("other");
    prepare(7, &other);
    let error = refused(&[], &other);
    assert!(error.contains("vocabulary differs from that of the data"), "{error}");
    fs::remove_file(model.join("model.safetensors")).unwrap();
    assert!(refused(&[], data()).contains("model.safetensors"));
}

#[test]
fn the_average_is_the_mean_of_the_chosen_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    train(&["stop.max_updates=40", "checkpoints.keep=4", "checkpoints.keep_best=4"], &run);
    let out = run.join("average");
    assert_eq!(average(&run, Choice::Last(3), &out).unwrap(), [20, 30, 40]);
    let directory = ModelDirectory::open(&out).unwrap();
    assert_eq!(directory.provenance()["average of updates"], "20, 30, 40");
    let mean = TensorFile::open(&out.join("model.safetensors")).unwrap();
    let parts: Vec<TensorFile> = [20, 30, 40]
        .map(|update| run.join(format!("checkpoints/update-{update:08}/model.safetensors")))
        .iter()
        .map(|file| TensorFile::open(file).unwrap())
        .collect();
    for name in mean.names() {
        let parts: Vec<Vec<f32>> = parts.iter().map(|part| part.read(name).unwrap()).collect();
        for (i, &mean) in mean.read(name).unwrap().iter().enumerate() {
            let expected = parts.iter().map(|part| f64::from(part[i])).sum::<f64>() / 3.0;
            assert!((f64::from(mean) - expected).abs() < 1e-6, "{name}");
        }
    }
    // The loss falls all the way, so the best two are the last two.
    assert_eq!(average(&run, Choice::Best(2), &out).unwrap(), [30, 40]);
    let error = average(&run, Choice::Last(9), &out).unwrap_err().to_string();
    assert!(error.contains("9 checkpoints were requested, but 4 exist"), "{error}");
    assert!(error.contains("checkpoints.keep"), "{error}");
}
