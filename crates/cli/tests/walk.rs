//! The whole walk as a user goes it: demo, train, translate, contrast.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

fn abridge(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("abridge").unwrap();
    command.current_dir(folder);
    command
}

#[test]
fn the_demo_runs_from_nothing_and_leaves_models_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let demo = || {
        let mut command = abridge(folder.path());
        command.args(["demo", "--updates", "4"]);
        command
    };
    demo()
        .assert()
        .success()
        .stdout(contains("with context").and(contains("distance 1")).and(contains("9 vectors")));

    let report = fs::read_to_string(folder.path().join("demo/report.html")).unwrap();
    for part in ["without context", "accuracy in per cent", "bits per token", "data-weights"] {
        assert!(report.contains(part), "the report lacks {part}");
    }
    for address in ["http://", "https://", "src=", "@import"] {
        assert!(!report.contains(address), "the report would fetch {address}");
    }

    // What is there is found, not made again.
    let model = folder.path().join("demo/models/grouping/model.safetensors");
    let made = fs::metadata(&model).unwrap().modified().unwrap();
    demo().assert().success();
    assert_eq!(fs::metadata(&model).unwrap().modified().unwrap(), made);

    let document = "Anna saw a dog.\nIt was big.\n\nBen saw a cat.\n";
    fs::write(folder.path().join("text.en"), document).unwrap();
    let translate = || {
        let mut command = abridge(folder.path());
        command.args(["translate", "--model", "demo/models/grouping", "--max-length", "10"]);
        command
    };
    let output = translate().arg("text.en").output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 4, "lines out are lines in: {text:?}");
    assert_eq!(text.lines().nth(2), Some(""), "documents stay apart");

    let subtitles = "1\n00:00:01,000 --> 00:00:02,000\nAnna saw a dog.\n\n\
                     2\n00:00:02,500 --> 00:00:03,000\nIt was big.\n";
    fs::write(folder.path().join("film.srt"), subtitles).unwrap();
    translate().args(["film.srt", "--output", "film.de.srt"]).assert().success();
    let translated = fs::read_to_string(folder.path().join("film.de.srt")).unwrap();
    assert!(translated.contains("00:00:02,500 --> 00:00:03,000"), "{translated}");

    abridge(folder.path())
        .args(["contrast", "--model", "demo/models/sentence", "--json"])
        .args(["--set", "demo/data/text/contrastive.json", "--scores", "scores.txt"])
        .assert()
        .success()
        .stdout(contains("\"signature\"").and(contains("\"by_distance\"")));
    let scores = fs::read_to_string(folder.path().join("scores.txt")).unwrap();
    assert_eq!(scores.lines().count(), 720 * 3);
}

#[test]
fn training_stops_on_a_signal_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    abridge(folder.path()).args(["prepare", "data", "--practice", "--quiet"]).assert().success();
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/practice.toml");
    let train = |command: &mut std::process::Command| {
        command
            .current_dir(folder.path())
            .args(["train", "--data", "data", "--run", "run", "--recipe"])
            .arg(&recipe)
            .args(["--set", "model.change.width=16", "--set", "stop.validate_every=1000000"]);
    };
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("abridge"));
    train(&mut command);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let metrics = folder.path().join("run/metrics.jsonl");
    while fs::read_to_string(&metrics).is_ok_and(|text| text.lines().count() > 3).eq(&false) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));

    let done = fs::read_to_string(&metrics).unwrap().lines().count();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("abridge"));
    train(&mut command);
    let limit = format!("stop.max_updates={}", done + 1);
    let output = command.args(["--set", &limit]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!("resumed after update {done}")), "{said}");
}

#[test]
fn mistakes_have_their_own_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.en"), "Hello.\n").unwrap();
    abridge(folder.path())
        .args(["translate", "--model", "nowhere", "text.en"])
        .assert()
        .code(4)
        .stderr(contains("nowhere").and(contains("is this a model directory?")));
    abridge(folder.path())
        .args(["translate", "--model", "nowhere", "absent.en"])
        .assert()
        .code(2)
        .stderr(contains("absent.en"));
    abridge(folder.path())
        .args(["train", "--data", "nowhere", "--run", "run"])
        .assert()
        .code(2)
        .stderr(contains("nowhere"));
    abridge(folder.path())
        .args(["train", "--data", "nowhere", "--run", "run", "--set", "sead=1"])
        .assert()
        .code(1)
        .stderr(contains("sead"));
    abridge(folder.path()).arg("trane").assert().code(1);
    assert!(!folder.path().join("run").exists(), "a refused run leaves nothing");
}
