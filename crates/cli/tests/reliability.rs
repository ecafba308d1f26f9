//! `abridge train` as a process: killed, out of space, interrupted, started twice.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use abridge_corpus::practice::PracticeConfig;
use abridge_corpus::prepare::{Recipe, Request, Silent, prepare_practice};
use abridge_model::random;

/// A small practice corpus in `data` of a new folder.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = PracticeConfig {
        train_documents: 60,
        valid_documents: 2,
        test_documents: 2,
        ..PracticeConfig::default()
    };
    let mut recipe = Recipe::practice(config.language);
    recipe.tokenizer.vocabulary_size = 500;
    let output = folder.path().join("data");
    let request =
        Request { recipe: &recipe, data: Path::new(""), output: &output, threads: 1, force: false };
    prepare_practice(&config, &request, &mut Silent).unwrap();
    folder
}

/// Arguments of a run of a tiny network with one worker.
fn arguments(run: &str, settings: &[&str]) -> Vec<String> {
    let mut all = vec!["train", "--data", "data", "--run", run, "--workers", "1"];
    let small = [
        "model.size=tiny",
        "model.change.width=16",
        "model.change.heads=2",
        "batches.max_tokens=200",
        "batches.per_update=2",
        "optimisation.schedule.warm_up=10",
        "validation.sentences=0",
    ];
    for setting in small.iter().chain(settings) {
        all.extend(["--set", setting]);
    }
    all.into_iter().map(str::to_owned).collect()
}

fn train(folder: &Path, run: &str, settings: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("abridge"));
    command.current_dir(folder).args(arguments(run, settings));
    command
}

fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

/// Waits until the metrics of a run have this many lines.
fn wait_for(lines: usize, run: &Path, child: &mut Child) {
    let metrics = run.join("metrics.jsonl");
    while fs::read_to_string(&metrics).map_or(0, |text| text.lines().count()) < lines {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The metrics without the times.
fn metrics(run: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let events = text.lines().map(|line| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        event.as_object_mut().unwrap().remove("seconds");
        event
    });
    events.collect()
}

#[test]
fn a_killed_run_resumes_and_ends_with_the_same_result() {
    let folder = prepared();
    let path = |name: &str| folder.path().join(name);
    let settings = ["stop.validate_every=10", "stop.max_updates=40"];
    succeed(train(folder.path(), "whole", &settings));

    let mut child = train(folder.path(), "killed", &settings)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // 20 updates, two validations, and a few updates that will be repeated.
    wait_for(25, &path("killed"), &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let output = succeed(train(folder.path(), "killed", &settings));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("resumed after update "), "{said}");

    assert_eq!(metrics(&path("whole")), metrics(&path("killed")));
    for file in ["model.safetensors", "optimizer.safetensors", "state.json"] {
        let read = |run: &str| fs::read(path(run).join("checkpoints/update-00000040").join(file));
        assert!(read("whole").unwrap() == read("killed").unwrap(), "{file}");
    }
    let model = |run: &str| fs::read(path(run).join("model/model.safetensors")).unwrap();
    assert!(model("whole") == model("killed"));
}

#[test]
fn fifty_kills_while_saving_always_leave_a_checkpoint() {
    let folder = prepared();
    // Every update saves a checkpoint, so nearly every kill hits a save.
    let settings = ["stop.validate_every=1", "stop.patience=1000000"];
    let mut reached = 0;
    let mut cycle = Duration::ZERO;
    for kill in 0..50 {
        let mut child = train(folder.path(), "run", &settings)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().starts_with("training"));
        if kill == 0 {
            // Measures how long an update with its save takes; the kills come at random moments.
            let start = Instant::now();
            let validations = lines.by_ref().filter(|line| line.as_ref().unwrap().contains("loss"));
            assert_eq!(validations.take(5).count(), 5);
            cycle = start.elapsed() / 5;
        } else {
            let said = lines.next().unwrap().unwrap();
            let update = said.strip_prefix("resumed after update ");
            let update: u64 = update.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
            assert!(update >= reached, "{update} after {reached}");
            reached = update;
        }
        std::thread::sleep(cycle.mul_f64(4.0 * random::uniform(7, kill)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(reached > 20, "only {reached} updates in fifty runs");
}

#[test]
fn a_full_disk_costs_checkpoints_but_not_the_run() {
    let folder = prepared();
    let settings = ["stop.validate_every=5", "stop.max_updates=15"];
    succeed(train(folder.path(), "run", &["stop.validate_every=5", "stop.max_updates=5"]));
    // Files of at most 64 KiB: a checkpoint is larger.
    let mut command = Command::new("bash");
    command
        .current_dir(folder.path())
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(assert_cmd::cargo::cargo_bin("abridge"))
        .args(arguments("run", &settings));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for update in [10, 15] {
        assert!(said.contains(&format!("warning: no checkpoint at update {update}")), "{said}");
    }
    assert!(said.contains("model.safetensors"), "the file is named: {said}");
    assert!(said.contains("update 15: validation loss"), "it continued: {said}");
    let names = fs::read_dir(folder.path().join("run/checkpoints")).unwrap();
    let mut names: Vec<_> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["best", "last", "update-00000005"], "nothing half-written stays");

    let output = succeed(train(folder.path(), "run", &settings));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("resumed after update 5"), "{said}");
}

#[test]
fn a_last_checkpoint_that_does_not_fit_costs_no_model() {
    let folder = prepared();
    let first = ["stop.validate_every=5", "stop.max_updates=5"];
    succeed(train(folder.path(), "run", &first));
    let checkpoint = folder.path().join("run/checkpoints/update-00000005");
    let weights = fs::metadata(checkpoint.join("model.safetensors")).unwrap().len();
    let moments = fs::metadata(checkpoint.join("optimizer.safetensors")).unwrap().len();
    assert!(weights < moments);
    // Room for the model, but not for the state of the optimiser.
    let room = u64::midpoint(weights, moments) / 1024;
    let mut command = Command::new("bash");
    command
        .current_dir(folder.path())
        .args(["-c", &format!("trap '' XFSZ; ulimit -f {room}; exec \"$0\" \"$@\"")])
        .arg(assert_cmd::cargo::cargo_bin("abridge"))
        .args(arguments("run", &["stop.validate_every=5", "stop.max_updates=10"]));
    let output = succeed(command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("warning: no checkpoint at update 10"), "{said}");
    let manifest = fs::read_to_string(folder.path().join("run/model/MANIFEST.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["provenance"]["updates"], "10", "the loss has fallen until the end");
}

#[test]
fn a_second_process_is_refused() {
    let folder = prepared();
    let mut first = train(folder.path(), "run", &[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(1, &folder.path().join("run"), &mut first);
    let output = train(folder.path(), "run", &[]).output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another process"));
}

#[test]
fn a_second_signal_exits_at_once() {
    let folder = prepared();
    // One update takes far longer than the test.
    let large = ["batches.per_update=5000", "model.size=base", "model.change.width=512"];
    let mut child = train(folder.path(), "run", &large)
        .args(["--set", "model.change.heads=8"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("training"));
    send("-TERM", &child);
    std::thread::sleep(Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none(), "the first signal waits for the update");
    send("-TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(lines.all(|line| !line.unwrap().contains("stopped and saved")));
}
