//! Runs on the built-in practice corpus: training learns, resumes exactly, and loses nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use abridge_model::ops::{ProductPrecision, check_precision};
use abridge_model::{DeviceKind, Model};
use abridge_train::{Ending, Error, Event, Options, Training, Validator};

use common::{data, go_on, one_worker, open, open_with, prepare_as, recipe, train};

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
fn shared_embeddings_need_a_joint_vocabulary_and_then_learn() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["model.change.shared_embeddings=true", "stop.max_updates=20"];
    let refused = open(recipe(&settings), &folder.path().join("two")).err().unwrap().to_string();
    assert!(refused.contains("--joint"), "{refused}");

    let (data, run) = (folder.path().join("data"), folder.path().join("one"));
    prepare_as(5, true, &data);
    let mut training = open_with(recipe(&settings), &data, &run, one_worker()).unwrap();
    let (_, events) = go_on(&mut training);
    let losses: Vec<f64> = events
        .iter()
        .filter_map(|event| match event {
            Event::Validated { loss, .. } => Some(*loss),
            _ => None,
        })
        .collect();
    assert!(losses[1] < losses[0], "{losses:?}");
}

#[test]
fn a_resumed_run_is_bit_identical() {
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
fn the_number_of_workers_changes_only_rounding() {
    let folder = tempfile::tempdir().unwrap();
    let mut finals = Vec::new();
    for workers in [1, 2] {
        let run = folder.path().join(workers.to_string());
        let recipe = recipe(&["stop.max_updates=10"]);
        let options = Options { workers: Some(workers), ..Options::default() };
        let mut training = open_with(recipe, data(), &run, options).unwrap();
        go_on(&mut training);
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
fn a_run_fails_after_ten_non_finite_gradients_in_a_row() {
    let folder = tempfile::tempdir().unwrap();
    // A rate at which the weights overflow in the second update.
    let settings = ["optimisation.schedule.peak=1e30", "optimisation.schedule.warm_up=1"];
    let mut training = open(recipe(&settings), folder.path()).unwrap();
    let mut skipped = Vec::new();
    let error = training
        .run(&AtomicBool::new(false), &mut |event| {
            if let Event::Skipped { update } = event {
                skipped.push(*update);
            }
        })
        .unwrap_err();
    assert_eq!(skipped.len(), 10, "{skipped:?}");
    assert!(matches!(error, Error::NotFinite { updates: 10, .. }));
    let said = error.to_string();
    assert!(said.contains("(epoch ") && said.contains("schedule.peak"), "{said}");
    assert_eq!(training.state().skipped, 10);
}

#[test]
fn a_validator_sees_every_validation_and_its_scores_are_kept() {
    struct Counts(f64);
    impl Validator for Counts {
        fn validate(
            &mut self,
            model: &Model,
            update: u64,
        ) -> abridge_train::Result<BTreeMap<String, f64>> {
            assert_eq!(model.config().width, 16);
            self.0 += 1.0;
            Ok(BTreeMap::from([("count".to_owned(), self.0), ("at".to_owned(), update as f64)]))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let options = Options { validator: Some(Box::new(Counts(0.0))), ..one_worker() };
    let recipe = recipe(&["stop.max_updates=20"]);
    let mut training = open_with(recipe, data(), folder.path(), options).unwrap();
    let (_, events) = go_on(&mut training);
    let seen: Vec<(f64, f64)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Validated { scores, .. } => Some((scores["count"], scores["at"])),
            _ => None,
        })
        .collect();
    assert_eq!(seen, [(1.0, 10.0), (2.0, 20.0)]);
    let metrics = fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
    assert!(metrics.contains("\"count\":2.0"), "{metrics}");
}

#[test]
fn context_augmentations_train_and_resume_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["context.drop=0.2", "context.random_size=true", "context.coword_dropout=0.2"];
    let settings = |limit: &'static str| {
        let mut settings = options.to_vec();
        settings.extend([limit, "model.context_size=3"]);
        settings
    };
    let (plain, whole) = (folder.path().join("plain"), folder.path().join("whole"));
    let halves = folder.path().join("halves");
    train(&["stop.max_updates=20", "model.context_size=3"], &plain);
    let (_, _, once) = train(&settings("stop.max_updates=20"), &whole);
    drop(train(&settings("stop.max_updates=10"), &halves));
    let (_, _, twice) = train(&settings("stop.max_updates=20"), &halves);
    assert!(weights(&once, folder.path()) == weights(&twice, folder.path()));
    assert_ne!(losses(&plain), losses(&whole), "the options change what is seen");
}

#[test]
fn half_precision_trains_with_a_scale_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["optimisation.precision=f16", "stop.max_updates=10"];
    let device = DeviceKind::under_test().open().unwrap();
    if check_precision(ProductPrecision::F16, &device).is_err() {
        let refused = open(recipe(&settings), folder.path()).err().unwrap().to_string();
        assert!(refused.contains("f16") && refused.contains("optimisation.precision"), "{refused}");
        return;
    }
    let (_, events, training) = train(&settings, folder.path());
    assert!(events.iter().any(|event| matches!(event, Event::Updated { .. })), "{events:?}");
    let found = training.state().loss_scale.unwrap();
    assert!(found.scale >= 1.0 && training.state().skipped_in_a_row == 0, "{found:?}");
    // A run that is resumed goes on with the scale that it had found.
    drop(training);
    let resumed = open(recipe(&settings), folder.path()).unwrap();
    assert_eq!(resumed.state().loss_scale, Some(found));
}
