//! `abridge bench`: a row per network, a description of the machine, and clear errors.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::abridge;
use serde_json::Value;

#[test]
fn every_network_is_trained_and_translated_with() {
    let folder = tempfile::tempdir().unwrap();
    let output = abridge(folder.path())
        .args(["bench", "--size", "tiny", "--presets", "sentence,grouping"])
        .args(["--context-size", "1,2", "--sentences", "3", "--updates", "1", "--workers", "1"])
        .args(["--output", "here.json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value =
        serde_json::from_slice(&fs::read(folder.path().join("here.json")).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let named: Vec<_> =
        rows.iter().map(|row| (row["preset"].as_str().unwrap(), &row["context"])).collect();
    assert_eq!(
        named,
        [("sentence", &Value::from(0)), ("grouping", &1.into()), ("grouping", &2.into())]
    );
    for row in rows {
        for field in ["parameters", "training", "training_tokens", "training_bytes", "translation"]
        {
            assert!(row[field].as_f64().unwrap() > 0.0, "{field} of {row}");
        }
        // Weights, gradients and the optimiser's two means are four numbers per parameter.
        let least = 16.0 * row["parameters"].as_f64().unwrap();
        assert!(row["training_bytes"].as_f64().unwrap() > least, "{row}");
    }
    assert_eq!(report["machine"]["device"], "cpu");
    assert_eq!(report["machine"]["device_name"], "the processor");
    // The processor has no memory of its own.
    assert!(rows.iter().all(|row| row["device_bytes"].is_null()), "{rows:?}");
    assert_eq!(report["workers"], 1);
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(table.lines().filter(|line| line.starts_with("| tiny | ")).count(), 3, "{table}");
    assert!(table.contains("on cpu (the processor)"), "{table}");
    assert!(table.contains("| host peak MiB | device MiB |"), "{table}");
}

#[test]
fn invalid_settings_fail_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("taken"), "notes").unwrap();
    for (arguments, message) in [
        (&["--updates", "0"][..], "at least 1"),
        (&["--workers", "0"], "at least 1"),
        (&["--device", "gpu"], "choose one of"),
        (&["--presets", "gruoping"], "grouping"),
        (&["--output", "nowhere/here.json"], "nowhere"),
    ] {
        let output = abridge(folder.path()).arg("bench").args(arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(message), "{arguments:?}: {text}");
    }
    if cfg!(not(feature = "cuda")) {
        let output = abridge(folder.path()).args(["bench", "--device", "cuda"]).output().unwrap();
        assert!(String::from_utf8(output.stderr).unwrap().contains("--features cuda"));
    }
}
