//! `abridge shortlist` as users see it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use abridge_model::Preset;
use common::{SENTENCES, abridge, model};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

/// Data with the tokenizers of the model, and other data.
fn data(path: &Path) {
    let text = SENTENCES.join("\n");
    fs::write(path.join("text.en"), &text).unwrap();
    fs::write(path.join("text.de"), &text).unwrap();
    for (name, size) in [("data", "70"), ("other", "60")] {
        abridge(path)
            .args(["prepare", name, "--vocabulary-size", size])
            .args(["--train", "text.en,text.de", "--valid", "text.en,text.de"])
            .assert()
            .success();
    }
}

#[test]
fn other_commands_accept_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    model(path, Preset::Grouping);
    data(path);
    abridge(path)
        .args(["shortlist", "--model", "model", "--data", "data", "--common", "9"])
        .args(["--per-word", "2", "short"])
        .assert()
        .success()
        .stdout(contains("of 70 per sentence").and(contains("reach:")).and(contains("next:")));
    abridge(path)
        .args(["quantize", "--model", "short", "--to", "int8", "small"])
        .assert()
        .success();
    for model in ["short", "small"] {
        let translated = abridge(path)
            .args(["translate", "--model", model, "--max-length", "8", "text.en"])
            .assert()
            .success();
        let lines = String::from_utf8(translated.get_output().stdout.clone()).unwrap();
        assert_eq!(lines.lines().count(), SENTENCES.len());
        abridge(path).args(["score", "--model", model, "text.en", "text.de"]).assert().success();
    }
}

#[test]
fn invalid_requests_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    model(path, Preset::Sentence);
    data(path);
    let shortlist = |model: &str, data: &str, out: &str| {
        abridge(path).args(["shortlist", "--model", model, "--data", data, out]).assert()
    };
    shortlist("model", "other", "short")
        .code(1)
        .stderr(contains("it has 70 pieces, the data has 60").and(contains("trained on")));
    shortlist("model", "data", "data").code(1).stderr(contains("exists already"));
    shortlist("nowhere", "data", "short").code(4).stderr(contains("model directory"));
    assert!(!path.join("short").exists());
    shortlist("model", "data", "short").success();

    // A list that was changed afterwards.
    let file = path.join("short/shortlist.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"common\":[", "\"common\":[999,", 1)).unwrap();
    abridge(path)
        .args(["translate", "--model", "short", "text.en"])
        .assert()
        .code(4)
        .stderr(contains("shortlist.json").and(contains("damaged or changed")));
}
