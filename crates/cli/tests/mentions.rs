//! `abridge mentions`, with the built-in model and with one that cannot translate.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use abridge_model::Preset;
use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

const TEXT: &str = "The report is important.
The report was very good.
I have read the report.
The question is difficult.
The question was important.
That is the question.
The problem is serious.
The problem was very big.
We must solve the problem.
";

/// The command on `a.en`, run in a folder whose `models` are those that are installed.
fn mentions(folder: &Path, model: &str) -> Command {
    let mut command = common::abridge(folder);
    command.env("ABRIDGE_MODELS", folder.join("models"));
    command.args(["mentions", "--model", model, "a.en", "--output", "out"]);
    command
}

#[cfg(feature = "built-in")]
#[test]
fn pronouns_have_the_gender_of_the_noun_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    fs::write(folder.path().join("a.en"), TEXT).unwrap();
    mentions(folder.path(), "en-de")
        .assert()
        .success()
        .stdout(contains("documents with a pronoun"));
    let [source, target, ids] = ["out.en", "out.de", "out.docids"].map(file);
    let lines: Vec<(&str, (&str, &str))> =
        ids.lines().zip(source.lines().zip(target.lines())).collect();
    assert_eq!(lines.len(), source.lines().count());
    assert_eq!(lines.len(), target.lines().count());
    let genders = [("report", "Er "), ("question", "Sie "), ("problem", "Es ")];
    let mut found = [0; 3];
    for document in lines.chunk_by(|one, other| one.0 == other.0) {
        let (id, (source, target)) = document.last().unwrap();
        if !id.starts_with("mention") {
            continue;
        }
        let rest = source.strip_prefix("It").unwrap();
        let (place, (noun, pronoun)) = genders
            .iter()
            .enumerate()
            .find(|(_, (noun, _))| TEXT.contains(&format!("The {noun}{rest}\n")))
            .unwrap();
        found[place] += 1;
        assert!(target.starts_with(pronoun), "{noun}: {target}");
        assert!(document.iter().any(|(_, (source, _))| source.contains(noun)), "{document:?}");
    }
    assert!(found.iter().all(|&count| count > 0), "{found:?}");
    let again = [&source, &target, &ids].map(String::clone);
    mentions(folder.path(), "en-de").assert().code(1).stderr(contains("--force"));
    mentions(folder.path(), "en-de").arg("--force").assert().success();
    assert_eq!(again, ["out.en", "out.de", "out.docids"].map(file), "the same seed gives the same");
}

/// The best translations alone would teach a memory to be surer than the model.
#[cfg(feature = "built-in")]
#[test]
fn ordinary_sentences_have_translations_that_are_drawn_at_random() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    fs::write(folder.path().join("a.en"), TEXT).unwrap();
    let mut translations =
        std::collections::BTreeMap::<String, std::collections::BTreeSet<String>>::new();
    for seed in ["1", "2", "3", "4"] {
        mentions(folder.path(), "en-de").args(["--force", "--seed", seed]).assert().success();
        let (source, target) = (file("out.en"), file("out.de"));
        for (source, target) in source.lines().zip(target.lines()) {
            translations.entry(source.into()).or_default().insert(target.into());
        }
    }
    let (pronominal, ordinary): (Vec<_>, Vec<_>) =
        translations.iter().partition(|(source, _)| source.starts_with("It"));
    assert!(pronominal.iter().all(|(_, found)| found.len() == 1), "{pronominal:?}");
    assert!(ordinary.iter().any(|(_, found)| found.len() > 1), "{ordinary:?}");
}

#[cfg(feature = "built-in")]
#[test]
fn sentences_with_line_ends_stay_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let sentences: Vec<String> =
        TEXT.lines().map(|line| line.replacen(" the ", "\nthe ", 1)).collect();
    assert!(sentences.iter().any(|sentence| sentence.contains('\n')));
    let document = serde_json::json!({ "id": "d", "source": sentences }).to_string();
    fs::write(folder.path().join("a.en"), document + "\n").unwrap();
    mentions(folder.path(), "en-de").args(["--format", "jsonl"]).assert().success();
    let lines = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap().lines().count();
    assert_eq!(lines("out.en"), lines("out.de"));
    assert_eq!(lines("out.en"), lines("out.docids"));
}

#[test]
fn what_cannot_be_made_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.en"), TEXT).unwrap();
    fs::write(folder.path().join("out.de"), "mine").unwrap();
    common::model(folder.path(), Preset::Sentence);
    let is_untouched = || {
        assert_eq!(fs::read_to_string(folder.path().join("out.de")).unwrap(), "mine");
        assert!(!folder.path().join("out.en").exists());
    };
    // Not without being told to.
    mentions(folder.path(), "model").assert().code(1).stderr(contains("out.de: already exists"));
    // Random weights do not translate.
    let refused = mentions(folder.path(), "model").arg("--force").assert().code(2);
    refused.stderr(contains("a.en: no document can be made").and(contains("give more text")));
    is_untouched();
    let unknown = mentions(folder.path(), "model").args(["--to", "xx"]).assert().code(2);
    unknown.stderr(contains("no built-in gender table for `xx`"));
    mentions(folder.path(), "model").args(["--per-sentence", "0"]).assert().code(1);
    let over_input = common::abridge(folder.path())
        .args(["mentions", "--model", "model", "a.en", "--output", "a"])
        .assert()
        .failure();
    over_input.stderr(contains("a.en"));
    assert_eq!(fs::read_to_string(folder.path().join("a.en")).unwrap(), TEXT);
    is_untouched();
}
