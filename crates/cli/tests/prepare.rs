//! `abridge prepare` as a user sees it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn abridge(directory: &Path, arguments: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("abridge").unwrap();
    command.current_dir(directory).args(arguments).assert()
}

/// Two small splits of invented lines.
fn corpus() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (split, count) in [("train", 60), ("test", 6)] {
        let (mut english, mut german, mut ids) = (String::new(), String::new(), String::new());
        for line in 0..count {
            writeln!(english, "Boat {line} sails past pier {}.", line % 7).unwrap();
            writeln!(german, "Boot {line} segelt an Steg {} vorbei.", line % 7).unwrap();
            writeln!(ids, "{}", line / 5).unwrap();
        }
        for (ending, text) in [("en", english), ("de", german), ("docids", ids)] {
            fs::write(directory.path().join(format!("{split}.{ending}")), text).unwrap();
        }
    }
    directory
}

const ARGUMENTS: [&str; 8] = [
    "prepare",
    "prepared",
    "--train",
    "train.en,train.de",
    "--test",
    "test.en,test.de",
    "--vocabulary-size",
    "60",
];

#[test]
fn prints_the_table_and_leaves_unchanged_inputs_alone() {
    let corpus = corpus();
    abridge(corpus.path(), &ARGUMENTS)
        .success()
        .stdout(contains("tok/sent en").and(contains("| train |   12 |        60 |")))
        .stdout(contains("vocabularies of 60 and 60 pieces"))
        .stderr(contains("encoding"))
        .stderr(contains("warning: test: 1 of 2 documents have only one sentence (first: 1)"));
    abridge(corpus.path(), &ARGUMENTS).success().stdout(contains("unchanged, nothing to do"));
    let quiet = [&ARGUMENTS[..], &["--quiet", "--force"]].concat();
    abridge(corpus.path(), &quiet).success().stdout("").stderr("");
}

#[test]
fn standard_input_is_prepared_as_a_file_is() {
    let corpus = corpus();
    let at = |name: &str| corpus.path().join(name);
    let text = |name: &str| fs::read_to_string(at(name)).unwrap();
    let (english, german) = (text("train.en"), text("train.de"));
    let pairs = english.lines().zip(german.lines());
    let document = |(en, de)| serde_json::json!({ "source": [en], "target": [de] }).to_string();
    let documents: String = pairs.map(|pair| document(pair) + "\n").collect();
    fs::write(at("train.jsonl"), &documents).unwrap();
    let prepare = |output: &str, train: &str| {
        let mut command = Command::cargo_bin("abridge").unwrap();
        command.current_dir(corpus.path()).args(["prepare", output, "--train", train]);
        command.args(["--languages", "en-de", "--vocabulary-size", "60"]);
        command.write_stdin(documents.clone()).assert().success()
    };
    prepare("file", "train.jsonl");
    prepare("pipe", "-").stdout(contains("| train |").and(contains(" 60 |")));
    for name in ["train.tokens", "tokenizer.source.json", "tokenizer.target.json"] {
        let read = |folder: &str| fs::read(at(folder).join(name)).unwrap();
        assert!(read("file") == read("pipe"), "{name}");
    }
    // What a pipe holds is not known before it is read, so it is always read.
    prepare("pipe", "-").stdout(contains("unchanged").not());
    prepare("file", "train.jsonl").stdout(contains("unchanged, nothing to do"));
}

#[test]
fn data_errors_exit_with_2_and_leave_nothing() {
    let corpus = corpus();
    let test = fs::read(corpus.path().join("test.de")).unwrap();
    fs::write(corpus.path().join("test.de"), "Nur eine Zeile.\n").unwrap();
    abridge(corpus.path(), &ARGUMENTS).code(2).stderr(contains("6 lines").and(contains("test.de")));
    fs::write(corpus.path().join("test.de"), test).unwrap();
    fs::write(corpus.path().join("train.de"), b"\xff\n".repeat(60)).unwrap();
    abridge(corpus.path(), &ARGUMENTS).code(2).stderr(contains("train.de:1: invalid UTF-8"));
    let large = ["prepare", "prepared", "--train", "train.en"];
    abridge(corpus.path(), &large).code(2).stderr(contains("0 translations"));
    let names = fs::read_dir(corpus.path()).unwrap().count();
    assert_eq!(names, 6);
}

#[test]
fn too_large_a_vocabulary_is_a_data_error_with_the_maximum() {
    let corpus = corpus();
    let arguments = ["prepare", "prepared", "--train", "train.en,train.de"];
    abridge(corpus.path(), &arguments)
        .code(2)
        .stderr(contains("but 20000 were requested").and(contains("at most")));
}

#[test]
fn a_recipe_does_the_same() {
    let corpus = corpus();
    let recipe = "[languages]\nsource = \"en\"\ntarget = \"de\"\n[tokenizer]\nvocabulary_size = 60\n\
                  [[train]]\nsource = \"train.en\"\ntarget = \"train.de\"\n";
    fs::write(corpus.path().join("recipe.toml"), recipe).unwrap();
    let arguments = ["prepare", "out/prepared", "--recipe", "recipe.toml", "--data", "."];
    abridge(corpus.path(), &arguments).success().stdout(contains("| train |"));
    fs::write(corpus.path().join("recipe.toml"), format!("{recipe}[[dev]]\n")).unwrap();
    abridge(corpus.path(), &arguments)
        .code(2)
        .stderr(contains("recipe.toml:9").and(contains("dev")));
}

/// Files with the names and tags of the IWSLT distribution, and invented text.
fn iwslt_files(directory: &Path, target: &str) {
    let pair = format!("en-{target}");
    for language in ["en", target] {
        let mut tags = String::new();
        for talk in 0..6 {
            writeln!(tags, "<url>http://talks.example/{talk}</url>").unwrap();
            writeln!(tags, "<talkid>{talk}</talkid>\n<title>Talk {talk}</title>").unwrap();
            for line in 0..8 {
                writeln!(tags, "Ferry {line} leaves harbour {talk} at {}.", line + talk).unwrap();
            }
        }
        fs::write(directory.join(format!("train.tags.{pair}.{language}")), tags).unwrap();
        for year in 2011..=2015 {
            let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<mteval>\n");
            writeln!(xml, "<srcset setid=\"iwslt-tst{year}\" srclang=\"english\">").unwrap();
            writeln!(xml, "<doc docid=\"1\" genre=\"lectures\">").unwrap();
            for line in 1..=3 {
                writeln!(xml, "<seg id=\"{line}\"> Ferry {line} waits. </seg>").unwrap();
            }
            xml += "</doc>\n</srcset>\n</mteval>\n";
            let name = format!("IWSLT17.TED.tst{year}.{pair}.{language}.xml");
            fs::write(directory.join(name), xml).unwrap();
        }
    }
}

#[test]
fn the_recipes_of_the_paper_prepare_the_files_of_iwslt() {
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
    for target in ["de", "fr"] {
        let directory = tempfile::tempdir().unwrap();
        iwslt_files(directory.path(), target);
        let recipe = recipes.join(format!("iwslt17-en-{target}.toml"));
        let recipe = recipe.to_str().unwrap();
        let arguments = ["prepare", "out", "--recipe", recipe, "--vocabulary-size", "60"];
        abridge(directory.path(), &arguments)
            .success()
            .stdout(contains("| train |    6 |        48 |"))
            .stdout(contains("| valid |    4 |        12 |"))
            .stdout(contains("| test  |    1 |         3 |"));
        // Without the option it is the paper's 20,000, which this text cannot give.
        abridge(directory.path(), &arguments[..4]).code(2).stderr(contains("20000 were requested"));
    }
}

#[test]
fn practice_needs_no_files() {
    let directory = tempfile::tempdir().unwrap();
    abridge(directory.path(), &["prepare", "practice", "--practice"])
        .success()
        .stdout(contains("vocabularies of 1000 and 1000 pieces"));
    assert!(directory.path().join("practice/text/contrastive.json").is_file());
}

#[test]
fn usage_errors_say_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    abridge(directory.path(), &["prepare", "out"]).code(1).stderr(contains("give --train"));
    abridge(directory.path(), &["prepare", "--help"]).success().stdout(contains("Examples:"));
}

#[test]
fn the_tokenizers_of_a_model_are_reused_unchanged() {
    let corpus = corpus();
    abridge(corpus.path(), &ARGUMENTS).success();
    let again = ["prepare", "again", "--train", "train.en,train.de", "--tokenizer", "prepared"];
    abridge(corpus.path(), &again)
        .success()
        .stdout(contains("vocabularies of 60 and 60 pieces"))
        .stderr(contains("learning").not());
    for side in ["source", "target"] {
        let read = |folder: &str| {
            fs::read(corpus.path().join(folder).join(format!("tokenizer.{side}.json"))).unwrap()
        };
        assert!(read("again") == read("prepared"));
    }
    abridge(corpus.path(), &again).success().stdout(contains("unchanged, nothing to do"));
    // Another tokenizer means preparing again.
    let other = [&ARGUMENTS[..6], &["--vocabulary-size", "58", "--force"]].concat();
    abridge(corpus.path(), &other).success();
    abridge(corpus.path(), &again).success().stdout(contains("vocabularies of 58 and 58 pieces"));
    let nowhere = [&again[..5], &["nowhere"]].concat();
    abridge(corpus.path(), &nowhere).code(4).stderr(contains("no such model directory"));
    let joint = [&again[..], &["--joint"]].concat();
    abridge(corpus.path(), &joint).code(1).stderr(contains("cannot be used with"));
}
