//! `abridge quantize` and `abridge --version --verbose` as users see them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use abridge_model::Preset;
use common::{SENTENCES, abridge, model};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

#[test]
fn other_commands_accept_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    model(path, Preset::Grouping);
    fs::write(path.join("text.en"), SENTENCES.join("\n")).unwrap();
    fs::write(path.join("text.de"), SENTENCES.join("\n")).unwrap();
    for to in ["int8", "f16"] {
        abridge(path)
            .args(["quantize", "--model", "model", "--to", to, to])
            .assert()
            .success()
            .stdout(contains(format!("as {to}")).and(contains("next:")));
        let translated = abridge(path)
            .args(["translate", "--model", to, "--max-length", "8", "text.en"])
            .assert()
            .success();
        let translated = String::from_utf8(translated.get_output().stdout.clone()).unwrap();
        assert_eq!(translated.lines().count(), SENTENCES.len());
        // The same result with other batches and threads.
        let again = abridge(path)
            .args(["translate", "--model", to, "--max-length", "8", "--threads", "1", "text.en"])
            .assert()
            .success();
        assert_eq!(again.get_output().stdout, translated.as_bytes());
        abridge(path).args(["score", "--model", to, "text.en", "text.de"]).assert().success();
    }
}

#[test]
fn invalid_requests_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    model(path, Preset::Sentence);
    let quantize = |model: &str, to: &str, out: &str| {
        abridge(path).args(["quantize", "--model", model, "--to", to, out]).assert()
    };
    quantize("model", "int8", "small").success();
    quantize("small", "int8", "smaller")
        .code(1)
        .stderr(contains("already holds int8 weights").and(contains("that it was made from")));
    quantize("model", "f16", "small").code(1).stderr(contains("exists already"));
    quantize("model", "int4", "other").code(1).stderr(contains("int8, f16"));
    quantize("model", "f32", "other").code(1).stderr(contains("choose int8 or f16"));
    quantize("nowhere", "int8", "other").code(4).stderr(contains("model directory"));
    let noted = |note: &str, out: &str| {
        let arguments = ["quantize", "--model", "model", "--to", "int8", "--note", note, out];
        abridge(path).args(arguments).assert()
    };
    noted("commit=1a2b", "noted").success();
    let manifest = fs::read_to_string(path.join("noted/MANIFEST.json")).unwrap();
    assert!(manifest.contains("\"commit\": \"1a2b\""), "{manifest}");
    noted("commit", "other").code(1).stderr(contains("not a note"));
    noted("languages=xx", "other").code(1).stderr(contains("another name"));
    noted("precision=xx", "other").code(1).stderr(contains("another name"));
    assert!(!path.join("smaller").exists() && !path.join("other").exists());

    let weights = path.join("small/model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&weights, bytes).unwrap();
    abridge(path)
        .args(["translate", "--model", "small"])
        .write_stdin("The old lamp.\n")
        .assert()
        .code(4)
        .stderr(contains("damaged or changed"));
}

#[test]
fn the_version_shows_what_speed_depends_on() {
    let folder = tempfile::tempdir().unwrap();
    let version = format!("abridge {}\n", env!("CARGO_PKG_VERSION"));
    abridge(folder.path()).arg("--version").assert().success().stdout(version.clone());
    abridge(folder.path()).arg("-V").assert().success().stdout(version.clone());
    abridge(folder.path()).args(["--version", "--verbose"]).assert().success().stdout(
        contains(version)
            .and(contains("instructions: "))
            .and(contains("threads: "))
            .and(contains("devices:       cpu")),
    );
    abridge(folder.path()).arg("--verbose").assert().code(1);
    abridge(folder.path()).args(["translate", "--version"]).assert().success();
}
