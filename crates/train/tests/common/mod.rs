//! A small prepared practice corpus and a tiny network, for tests that train.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use abridge_corpus::practice::PracticeConfig;
use abridge_corpus::prepare::{Recipe, Request, Silent, prepare_practice};
use abridge_model::DeviceKind;
use abridge_train::{Ending, Event, Options, RunPaths, TrainRecipe, Training};

/// Made once per test process.
pub fn data() -> &'static Path {
    static DATA: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = DATA.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        prepare(PracticeConfig::default().seed, &folder.path().join("prepared"));
        folder
    });
    Box::leak(folder.path().join("prepared").into_boxed_path())
}

pub fn prepare(seed: u64, output: &Path) {
    prepare_as(seed, false, output);
}

/// With one vocabulary for both languages, or with two.
pub fn prepare_as(seed: u64, joint: bool, output: &Path) {
    let config = PracticeConfig {
        seed,
        train_documents: 60,
        valid_documents: 10,
        test_documents: 10,
        ..PracticeConfig::default()
    };
    let mut recipe = Recipe::practice(config.language);
    // So little text does not yield as many pieces as the whole corpus.
    recipe.tokenizer.vocabulary_size = 500;
    recipe.tokenizer.joint = joint;
    let data = Path::new("");
    let request = Request { recipe: &recipe, data, output, threads: 1, force: false };
    prepare_practice(&config, &request, &mut Silent).unwrap();
}

pub fn recipe(settings: &[&str]) -> TrainRecipe {
    let mut all = vec![
        "model.preset=grouping",
        "model.size=tiny",
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

pub fn one_worker() -> Options {
    Options { workers: Some(1), ..Options::default() }
}

pub fn open(recipe: TrainRecipe, run: &Path) -> abridge_train::Result<Training> {
    open_with(recipe, data(), run, one_worker())
}

pub fn open_with(
    recipe: TrainRecipe,
    data: &Path,
    run: &Path,
    options: Options,
) -> abridge_train::Result<Training> {
    open_on(DeviceKind::under_test(), recipe, data, run, options)
}

pub fn open_on(
    device: DeviceKind,
    recipe: TrainRecipe,
    data: &Path,
    run: &Path,
    options: Options,
) -> abridge_train::Result<Training> {
    let device = device.open().unwrap();
    Training::open(recipe, &RunPaths { data, run }, &device, options)
}

pub fn go_on(training: &mut Training) -> (Ending, Vec<Event>) {
    let mut events = Vec::new();
    let ending =
        training.run(&AtomicBool::new(false), &mut |event| events.push(event.clone())).unwrap();
    (ending, events)
}

pub fn train(settings: &[&str], run: &Path) -> (Ending, Vec<Event>, Training) {
    let mut training = open(recipe(settings), run).unwrap();
    let (ending, events) = go_on(&mut training);
    (ending, events, training)
}
