//! A model with one sentence of context learns what a pronoun stands for one sentence back; a
//! sentence-level model cannot. Under a minute each, side by side on two cores.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn abridge(folder: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("abridge"));
    command.current_dir(folder).stderr(Stdio::inherit()).stdout(Stdio::piped());
    command
}

fn train(folder: &Path, preset: &str) -> Child {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/practice.toml");
    let mut command = abridge(folder);
    command.args(["train", "--data", "data", "--run", preset, "--workers", "1", "--quiet"]);
    command.arg("--recipe").arg(recipe);
    let preset = format!("model.preset={preset}");
    for setting in [
        &preset,
        "model.context_size=1",
        "model.change.dropout=0.0",
        "batches.per_update=1",
        "optimisation.label_smoothing=0.0",
        "optimisation.schedule.peak=4e-3",
        "optimisation.schedule.warm_up=100",
        "stop.max_updates=750",
        "stop.validate_every=750",
        "validation.sentences=0",
    ] {
        command.args(["--set", setting]);
    }
    command.spawn().unwrap()
}

/// Accuracy by the distance of the antecedent.
fn accuracy(folder: &Path, preset: &str) -> BTreeMap<String, f64> {
    let model = format!("{preset}/model");
    let output = abridge(folder)
        .args(["contrast", "--json", "--set", "data/text/contrastive.json", "--model", &model])
        .output()
        .unwrap();
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["contrast"]["report"]["by_distance"].as_array().unwrap();
    let share =
        |row: &serde_json::Value| row["correct"].as_f64().unwrap() / row["items"].as_f64().unwrap();
    rows.iter().map(|row| (row[0].as_str().unwrap().to_owned(), share(&row[1]))).collect()
}

#[test]
fn context_separates_what_a_sentence_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let prepared =
        abridge(folder.path()).args(["prepare", "data", "--practice", "--quiet"]).status();
    assert!(prepared.unwrap().success());
    let running = ["sentence", "grouping"].map(|preset| train(folder.path(), preset));
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    let (sentence, grouping) =
        (accuracy(folder.path(), "sentence"), accuracy(folder.path(), "grouping"));
    println!("sentence {sentence:?}\ngrouping {grouping:?}");
    for model in [&sentence, &grouping] {
        assert!(model["0"] >= 0.9, "in the same sentence no context is needed: {model:?}");
        assert!((model["2"] - 1.0 / 3.0).abs() <= 0.05, "too far for both: {model:?}");
    }
    assert!((sentence["1"] - 1.0 / 3.0).abs() <= 0.05, "chance: {sentence:?}");
    assert!(grouping["1"] >= 0.8, "{grouping:?}");

    // Eight bits are enough to remember it.
    let quantised = abridge(folder.path())
        .args(["quantize", "--model", "grouping/model", "--to", "int8", "int8/model"])
        .status();
    assert!(quantised.unwrap().success());
    let int8 = accuracy(folder.path(), "int8");
    for (distance, share) in &grouping {
        assert!((int8[distance] - share).abs() <= 0.05, "{int8:?} after {grouping:?}");
    }
}
