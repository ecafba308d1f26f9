//! `abridge evaluate` from the outside.

// A test that cannot write its files must fail.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.file(
            "test.en",
            "The lamp is new.\nIt is expensive.\nWhere is the key?\nIt is lost.\n",
        );
        folder.file(
            "test.de",
            "Die Lampe ist neu.\nSie ist teuer.\nWo ist der Schlüssel?\nEr ist weg.\n",
        );
        folder.file("test.docids", "lamp\nlamp\nkey\nkey\n");
        folder.file(
            "old.de",
            "Die Lampe ist neu.\nEs ist teuer.\nWo ist der Schlüssel?\nEs ist verloren.\n",
        );
        folder.file(
            "new.de",
            "Die Lampe ist neu.\nSie ist teuer.\nWo ist der Schlüssel?\nEr ist verloren.\n",
        );
        folder
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs `abridge evaluate` with these arguments, words separated by spaces.
    fn evaluate(&self, arguments: &str) -> assert_cmd::assert::Assert {
        Command::cargo_bin("abridge")
            .unwrap()
            .current_dir(self.0.path())
            .arg("evaluate")
            .args(arguments.split(' '))
            .assert()
    }
}

#[test]
fn one_system_gets_scores_signatures_and_documents() {
    Folder::new()
        .evaluate("new.de --reference test.de")
        .success()
        .stdout(contains("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"))
        .stdout(contains("chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0"))
        .stdout(contains("TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0"))
        .stdout(contains("d-BLEU"))
        .stdout(predicate::str::is_match("(?m)^lamp +2 +100.0").unwrap());
}

#[test]
fn json_is_one_object_with_a_key_per_metric() {
    let output = Folder::new()
        .evaluate("old.de new.de --reference test.de --metrics bleu,ter,d-bleu --json --samples 50")
        .success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let object = json.as_object().unwrap();
    assert_eq!(object.len(), 3);
    for value in object.values() {
        assert!(value["score"].is_f64() && value["signature"].is_string(), "{value}");
        assert!(value["systems"][1]["p_value"].is_f64(), "{value}");
    }
    assert_eq!(json["bleu"]["systems"][1]["system"], "new.de");
    assert!(json["bleu"]["signature"].as_str().unwrap().contains("bs:50|seed:12345"));
}

#[test]
fn pronouns_of_lines_with_it_are_counted() {
    Folder::new()
        .evaluate("old.de new.de -r test.de -s test.en --pronouns de --source-words it --markdown")
        .success()
        .stdout(contains("### Pronouns of old.de (2 lines)"))
        .stdout(contains("| all | 0.0 | 0.0 | 0.0 | 2 | 2 | 0 |"))
        .stdout(contains("| all | 100.0 | 100.0 | 100.0 | 2 | 2 | 2 |"));
}

#[test]
fn mismatched_line_counts_are_refused_with_both_files_and_counts() {
    let folder = Folder::new();
    folder.file("short.de", "Die Lampe ist neu.\n");
    folder
        .evaluate("short.de --reference test.de")
        .code(2)
        .stdout("")
        .stderr(contains("short.de: 1 line, but test.de has 4 lines"));
    folder.evaluate("missing.de -r test.de").code(2).stderr(contains("missing.de"));
    folder.file("ids", "1\n");
    folder
        .evaluate("new.de -r test.de --docids ids")
        .code(2)
        .stderr(contains("ids: 1 document id, but test.de has 4 lines"));
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let folder = Folder::new();
    folder
        .evaluate("new.de -r test.de --smooth-value 1")
        .code(1)
        .stderr(contains("`exp` takes no value"));
    folder.evaluate("new.de -r test.de --tokenize moses").failure().stderr(contains("intl"));
    folder.evaluate("new.de -r test.de --source-words it").failure();
}

#[test]
fn comet_is_reported_beside_the_other_metrics() {
    let folder = Folder::new();
    let comet = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../evaluate/tests/fixtures/comet");
    let run = |rest: &str| {
        let texts = "old.de new.de -r test.de -s test.en --metrics bleu --samples 20 --comet";
        folder.evaluate(&format!("{texts} {}{rest}", comet.display()))
    };
    let output = run(" --comet-context 1 --json").success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let found = &json["doc-comet"];
    assert!(found["score"].is_f64() && found["systems"][1]["p_value"].is_f64(), "{found}");
    assert_eq!(found["documents"].as_array().unwrap().len(), 2);
    let signature = found["signature"].as_str().unwrap();
    assert!(
        signature.contains("|model:comet@") && signature.contains("|context:1|"),
        "{signature}"
    );
    run("").success().stdout(contains("COMET|nrefs:1|bs:20"));

    // Without documents there is no context, without a source no COMET.
    std::fs::remove_file(folder.0.path().join("test.docids")).unwrap();
    run(" --comet-context 1").code(1).stderr(contains("--docids"));
    folder
        .evaluate(&format!("new.de -r test.de --comet {}", comet.display()))
        .code(1)
        .stderr(contains("--source"));
    folder
        .evaluate("new.de -r test.de -s test.en --comet nowhere")
        .code(4)
        .stderr(contains("nowhere: no model.safetensors"));
}

#[test]
fn help_has_examples() {
    Folder::new().evaluate("--help").success().stdout(contains("Examples:"));
}
