//! `abridge serve` as a process: how it ends, how it handles load, how replicas share documents.
//!
//! Tests that need a Redis server or minutes run only on request; `.ci/run` runs them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod balancer;
mod load;
mod outside;
mod process;
mod replicas;
mod soak;

use std::io::{Read, Write};
use std::process::Command;

use serde_json::json;

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
fn a_second_signal_ends_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    let sentences = vec!["it was a lamp.".to_owned(), "the river saw it.".to_owned()];
    write_model(&model, &sentences);
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut server = serve(&model, &["--drain", "3600", "--deadline", "3600"]);
        let long = json!({"sentences": vec![&sentences[0]; 256],
            "options": {"beam": 16, "max_length": 1000}, "stream": true});
        let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
        let body = long.to_string();
        let head =
            "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        // Its first event has arrived, so the request is running.
        stream.read_exact(&mut [0; 200]).unwrap();
        let process = server.child.id().to_string();
        let tell =
            || assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
        tell();
        // The server has received the first signal once it accepts no more connections.
        while std::net::TcpStream::connect(&server.address).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(server.child.try_wait().unwrap().is_none(), "it lets the request finish");
        tell();
        assert_eq!(server.child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn mistakes_are_explained() {
    let refused_with = |keys: Option<&str>, arguments: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("abridge"));
        command.arg("serve").args(arguments);
        if let Some(keys) = keys {
            command.env("ABRIDGE_KEYS", keys);
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let refused = |arguments: &[&str]| refused_with(None, arguments);
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
    // Values with which it could not start or could not answer.
    for (flag, value) in [
        ("--threads", "100000"),
        ("--threads", "0"),
        ("--max-connections", "18446744073709551615"),
        ("--max-connections", "0"),
        ("--max-at-work", "0"),
        ("--deadline", "1e18"),
        ("--idle-timeout", "0"),
    ] {
        let (code, message) = refused(&["--model", model, flag, value]);
        assert!(code == Some(1) && message.contains(&format!("{flag} is")), "{flag}: {message}");
    }
    for keys in ["", "\n# none yet\n"] {
        let (code, message) = refused_with(Some(keys), &["--model", model]);
        assert!(code == Some(1) && message.contains("ABRIDGE_KEYS contains no key"), "{message}");
    }
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

#[test]
fn the_threat_model_names_tests_that_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/threat-model.md")).unwrap();
    let is_file = |part: &&str| part.contains("/tests/") || part.contains("/src/");
    let files: Vec<&str> = text.split('`').skip(1).step_by(2).filter(is_file).collect();
    for file in &files {
        assert!(root.join("crates").join(file).exists(), "{file}");
    }
    assert!(files.len() > 25, "{files:?}");
}
