//! Runs on the built-in practice corpus: it learns, resumes exactly, and loses nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use abridge_corpus::practice::PracticeConfig;
use abridge_corpus::prepare::{Recipe, Request, Silent, prepare_practice};
use abridge_train::{Ending, Event, RunPaths, TrainRecipe, Training};
use burn::tensor::Device;

/// A small prepared practice corpus, made once per test process.
fn data() -> &'static Path {
    static DATA: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = DATA.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let config = PracticeConfig {
            train_documents: 60,
            valid_documents: 10,
            test_documents: 10,
            ..PracticeConfig::default()
        };
        prepare(&config, &folder.path().join("prepared"));
        folder
    });
    Box::leak(folder.path().join("prepared").into_boxed_path())
}

fn prepare(config: &PracticeConfig, output: &Path) {
    let mut recipe = Recipe::practice(config.language);
    // So little text does not give as many pieces as the whole corpus.
    recipe.tokenizer.vocabulary_size = 500;
    let data = Path::new("");
    let request = Request { recipe: &recipe, data, output, threads: 1, force: false };
    prepare_practice(config, &request, &mut Silent).unwrap();
}

fn recipe(settings: &[&str]) -> TrainRecipe {
    let mut all = vec![
        "model.preset=grouping",
        "model.width=tiny",
        "model.context_size=1",
        "model.change.width=16",
        "model.change.heads=2",
        "batches.max_tokens=300",
        "batches.per_update=2",
        "optimisation.schedule.warm_up=10",
        "optimisation.schedule.peak=2e-3",
        "stop.validate_every=10",
        "stop.patience=100",
    ];
    all.extend(settings);
    TrainRecipe::read(None, &all.iter().map(|&s| s.to_owned()).collect::<Vec<_>>()).unwrap()
}

fn open(recipe: TrainRecipe, run: &Path) -> abridge_train::Result<Training> {
    let paths = RunPaths { data: data(), run };
    Training::open(recipe, &paths, &Device::flex(), Some(1))
}

fn train(settings: &[&str], run: &Path) -> (Ending, Vec<Event>, Training) {
    let mut training = open(recipe(settings), run).unwrap();
    let mut events = Vec::new();
    let ending =
        training.run(&AtomicBool::new(false), &mut |event| events.push(event.clone())).unwrap();
    (ending, events, training)
}

fn weights(training: &Training, folder: &Path) -> Vec<u8> {
    let file = folder.join("compare.safetensors");
    training.model().save(&file).unwrap();
    fs::read(file).unwrap()
}

/// Losses by update, without the times.
fn losses(run: &Path) -> Vec<(u64, String)> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    events
        .filter(|event| event["event"] != "resumed")
        .map(|event| (event["update"].as_u64().unwrap(), event["loss"].to_string()))
        .collect()
}

#[test]
fn the_loss_falls() {
    let folder = tempfile::tempdir().unwrap();
    let (ending, events, training) = train(&["stop.max_updates=30"], folder.path());
    assert_eq!(ending, Ending::Limit);
    let validated: Vec<f64> = events
        .iter()
        .filter_map(|event| match event {
            Event::Validated { loss, .. } => Some(*loss),
            _ => None,
        })
        .collect();
    assert_eq!(validated.len(), 3);
    assert!(validated[2] < validated[0] - 0.5, "{validated:?}");
    assert_eq!(training.state().best_update, 30);
    training.best_model().unwrap();
}

#[test]
fn stopping_and_resuming_changes_no_bit() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, halves) = (folder.path().join("whole"), folder.path().join("halves"));
    let (_, _, once) = train(&["stop.max_updates=40"], &whole);
    let (_, _, first) = train(&["stop.max_updates=20"], &halves);
    drop(first);
    let (_, events, twice) = train(&["stop.max_updates=40"], &halves);
    assert!(matches!(events[0], Event::Resumed { update: 20, .. }), "{:?}", events[0]);
    assert!(weights(&once, folder.path()) == weights(&twice, folder.path()));
    assert_eq!(losses(&whole), losses(&halves));
}

#[test]
fn workers_change_nothing_but_rounding() {
    let folder = tempfile::tempdir().unwrap();
    let mut finals = Vec::new();
    for workers in [1, 2] {
        let run = folder.path().join(workers.to_string());
        let paths = RunPaths { data: data(), run: &run };
        let recipe = recipe(&["stop.max_updates=10"]);
        let mut training = Training::open(recipe, &paths, &Device::flex(), Some(workers)).unwrap();
        training.run(&AtomicBool::new(false), &mut |_| {}).unwrap();
        finals.push(training.state().best_loss.unwrap());
    }
    assert!((finals[0] - finals[1]).abs() < 2e-3, "{finals:?}");
}

#[test]
fn an_interruption_saves_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut training = open(recipe(&[]), folder.path()).unwrap();
    let stop = AtomicBool::new(false);
    let ending = training
        .run(&stop, &mut |event| {
            if matches!(event, Event::Updated { update: 7, .. }) {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        })
        .unwrap();
    assert_eq!((ending, training.state().update), (Ending::Interrupted, 7));
    drop(training);
    assert_eq!(open(recipe(&[]), folder.path()).unwrap().state().update, 7);
}

#[test]
fn two_processes_cannot_share_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let _first = open(recipe(&[]), folder.path()).unwrap();
    let error = open(recipe(&[]), folder.path()).err().unwrap().to_string();
    assert!(error.contains("another process"), "{error}");
}

#[test]
fn another_recipe_is_refused_by_name_but_another_end_is_not() {
    let folder = tempfile::tempdir().unwrap();
    train(&["stop.max_updates=10"], folder.path());
    let error = open(recipe(&["seed=7"]), folder.path()).err().unwrap().to_string();
    assert!(error.contains("seed = 7"), "{error}");
    assert!(open(recipe(&["stop.max_updates=11"]), folder.path()).is_ok());
}

fn newest(run: &Path) -> PathBuf {
    let mut all: Vec<PathBuf> =
        fs::read_dir(run.join("checkpoints")).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all.pop().unwrap()
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_named() {
    let folder = tempfile::tempdir().unwrap();
    train(&["stop.max_updates=20"], folder.path());
    let checkpoint = newest(folder.path());
    for name in ["model.safetensors", "optimizer.safetensors", "state.json", "MANIFEST.json"] {
        let file = checkpoint.join(name);
        let whole = fs::read(&file).unwrap();
        for length in [0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..length]).unwrap();
            let mut training = open(recipe(&["stop.max_updates=10"]), folder.path()).unwrap();
            assert_eq!(training.state().update, 10, "{name} cut to {length} bytes");
            let mut said = String::new();
            training
                .run(&AtomicBool::new(false), &mut |event| {
                    if let Event::Resumed { passed_over, .. } = event {
                        said = passed_over.join("; ");
                    }
                })
                .unwrap();
            assert!(said.contains("update-00000020") && said.contains(name), "{said}");
        }
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(open(recipe(&[]), folder.path()).unwrap().state().update, 20);
}
