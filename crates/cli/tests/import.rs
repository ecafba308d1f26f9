//! `abridge import` as a user sees it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use abridge_model::DeviceKind;
use abridge_model::weights::ModelDirectory;
use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

fn import(checkpoint: &Path, out: &Path) -> Command {
    let mut command = Command::cargo_bin("abridge").unwrap();
    command.arg("import").arg(checkpoint).arg("--output").arg(out);
    command.args(["--preset", "grouping", "--context-size", "2", "--heads", "2"]);
    command
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures").join(name)
}

#[test]
fn a_checkpoint_becomes_a_model_directory() {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in [("pt", "checkpoint/grouping.pt"), ("st", "parity/grouping.safetensors")] {
        let out = folder.path().join(name);
        import(&fixture(file), &out).assert().success().stdout(contains("tensors"));
        let directory = ModelDirectory::open(&out).unwrap();
        assert!(directory.config().as_published);
        directory.load(&DeviceKind::Cpu.open().unwrap()).unwrap();
    }
}

#[test]
fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    import(&fixture("checkpoint/grouping.pt"), folder.path())
        .assert()
        .code(1)
        .stderr(contains("exists already"));
}

#[test]
fn a_wrong_file_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model");
    let text = folder.path().join("notes.pt");
    std::fs::write(&text, "not a checkpoint").unwrap();
    import(&text, &out).assert().code(4).stderr(contains("notes.pt"));
    import(&folder.path().join("absent.pt"), &out).assert().code(4).stderr(contains("absent.pt"));
    import(&fixture("parity/sentence.safetensors"), &out)
        .assert()
        .code(4)
        .stderr(contains("shortening_cat").and(contains("missing")));
    assert!(!out.exists());
}

fn foreign(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../translate/tests/fixtures").join(name)
}

fn abridge(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("abridge").unwrap();
    command.args(arguments);
    command
}

#[test]
fn every_command_accepts_an_imported_model() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (source, reference) = (at("text.en"), at("text.pt"));
    std::fs::write(&source, "The lamp is old.\nIt was built in 1900.\n").unwrap();
    std::fs::write(&reference, "A lâmpada é antiga.\nFoi construída em 1900.\n").unwrap();
    // A multilingual model needs a target language.
    for (name, described, into) in [
        ("marian/student", "as int8, with its shortlist", &[][..]),
        ("marian/teacher", "beam 6", &[]),
        ("marian-mt", ">>fra<< >>rus<<", &["--to", "fra"]),
    ] {
        let out = at(&name.replace('/', "-"));
        let path = foreign(name).display().to_string();
        abridge(&["import", &path, "--output", &out])
            .assert()
            .success()
            .stdout(contains(described));
        let translated = abridge(&["translate", "--model", &out, "--max-length", "9", &source])
            .args(into)
            .assert()
            .success();
        let text = String::from_utf8(translated.get_output().stdout.clone()).unwrap();
        assert_eq!(text.lines().count(), 2);
        abridge(&["score", "--model", &out, &source, &reference]).args(into).assert().success();
        abridge(&["inspect", "--model", &out, &source])
            .args(into)
            .assert()
            .success()
            .stdout(contains("lamp"));
    }
    let int8 = at("int8");
    abridge(&["quantize", "--model", &at("marian-mt"), "--to", "int8", &int8]).assert().success();
    abridge(&["translate", "--model", &int8, "--max-length", "9", "--to", "fra", &source])
        .assert()
        .success();
    // No language is guessed.
    abridge(&["translate", "--model", &int8, &source])
        .assert()
        .code(1)
        .stderr(contains("--to fra"));
}

#[test]
fn a_damaged_foreign_model_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model").display().to_string();
    let weights = folder.path().join("model.enpt.intgemm.alphas.bin");
    let whole = foreign("marian/student").join(weights.file_name().unwrap());
    let mut bytes = std::fs::read(whole).unwrap();
    bytes[8] += 1;
    std::fs::write(&weights, bytes).unwrap();
    let vocabulary = foreign("marian/student").join("vocab.enpt.spm");
    std::fs::copy(vocabulary, folder.path().join("vocab.enpt.spm")).unwrap();
    for path in [folder.path(), &weights] {
        let path = path.display().to_string();
        abridge(&["import", &path, "--output", &out])
            .assert()
            .code(4)
            .stderr(contains("model.enpt.intgemm.alphas.bin"));
    }
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().display().to_string();
    abridge(&["import", &path, "--output", &out])
        .assert()
        .code(4)
        .stderr(contains("contains no model"));
    abridge(&["import", "checkpoint.pt", "--output", &out])
        .assert()
        .code(1)
        .stderr(contains("--preset"));
    assert!(!Path::new(&out).exists());
}

#[test]
#[cfg(not(feature = "cuda"))]
fn a_device_that_is_not_built_in_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model");
    import(&fixture("checkpoint/grouping.pt"), &out)
        .args(["--device", "cuda"])
        .assert()
        .code(1)
        .stderr(contains("--features cuda"));
}
