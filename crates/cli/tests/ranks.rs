//! Two ranks over MPI on one machine learn what one process learns.
//!
//! ```sh
//! cargo test --workspace --release --features abridge-cli/mpi --test ranks
//! ```
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

use abridge_corpus::practice::PracticeConfig;
use abridge_corpus::prepare::{Recipe, Request, Silent, prepare_practice};

fn prepare(output: &Path) {
    let config = PracticeConfig {
        train_documents: 60,
        valid_documents: 10,
        test_documents: 2,
        ..PracticeConfig::default()
    };
    let mut recipe = Recipe::practice(config.language);
    recipe.tokenizer.vocabulary_size = 500;
    let data = Path::new("");
    let request = Request { recipe: &recipe, data, output, threads: 1, force: false };
    prepare_practice(&config, &request, &mut Silent).unwrap();
}

/// Trains with this many ranks, one worker each; returns the output.
fn train(folder: &Path, run: &str, ranks: usize, updates: usize) -> String {
    let mut command = Command::new("mpirun");
    command
        .current_dir(folder)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(["--oversubscribe", "-n", &ranks.to_string()])
        .arg(assert_cmd::cargo::cargo_bin("abridge"))
        .args(["train", "--data", "data", "--run", run, "--workers", "1"]);
    let updates = format!("stop.max_updates={updates}");
    for setting in [
        "model.size=tiny",
        "model.change.width=32",
        "batches.max_tokens=300",
        // Not a multiple of the ranks: one has more to do than the other.
        "batches.per_update=3",
        "optimisation.schedule.warm_up=10",
        "stop.validate_every=10",
        "validation.sentences=20",
        &updates,
    ] {
        command.args(["--set", setting]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Every loss, norm and score in the metrics.
fn numbers(run: &Path) -> Vec<(String, f64)> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let mut numbers = Vec::new();
    for line in text.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        for name in ["loss", "norm", "tokens"] {
            if let Some(number) = event[name].as_f64() {
                numbers.push((format!("{} of {}", name, event["update"]), number));
            }
        }
    }
    numbers
}

fn compare(one: &Path, other: &Path) {
    let (one, other) = (numbers(one), numbers(other));
    assert_eq!(one.len(), other.len());
    for ((name, one), (_, other)) in one.iter().zip(&other) {
        assert!((one - other).abs() <= 1e-4 * one.abs().max(1.0), "{name}: {one} and {other}");
    }
}

#[test]
fn two_ranks_learn_what_one_learns_and_resume_with_any_number() {
    let folder = tempfile::tempdir().unwrap();
    prepare(&folder.path().join("data"));
    let run = |name: &str| folder.path().join(name);
    train(folder.path(), "one", 1, 20);
    train(folder.path(), "two", 2, 20);
    compare(&run("one"), &run("two"));
    assert!(run("two/model/model.safetensors").is_file());

    // A checkpoint of two ranks can be resumed with one, and with three.
    train(folder.path(), "mixed", 2, 10);
    let said = train(folder.path(), "mixed", 1, 15);
    assert!(said.contains("resumed after update 10"), "{said}");
    assert_eq!(said.matches("resumed").count(), 1, "only rank 0 prints: {said}");
    train(folder.path(), "mixed", 3, 20);
    let metrics = numbers(&run("one"));
    let last = |name: &str| metrics.iter().rfind(|(n, _)| n == name).unwrap().1;
    let mixed = numbers(&run("mixed"));
    let mixed = |name: &str| mixed.iter().rfind(|(n, _)| n == name).unwrap().1;
    assert!((last("loss of 20") - mixed("loss of 20")).abs() < 1e-3);
}

#[test]
fn a_rank_that_fails_ends_all() {
    let folder = tempfile::tempdir().unwrap();
    prepare(&folder.path().join("data"));
    let output = Command::new("mpirun")
        .current_dir(folder.path())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(["--oversubscribe", "-n", "2"])
        .arg(assert_cmd::cargo::cargo_bin("abridge"))
        .args(["train", "--data", "data", "--run", "run", "--contrastive", "nowhere.json"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere.json"));
}
