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
