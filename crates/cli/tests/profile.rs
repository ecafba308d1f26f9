//! `abridge profile`: a table, pictures, and memory that grows as it should.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use abridge_evaluate::picture::HAS_PNG;
use abridge_model::Preset;
use common::{abridge, model};
use serde_json::Value;

#[test]
fn memory_grows_with_the_context_and_no_faster_than_its_entries() {
    let folder = tempfile::tempdir().unwrap();
    abridge(folder.path())
        .args(["profile", "--size", "tiny", "--context-size", "0,10,20", "--presets"])
        .arg("sentence,caching-sentence,pooling-avg,grouping,selecting")
        .args(["--output", "out", "--tokens", "10", "--sentences", "1"])
        .assert()
        .success();
    let pixels: &[&str] = if HAS_PNG { &["memory.png", "time.png"] } else { &[] };
    for name in ["memory.svg", "time.svg", "profile.md"].iter().chain(pixels) {
        assert!(fs::metadata(folder.path().join("out").join(name)).unwrap().len() > 100, "{name}");
    }
    let points = fs::read(folder.path().join("out/profile.json")).unwrap();
    let points: Vec<Value> = serde_json::from_slice(&points).unwrap();
    let bytes = |model: &str, context: u64, field: &str| {
        let point = points.iter().find(|p| p["model"] == model && p["context"] == context).unwrap();
        point[field].as_f64().unwrap()
    };
    // Nine vectors and their keys and values in two layers, group weights and tokens of ten words.
    let entry = f64::from(4 * (9 * 64 * 5 + 10 * 9 + 10));
    for (context, sentences) in [(10, 10.0), (20, 20.0)] {
        assert!((bytes("grouping", context, "memory_bytes") - sentences * entry).abs() < 0.5);
    }
    for preset in ["caching-sentence", "pooling-avg", "grouping", "selecting"] {
        let operation = |context| bytes(preset, context, "operation_bytes");
        let first = operation(10) - operation(0);
        let second = operation(20) - operation(10);
        assert!(second > 0.0, "{preset}: more context needs more memory");
        assert!(second < 1.5 * first + 65_536.0, "{preset}: {first} bytes, then {second}");
    }
    assert_eq!(points.iter().filter(|p| p["model"] == "sentence").count(), 1);
}

#[test]
fn a_model_directory_is_measured_beyond_its_own_context() {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path(), Preset::Selecting);
    let output = abridge(folder.path())
        .args(["profile", "--model", "model", "--contexts", "0,2,8", "--tokens", "6"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.contains("| model | 8 |"), "{text}");
    abridge(folder.path()).args(["profile", "--model", "nowhere"]).assert().code(4);
    abridge(folder.path()).args(["profile", "--presets", "gruoping"]).assert().code(1);
}
