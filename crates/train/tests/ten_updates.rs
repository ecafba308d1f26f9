//! Ten updates with the recipe match those of PyTorch (see `fixtures/ten_updates/make.py`).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use abridge_model::ops::ProductPrecision;
use abridge_model::tokens::END;
use abridge_model::weights::FairseqCheckpoint;
use abridge_model::{Batch, DeviceKind, Example, Model, Packed, Preset, SourceBatch};
use abridge_train::{Adam, AdamConfig, GradientWorkers, Schedule, Trained, UpdateSettings};
use serde_json::Value;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn json(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(fixture(path)).unwrap()).unwrap()
}

const CASE: &str = "../model/tests/fixtures/parity/sentence";

fn model() -> Model {
    let checkpoint = FairseqCheckpoint::open(&fixture(&format!("{CASE}.safetensors"))).unwrap();
    let config = checkpoint.infer(Preset::Sentence, 2, 0).unwrap();
    checkpoint.load(&config, &DeviceKind::under_test().open().unwrap().autodiff()).unwrap()
}

/// One micro-batch per example, or all in one.
fn batches(together: bool) -> Vec<Batch> {
    let case = json(&format!("{CASE}.json"));
    let tokens = |value: &Value| {
        let words = value.as_array().unwrap().iter().map(|word| word.as_u64().unwrap() as u32);
        words.chain([END]).collect::<Vec<u32>>()
    };
    let pairs: Vec<_> = case["examples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|example| (tokens(&example["src"]), tokens(&example["tgt"])))
        .collect();
    let batch = |pairs: &[(Vec<u32>, Vec<u32>)]| Batch {
        source: SourceBatch {
            sentences: Packed::new(pairs.iter().map(|pair| &pair.0)),
            translations: Packed::default(),
            examples: (0..pairs.len())
                .map(|source| Example { source, context: Vec::new() })
                .collect(),
        },
        targets: Packed::new(pairs.iter().map(|pair| &pair.1)),
    };
    pairs.chunks(if together { pairs.len() } else { 1 }).map(batch).collect()
}

fn check(together: bool, workers: usize) {
    let expected = json("tests/fixtures/ten_updates/sentence.json");
    let number = |name: &str| expected[name].as_f64().unwrap();
    let (peak, warm_up) = (number("peak"), number("warm_up") as u64);
    let schedule = Schedule { peak, warm_up, cool_down: None };
    let decay = AdamConfig { weight_decay: number("weight_decay"), ..AdamConfig::default() };
    let mut adam = Adam::new(decay);
    let batches = batches(together);
    let mut model = model();
    let workers = GradientWorkers::new(Some(workers), &model.device()).unwrap();
    let settings = |update| UpdateSettings {
        smoothing: 0.1,
        dropout: 0.0,
        train: Trained::All,
        seed: 1,
        update,
        precision: ProductPrecision::F32,
        loss_scale: 1.0,
    };
    let close = |what: &str, ours: f64, theirs: &Value| {
        let theirs = theirs.as_f64().unwrap();
        assert!((ours - theirs).abs() <= 1e-5 * theirs.abs().max(1.0), "{what}: {ours} {theirs}");
    };
    for (index, row) in expected["updates"].as_array().unwrap().iter().enumerate() {
        let update = index as u64 + 1;
        let mut sum = workers.accumulate(&model, &batches, settings(update)).unwrap();
        let norm = sum.gradients.clip(number("clip")).unwrap();
        close("loss", sum.loss, &row["loss_sum"]);
        close("norm", norm, &row["grad_norm"]);
        close("rate", schedule.rate(update), &row["rate"]);
        model = adam.step(model, sum.gradients, schedule.rate(update));
    }
    let last = workers.accumulate(&model, &batches, settings(11)).unwrap();
    close("final loss", last.loss, &expected["final_loss_sum"]);
}

#[test]
fn one_batch_by_one_worker() {
    check(true, 1);
}

#[test]
fn three_micro_batches_by_two_workers() {
    check(false, 2);
}
