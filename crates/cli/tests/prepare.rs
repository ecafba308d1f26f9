//! `abridge prepare` as a user meets it.

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
        .stderr(contains("encoding train"))
        .stderr(contains("warning: test: 1 of 2 documents have only one sentence (first: 1)"));
    abridge(corpus.path(), &ARGUMENTS).success().stdout(contains("unchanged, nothing to do"));
    let quiet = [&ARGUMENTS[..], &["--quiet", "--force"]].concat();
    abridge(corpus.path(), &quiet).success().stdout("").stderr("");
}

#[test]
fn data_errors_exit_with_2_and_leave_nothing() {
    let corpus = corpus();
    fs::write(corpus.path().join("test.de"), "Nur eine Zeile.\n").unwrap();
    abridge(corpus.path(), &ARGUMENTS).code(2).stderr(contains("6 lines").and(contains("test.de")));
    fs::write(corpus.path().join("train.de"), b"\xff\n".repeat(60)).unwrap();
    abridge(corpus.path(), &ARGUMENTS).code(2).stderr(contains("train.de:1: invalid UTF-8"));
    let large = ["prepare", "prepared", "--train", "train.en"];
    abridge(corpus.path(), &large).code(2).stderr(contains("0 translations"));
    let names = fs::read_dir(corpus.path()).unwrap().count();
    assert_eq!(names, 6);
}

#[test]
fn more_pieces_than_the_text_gives_is_a_data_error_with_the_number() {
    let corpus = corpus();
    let arguments = ["prepare", "prepared", "--train", "train.en,train.de"];
    abridge(corpus.path(), &arguments)
        .code(2)
        .stderr(contains("but 20000 were asked for").and(contains("at most")));
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
        .stderr(contains("recipe.toml:8").and(contains("dev")));
}

#[test]
fn the_recipes_of_the_paper_can_be_read() {
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
    for name in ["iwslt17-en-de.toml", "iwslt17-en-fr.toml"] {
        let recipe = abridge_corpus::prepare::Recipe::load(&recipes.join(name)).unwrap();
        recipe.check().unwrap();
        assert_eq!((recipe.train.len(), recipe.valid.len(), recipe.test.len()), (1, 4, 1));
        assert_eq!(recipe.tokenizer.vocabulary_size, 20_000);
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
