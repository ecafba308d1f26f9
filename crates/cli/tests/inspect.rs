//! `abridge inspect` on models as they come from training: grids, attention, pictures, statistics.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use abridge_evaluate::picture::HAS_PNG;
use common::abridge;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

/// Trains a model for one update: enough for everything but a good translation.
fn train(folder: &Path, preset: &str) {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/practice.toml");
    abridge(folder)
        .args(["train", "--quiet", "--data", "data", "--run", preset, "--recipe"])
        .arg(recipe)
        .args(["--set", &format!("model.preset={preset}"), "--set", "model.change.width=16"])
        .args(["--set", "stop.max_updates=1"])
        .assert()
        .success();
}

#[test]
fn every_kind_of_memory_can_be_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    abridge(folder).args(["prepare", "data", "--practice", "--quiet"]).assert().success();
    let evil = "<script>alert(1)</script> saw a dog.";
    fs::write(folder.join("text.en"), format!("Anna saw a dog.\nIt was big.\n{evil}\n")).unwrap();
    fs::write(folder.join("text.de"), "Anna sah einen Hund.\nEr war groß.\nSie sah ihn.\n")
        .unwrap();
    let inspect = |preset: &str| {
        let mut command = abridge(folder);
        let model = format!("{preset}/model");
        command.args(["inspect", "--model", &model, "text.en"]);
        command
    };

    for (preset, said) in [
        ("grouping", "how each token is distributed over the groups"),
        ("selecting", "which tokens each group selects"),
        ("pooling-avg", "means of 2 neighbouring tokens"),
        ("single-encoder", "has no memory"),
    ] {
        train(folder, preset);
        inspect(preset)
            .args(["--target", "text.de", "--sentences", "2"])
            .assert()
            .success()
            // The second sentence can see the first one, and says so.
            .stdout(contains(said).and(contains("Er war groß.")).and(contains(" (1 back) 0.")))
            .stdout(contains("\u{1b}").not());
    }
    inspect("pooling-avg").arg("--statistics").assert().code(1).stderr(contains("no groups"));
    inspect("selecting").arg("--statistics").assert().success().stdout(contains("bits of entropy"));
    inspect("grouping").args(["--sentences", "9"]).assert().code(1).stderr(contains("3 sentences"));

    inspect("grouping")
        .args(["--target", "text.de", "--svg", "a.svg", "--html", "a.html"])
        .assert()
        .success()
        .stdout(contains("a.svg"));
    let pixels = inspect("grouping").args(["--png", "a.png"]).assert();
    if HAS_PNG {
        pixels.success().stdout(contains("a.png"));
        assert!(fs::read(folder.join("a.png")).unwrap().starts_with(b"\x89PNG"));
    } else {
        pixels.code(1).stderr(contains("--features png"));
    }
    for file in ["a.svg", "a.html"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{file}");
        assert!(!text.contains("<script>alert"), "{file}");
    }
}
