//! The whole workflow as a user runs it: demo, train, translate, contrast.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use common::abridge;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

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

    // What exists is reused, not made again.
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

    // A part of the set is enough, and quicker.
    let set = fs::read(folder.path().join("demo/data/text/contrastive.json")).unwrap();
    let set: Vec<serde_json::Value> = serde_json::from_slice(&set).unwrap();
    let part: Vec<_> = set.into_iter().step_by(15).collect();
    fs::write(folder.path().join(SET), serde_json::to_string(&part).unwrap()).unwrap();
    contrast_counts_as_the_script_of_contrapro_does(folder.path());
    contrast_resumes_compares_and_refuses(folder.path());
    context_gains_are_measured(folder.path());
}

const SET: &str = "set.json";

fn contrast_counts_as_the_script_of_contrapro_does(folder: &Path) {
    let output = abridge(folder)
        .args(["contrast", "--model", "demo/models/sentence", "--json"])
        .args(["--set", SET, "--scores", "scores.txt"])
        .assert()
        .success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let signature = json["contrast"]["signature"].as_str().unwrap();
    assert!(signature.contains("|context:0|order:oldest-first|version:abridge-"), "{signature}");

    // The script reads one line per candidate and, told to maximise, requires the first to be
    // strictly above all others.
    let scores = fs::read_to_string(folder.join("scores.txt")).unwrap();
    let mut scores = scores.lines().map(|line| line.parse::<f64>().unwrap());
    let examples = fs::read_to_string(folder.join(SET)).unwrap();
    let examples: Vec<serde_json::Value> = serde_json::from_str(&examples).unwrap();
    let mut right = std::collections::BTreeMap::new();
    for example in &examples {
        let reference = scores.next().unwrap();
        let errors = example["errors"].as_array().unwrap();
        let better = errors.iter().filter(|_| reference > scores.next().unwrap()).count();
        let distance = match example["ante distance"].as_i64().unwrap() {
            distance if distance > 3 => ">3".to_owned(),
            distance => distance.to_string(),
        };
        *right.entry(distance).or_insert(0) += u64::from(better == errors.len());
    }
    assert_eq!(scores.next(), None);
    let total: u64 = right.values().sum();
    assert_eq!(json["contrast"]["report"]["total"]["correct"], total);
    for row in json["contrast"]["report"]["by_distance"].as_array().unwrap() {
        assert_eq!(row[1]["correct"], right[row[0].as_str().unwrap()], "{row}");
    }
}

fn contrast_resumes_compares_and_refuses(folder: &Path) {
    let contrast = |model: &str, rest: &[&str]| {
        let model = format!("demo/models/{model}");
        abridge(folder).args(["contrast", "--set", SET, "--model", &model]).args(rest).assert()
    };
    // Against a file of scores and against the model itself: the same figures.
    let by_file = contrast("grouping", &["--against", "scores.txt", "--scores", "g.txt"]);
    let by_file = String::from_utf8(by_file.success().get_output().stdout.clone()).unwrap();
    let by_model = contrast("grouping", &["--against", "demo/models/sentence"]);
    let by_model = String::from_utf8(by_model.success().get_output().stdout.clone()).unwrap();
    let tables = |text: &str| text.split("\nagainst ").next().unwrap().to_owned();
    assert!(by_file.contains("McNemar's p") && by_file.contains("context:3"), "{by_file}");
    assert_eq!(tables(&by_file), tables(&by_model));

    // Every draw of the random context has its scores; they resume with as many draws only.
    let draws = ["--controls", "none,random", "--draws", "2", "--scores", "d.txt", "--seed", "5"];
    let drawn = contrast("grouping", &draws).success();
    let drawn = String::from_utf8(drawn.get_output().stdout.clone()).unwrap();
    assert!(drawn.contains("random: 2 draws, all ") && drawn.contains("draws:2"), "{drawn}");
    let [first, second] = ["d.txt.random", "d.txt.random-2"]
        .map(|name| fs::read_to_string(folder.join(name)).unwrap());
    assert_eq!(first.lines().count(), second.lines().count());
    assert_ne!(first, second);
    assert!(!folder.join("d.txt.random-3").exists());
    let single = ["--controls", "none,random", "--draws", "1", "--scores", "e.txt", "--seed", "5"];
    contrast("grouping", &single).success();
    assert_eq!(fs::read_to_string(folder.join("e.txt.random")).unwrap(), first);

    // Scores that a stopped run has kept are reused, but only for the same model and context.
    let all = fs::read_to_string(folder.join("g.txt")).unwrap();
    assert!(!folder.join("g.txt.part").exists());
    contrast("grouping", &["--scores", "h.txt", "--context-size", "1"]).success();
    fs::write(folder.join("h.txt.part"), "{}").unwrap();
    contrast("grouping", &["--scores", "h.txt"]).code(2).stderr(contains("h.txt.part"));
    assert_ne!(fs::read_to_string(folder.join("h.txt")).unwrap(), all);

    contrast("grouping", &["--context-size", "4", "--controls", "off"])
        .success()
        .stderr(contains("was trained to look 3 sentences back"));
    contrast("grouping", &["--languages", "en-fr"])
        .code(2)
        .stderr(contains("the model translates en-de"));
    let mut examples: Vec<serde_json::Value> =
        serde_json::from_str(&fs::read_to_string(folder.join(SET)).unwrap()).unwrap();
    examples.truncate(3);
    for example in &mut examples {
        example["src context"] = serde_json::json!(["One."]);
    }
    fs::write(folder.join("few.json"), serde_json::to_string(&examples).unwrap()).unwrap();
    let few = |rest: &[&str]| {
        abridge(folder)
            .args(["contrast", "--set", "few.json", "--model", "demo/models/grouping"])
            .args(rest)
            .assert()
    };
    few(&[]).code(2).stderr(contains("3 sentences back").and(contains("--context-size 1")));
    few(&["--context-size", "1"]).success();
    few(&["--context-size", "1", "--against", "scores.txt"])
        .code(2)
        .stderr(contains("144 scores, but the set has 9 candidates"));
}

fn context_gains_are_measured(folder: &Path) {
    let source = "Anna saw a dog.\nIt was big.\nIt slept.\n\nBen saw a cat.\nIt was small.\n";
    let target = "Anna sah einen Hund.\nEr war groß.\nEr schlief.\n\nBen sah eine Katze.\n\
                  Sie war klein.\n";
    fs::write(folder.join("gain.en"), source).unwrap();
    fs::write(folder.join("gain.de"), target).unwrap();
    let cxmi = |model: &str, rest: &[&str]| {
        let model = format!("demo/models/{model}");
        abridge(folder)
            .args(["cxmi", "--model", &model, "--source", "gain.en", "--reference", "gain.de"])
            .args(rest)
            .assert()
    };
    let output = cxmi("grouping", &["--json", "--context-size", "1,2"]).success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let found = &json["cxmi"];
    // Three sentences are not the first of their document.
    assert_eq!(found["report"]["sentences"], 3);
    assert_eq!(found["sizes"].as_array().unwrap().len(), 2);
    let lines = found["report"]["lines"].as_array().unwrap();
    let sum: f64 = lines.iter().map(|line| line["gain"].as_f64().unwrap()).sum();
    assert!((sum / 3.0 - found["score"].as_f64().unwrap()).abs() < 1e-9);
    assert!(lines.iter().all(|line| line["gain"] != 0.0 && line["random"] != line["gain"]));
    assert_eq!(lines[1]["words"][0][0], "Er");
    assert!(found["signature"].as_str().unwrap().contains("|context:2|order:oldest-first|seed:1|"));
    cxmi("grouping", &[])
        .success()
        .stdout(contains("context 3, random").and(contains("words that gained most")));
    // Any test set has examples: its three sentences with a pronoun.
    abridge(folder)
        .args(["examples", "demo/models/sentence", "demo/models/grouping", "--languages", "en-de"])
        .args(["--source", "gain.en", "--reference", "gain.de", "--quiet"])
        .assert()
        .success()
        .stdout(contains("of 3 sentences have different pronouns"));
    cxmi("sentence", &[]).code(1).stderr(contains("needs a model that can use context"));
    cxmi("grouping", &["--context-size", "4"])
        .success()
        .stderr(contains("was trained to look 3 sentences back"));
}

#[test]
fn training_stops_on_a_signal_and_resumes() {
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
        .stderr(contains("nowhere").and(contains("no such model directory")));
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
