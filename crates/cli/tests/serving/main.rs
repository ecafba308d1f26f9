//! `abridge serve` as a process: how it ends, how it bears load, how replicas share documents.
//!
//! What needs a Redis server or minutes runs only on request: `.ci/run` asks for it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod balancer;
mod load;
mod outside;
mod process;
mod replicas;

use std::process::Command;

use process::{serve, write_model};

#[test]
fn sigterm_ends_with_zero() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    write_model(&model, &["it was a lamp.".to_owned(), "the river saw it.".to_owned()]);
    let mut server = serve(&model, &[]);
    assert!(server.address.starts_with("127.0.0.1:"));
    let process = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn mistakes_are_explained() {
    let refused = |arguments: &[&str]| {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("abridge"))
            .arg("serve")
            .args(arguments)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    write_model(&model, &["it was a lamp.".to_owned(), "the river saw it.".to_owned()]);
    let model = model.to_str().unwrap();
    let (code, message) = refused(&["--model", model, "--listen", "0.0.0.0:0"]);
    assert!(code == Some(1) && message.contains("--keys"), "{message}");
    let (code, message) = refused(&["--model", "nowhere"]);
    assert!(code == Some(4) && message.contains("nowhere"), "{message}");
    let (code, message) = refused(&["--model", model, "--model", model]);
    assert!(code == Some(1) && message.contains("two models"), "{message}");
    let (code, message) = refused(&["--model", model, "--sessions", "redis://127.0.0.1:1/0"]);
    assert!(code == Some(1) && message.contains("Redis"), "{message}");
}

#[test]
fn deployments_use_variables_that_exist() {
    let help = Command::new(assert_cmd::cargo::cargo_bin!("abridge"))
        .args(["serve", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for file in ["deploy/compose.yaml", "deploy/kubernetes.yaml", "serving.md"] {
        let text = std::fs::read_to_string(docs.join(file)).unwrap();
        for part in text.split("ABRIDGE_").skip(1) {
            let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
            let name = format!("ABRIDGE_{}", part.split(|c| !is_name(c)).next().unwrap());
            let is_known =
                help.contains(&format!("[env: {name}=")) || help.contains(&format!("`{name}`"));
            assert!(is_known, "{file}: {name}");
            count += 1;
        }
    }
    assert!(count >= 7, "{count}");
}
