//! The built-in model and installed ones, as a user meets them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use abridge_model::Preset;
use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

/// The command, run in a folder whose `models` are those that are installed.
fn abridge(folder: &Path) -> Command {
    let mut command = common::abridge(folder);
    command.env("ABRIDGE_MODELS", folder.join("models"));
    command
}

#[test]
fn an_installed_model_goes_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    fs::create_dir(&models).unwrap();
    common::model(folder.path(), Preset::Grouping);
    fs::rename(folder.path().join("model"), models.join("mine")).unwrap();
    let listed = abridge(folder.path()).args(["models", "--installed"]).assert().success();
    listed.stdout(contains("mine").and(contains("en-de")).and(contains("context size 2")));
    let translate = |model: &str| {
        abridge(folder.path())
            .args(["translate", "--model", model, "--max-length", "8"])
            .write_stdin("The lamp is broken.\n")
            .output()
            .unwrap()
    };
    let by_name = translate("mine");
    assert!(by_name.status.success());
    assert_eq!(by_name.stdout, translate("models/mine").stdout);
    // To prepare text for it and to start from it, too.
    fs::write(folder.path().join("a.en"), common::SENTENCES.join("\n") + "\n").unwrap();
    let prepared = ["prepare", "data", "--tokenizer", "mine", "--train", "a.en,a.en"];
    abridge(folder.path()).args(prepared).args(["--valid", "a.en,a.en"]).assert().success();
    abridge(folder.path())
        .args(["train", "--data", "data", "--run", "run", "--from", "mine", "--quiet"])
        .args(["--set", "model.preset=grouping", "--set", "model.size=tiny"])
        .args(["--set", "stop.max_updates=1"])
        .assert()
        .success();
    let recipe = fs::read_to_string(folder.path().join("run/model/config.toml")).unwrap();
    assert!(recipe.contains("grouping"), "{recipe}");
    for command in [
        "prepare other --train a.en,a.en --tokenizer yours",
        "train --data data --run x --from yours",
    ] {
        abridge(folder.path())
            .args(command.split(' '))
            .assert()
            .code(4)
            .stderr(contains("no such model directory or installed model"));
    }
    assert_eq!(translate("yours").status.code(), Some(4));
}

#[test]
fn compare_marks_what_context_changes() {
    let folder = tempfile::tempdir().unwrap();
    common::model(folder.path(), Preset::CachingTokens);
    fs::write(folder.path().join("a.en"), common::SENTENCES.join("\n") + "\n").unwrap();
    let compare = |more: &[&str]| {
        let output = abridge(folder.path())
            .args(["compare", "--model", "model", "a.en"])
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let lines = compare(&["--json"]);
    let pairs: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(pairs.len(), common::SENTENCES.len());
    for pair in &pairs {
        assert_eq!(pair["differs"], pair["without_context"] != pair["with_context"]);
    }
    // The first sentence of a document has no context.
    assert_eq!(pairs[0]["differs"], false);
    let differ = pairs.iter().filter(|pair| pair["differs"] == true).count();
    assert!(differ > 0, "this random network should write otherwise with context");
    let text = compare(&["--only-differences"]);
    assert!(text.ends_with(&format!("{differ} of {} translations differ\n", pairs.len())));
    assert_eq!(text.matches("  without context  ").count(), differ);
    assert!(text.contains('*') && !text.contains("  both  "));
    // Each side is what `translate` writes.
    for (side, context) in [("without_context", "0"), ("with_context", "2")] {
        let output = abridge(folder.path())
            .args(["translate", "--model", "model", "--context-size", context, "a.en"])
            .output()
            .unwrap();
        let translated: Vec<String> =
            String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        let compared: Vec<&str> = pairs.iter().map(|pair| pair[side].as_str().unwrap()).collect();
        assert_eq!(compared, translated);
    }
}

#[test]
fn paragraphs_are_compared_sentence_by_sentence() {
    let folder = tempfile::tempdir().unwrap();
    common::model(folder.path(), Preset::CachingTokens);
    let text = format!("{}\n\n{}\n", common::SENTENCES[..2].join(" "), common::SENTENCES[2]);
    fs::write(folder.path().join("letter.txt"), text).unwrap();
    let run = |arguments: &[&str]| {
        let output = abridge(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success());
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let compare = |more: &[&str]| {
        run(&[&["compare", "--model", "model", "letter.txt", "--json"][..], more].concat())
    };
    let [lines, _] = compare(&["--segment"]);
    let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let sources: Vec<_> = lines.lines().map(|text| line(text)["source"].clone()).collect();
    assert_eq!(sources, common::SENTENCES[..3]);
    // A paragraph and a sentence: not most lines. Two paragraphs are.
    assert_eq!(compare(&[])[1], "");
    let text = fs::read_to_string(folder.path().join("letter.txt")).unwrap();
    let paragraph = text.lines().next().unwrap();
    fs::write(folder.path().join("letter.txt"), format!("{paragraph}\n{paragraph}\n")).unwrap();
    let note = "letter.txt: most lines hold several sentences";
    assert!(compare(&[])[1].contains(note));
    assert_eq!(compare(&["--quiet"])[1], "");
    let translate = ["translate", "--model", "model", "letter.txt", "--max-length", "8"];
    assert_eq!(run(&translate)[1].matches(note).count(), 1);
    assert!(!run(&[&translate[..], &["--segment"]].concat())[1].contains(note));
}

#[test]
fn compare_needs_context() {
    let folder = tempfile::tempdir().unwrap();
    common::model(folder.path(), Preset::Sentence);
    abridge(folder.path())
        .args(["compare", "--model", "model"])
        .assert()
        .code(1)
        .stderr(contains("nothing to compare"));
}

#[cfg(feature = "built-in")]
mod built_in {
    use super::*;

    #[test]
    fn a_text_is_translated_without_naming_a_model() {
        let folder = tempfile::tempdir().unwrap();
        abridge(folder.path())
            .arg("translate")
            .write_stdin("Thank you very much.\n")
            .assert()
            .success()
            .stdout(contains("Vielen Dank"))
            .stderr(contains("built-in model en-de"));
        abridge(folder.path())
            .args(["models", "--installed"])
            .assert()
            .success()
            .stdout(contains("en-de").and(contains("built in")));
        // By its name, and quietly.
        abridge(folder.path())
            .args(["translate", "--model", "en-de", "--quiet"])
            .write_stdin("Thank you very much.\n")
            .assert()
            .success()
            .stderr("");
    }

    #[test]
    fn compare_shows_what_context_changes_in_a_text_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        abridge(folder.path())
            .arg("compare")
            .assert()
            .success()
            .stdout(contains("It is warm.").and(contains("of 8 translations differ")));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("models"), "a file").unwrap();
        abridge(folder.path())
            .arg("translate")
            .write_stdin("Thank you.\n")
            .assert()
            .code(1)
            .stderr(contains("cannot unpack").and(contains("ABRIDGE_MODELS")));
    }
}
