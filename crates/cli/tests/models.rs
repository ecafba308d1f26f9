//! `abridge models` as a user sees it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

fn abridge() -> Command {
    Command::cargo_bin("abridge").unwrap()
}

#[test]
fn lists_all_ten_with_the_papers_figures() {
    let output = abridge().arg("models").output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for (preset, parameters) in [
        ("sentence", "64.42 M"),
        ("single-encoder", "64.42 M"),
        ("multi-encoder", "83.33 M"),
        ("caching-tokens", "71.25 M"),
        ("caching-sentence", "71.26 M"),
        ("pooling-max", "72.83 M"),
        ("pooling-avg", "72.83 M"),
        ("pooling-linear", "73.35 M"),
        ("grouping", "72.58 M"),
        ("selecting", "72.58 M"),
    ] {
        let row = text.lines().find(|line| line.starts_with(&format!("{preset} "))).unwrap();
        assert_eq!(row.matches(parameters).count(), 2, "ours and the paper's in: {row}");
    }
}

#[test]
fn prints_a_configuration_that_reads_back() {
    let output = abridge().args(["models", "--config", "selecting"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let config = abridge_model::ModelConfig::from_toml(&text).unwrap();
    assert_eq!(
        config,
        abridge_model::Preset::Selecting.config(abridge_model::ModelSize::Base, 19_804, 19_804, 1,)
    );
}

#[test]
fn a_wrong_name_lists_the_right_ones() {
    abridge()
        .args(["models", "--config", "gruoping"])
        .assert()
        .code(1)
        .stderr(contains("gruoping").and(contains("grouping, selecting")));
    abridge().args(["models", "--size", "huge"]).assert().code(1).stderr(contains("small"));
}

#[test]
fn a_vocabulary_that_is_too_small_is_refused_with_the_reason() {
    abridge()
        .args(["models", "--source-vocabulary", "3"])
        .assert()
        .code(1)
        .stderr(contains("special tokens"));
}
