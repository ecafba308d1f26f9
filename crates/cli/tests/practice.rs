//! `abridge practice` from the outside.

use assert_cmd::Command;
use predicates::prelude::*;

fn practice(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("abridge").expect("the binary of this package");
    command.arg("practice").args(arguments);
    command
}

#[test]
fn shows_the_requested_number_of_documents_the_same_every_time() {
    let show = |arguments: &[&str]| {
        let output = practice(arguments).assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    let german = show(&["--show", "2"]);
    assert_eq!(german.matches("practice-train-").count(), 2);
    assert!(german.contains("sentence"), "{german}");
    assert_eq!(german, show(&["--show", "2", "--language", "en-de"]));
    assert_ne!(german, show(&["--show", "2", "--seed", "2"]));
    let french = show(&["--language", "en-fr"]);
    assert_eq!(french.matches("practice-train-").count(), 3);
}

#[test]
fn writes_a_directory_and_says_what_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("corpus");
    let path = out.to_str().unwrap();
    practice(&["--output", path, "--train-documents", "20"])
        .assert()
        .success()
        .stdout(predicate::str::contains("20 documents"))
        .stdout(predicate::str::contains("720 items, 2160 candidates"));
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 15);
    // What is shown is what would be written.
    let shown = practice(&["--show", "1"]).assert().success().get_output().stdout.clone();
    let shown = String::from_utf8(shown).unwrap().replace(['[', ']', '<', '>'], "");
    let written = std::fs::read_to_string(out.join("train.en")).unwrap();
    assert!(shown.contains(written.lines().next().unwrap()), "{shown}");

    practice(&["--out", path])
        .assert()
        .code(1)
        .stderr(predicate::str::contains("not empty; name a new one"));
}

#[test]
fn other_languages_are_refused_with_the_ones_that_exist() {
    practice(&["--language", "en-nl"])
        .assert()
        .failure()
        .stderr(predicate::str::contains("choose en-de or en-fr"));
}

#[test]
fn help_has_examples() {
    practice(&["--help"]).assert().success().stdout(predicate::str::contains("Examples:"));
}
