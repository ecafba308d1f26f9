//! `abridge translate` over directories: the tree is kept, finished files are left alone, and
//! nothing depends on how the files are batched.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use abridge_model::Preset;
use assert_cmd::Command;
use common::{SENTENCES, abridge, model};
use predicates::prelude::*;
use predicates::str::contains;
use tempfile::TempDir;

/// Files of one to four documents in some folders, and other files beside them.
fn corpus() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path(), Preset::Grouping);
    for number in 0..7 {
        let sentence = |place: usize| SENTENCES[(number + place) % SENTENCES.len()];
        let document = |d: usize| (0..=number % 3).map(|s| sentence(d + s)).collect::<Vec<_>>();
        let documents: Vec<String> = (0..=number % 4).map(|d| document(d).join("\n")).collect();
        let path = folder.path().join(format!("corpus/{}/{number}.en", ["a", "b/c"][number % 2]));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, documents.join("\n\n") + "\n").unwrap();
    }
    fs::write(folder.path().join("corpus/empty.en"), "").unwrap();
    fs::create_dir(folder.path().join("corpus/.hidden")).unwrap();
    fs::write(folder.path().join("corpus/.hidden/x.en"), "The old lamp.\n").unwrap();
    let film = "1\n00:00:01,000 --> 00:00:02,000\nThe old lamp is broken.\n";
    fs::write(folder.path().join("corpus/film.srt"), film).unwrap();
    folder
}

fn translate(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = abridge(folder);
    command.args(["translate", "--model", "model", "--max-length", "8", "--beam", "2"]);
    command.args(arguments);
    command
}

/// All files below a folder that are not hidden, with their content.
fn tree(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let below = path.strip_prefix(folder).unwrap().to_path_buf();
                found.push((below, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_tree_is_kept_however_files_are_batched() {
    let folder = corpus();
    let at = |name: &str| folder.path().join(name);
    translate(folder.path(), &["corpus", "-o", "out"]).assert().success();
    let whole = tree(&at("out"));
    let sources: Vec<PathBuf> = tree(&at("corpus")).into_iter().map(|(path, _)| path).collect();
    let names: Vec<PathBuf> = whole.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(names, sources);
    assert!(!whole.iter().any(|(path, _)| path.to_string_lossy().ends_with(".partial")));
    // File by file, on one thread, in another order.
    for path in sources.iter().rev() {
        let output = at("apart").join(path);
        fs::create_dir_all(output.parent().unwrap()).unwrap();
        let (input, output) = (at("corpus").join(path), output);
        let arguments =
            [input.to_str().unwrap(), "-o", output.to_str().unwrap(), "--threads", "1", "-q"];
        translate(folder.path(), &arguments).assert().success();
    }
    assert_eq!(tree(&at("apart")), whole);

    // Beside the sources, twice: outputs are not translated again.
    translate(folder.path(), &["corpus", "--beside", "de"]).assert().success();
    let beside = tree(&at("corpus"));
    assert_eq!(beside.len(), 2 * sources.len());
    let content = |name: &str, tree: &[(PathBuf, String)]| {
        tree.iter().find(|(path, _)| path == Path::new(name)).unwrap().1.clone()
    };
    assert_eq!(content("a/2.de", &beside), content("a/2.en", &whole));
    assert_eq!(content("film.de.srt", &beside), content("film.srt", &whole));
    let again = translate(folder.path(), &["corpus", "--beside", "de", "--resume"]).assert();
    again.success().stderr(contains("9 of 9 files are already finished"));
    assert_eq!(tree(&at("corpus")), beside);
}

#[test]
fn finished_files_are_left_alone() {
    let folder = corpus();
    let at = |name: &str| folder.path().join(name);
    let resume = |extra: &[&str]| {
        translate(folder.path(), &[&["corpus", "-o", "out", "--resume"], extra].concat())
    };
    resume(&[]).assert().success();
    let whole = tree(&at("out"));
    translate(folder.path(), &["corpus", "-o", "out"]).assert().failure().stderr(contains("--res"));
    // Corrections by hand are not lost.
    let made = fs::read_to_string(at("out/a/2.en")).unwrap();
    fs::write(at("out/a/2.en"), "mine\n").unwrap();
    resume(&[]).assert().failure().stderr(contains("a/2.en: was changed"));
    assert_eq!(fs::read_to_string(at("out/a/2.en")).unwrap(), "mine\n");
    fs::write(at("out/a/2.en"), made).unwrap();
    // One output is gone, one source has changed, one job was interrupted.
    fs::remove_file(at("out/a/0.en")).unwrap();
    fs::write(at("corpus/a/4.en"), "The old lamp.\n").unwrap();
    fs::remove_file(at("out/.abridge/film.srt.json")).unwrap();
    fs::remove_file(at("out/film.srt")).unwrap();
    let times = |name: &str| fs::metadata(at(name)).unwrap().modified().unwrap();
    let before = times("out/b/c/1.en");
    resume(&[]).assert().success().stderr(contains("6 of 9 files are already finished"));
    assert_eq!(times("out/b/c/1.en"), before);
    let after = tree(&at("out"));
    for ((path, old), (_, new)) in whole.iter().zip(&after) {
        assert_eq!(old != new, path == Path::new("a/4.en"), "{}", path.display());
    }

    // Settings are not mixed, and foreign files are not replaced.
    let error = resume(&["--context-size", "1"]).assert().failure();
    error.stderr(contains("was made with other settings"));
    fs::write(at("corpus/new.en"), "The old lamp.\n").unwrap();
    fs::write(at("out/new.en"), "mine\n").unwrap();
    resume(&[]).assert().failure().stderr(contains("new.en"));
    assert_eq!(fs::read_to_string(at("out/new.en")).unwrap(), "mine\n");
    translate(folder.path(), &["corpus", "-o", "out", "--force"]).assert().success();
    assert_ne!(fs::read_to_string(at("out/new.en")).unwrap(), "mine\n");

    // A broken file is found before anything is written.
    fs::write(at("corpus/z.en"), b"\xff\n").unwrap();
    translate(folder.path(), &["corpus", "-o", "other"])
        .assert()
        .failure()
        .stderr(contains("z.en:1"));
    assert!(tree(&at("other")).is_empty());
}

#[test]
fn equal_names_of_different_jobs_do_not_replace_each_other() {
    let folder = corpus();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("out")).unwrap();
    fs::write(at("corpus/b/0.en"), "The new lamp.\n").unwrap();
    let job = |input: &str| {
        translate(folder.path(), &[input, "corpus/film.srt", "-o", "out", "--resume"])
    };
    job("corpus/a/0.en").assert().success();
    let made = tree(&at("out"));
    let refused = job("corpus/b/0.en").assert().code(1);
    refused.stderr(contains("out/0.en: is the translation of").and(contains("corpus/a/0.en, not")));
    assert_eq!(tree(&at("out")), made);
    // The same text in another place is finished, a changed one in the same place is not.
    fs::rename(at("corpus/a/0.en"), at("corpus/b/0.en")).unwrap();
    job("corpus/b/0.en").assert().success().stderr(contains("2 of 2 files are already finished"));
}
