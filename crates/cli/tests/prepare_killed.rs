//! `prepare` is killed again and again, and continues.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// More than two shards of 131,072 sentences.
const PAIRS: usize = 300_000;

/// Invented pairs in documents of 50.
fn write_text(folder: &Path, pairs: usize) {
    let mut files = [String::new(), String::new(), String::new()];
    for line in 0..pairs {
        writeln!(files[0], "lamp {} river {}", line % 977, line % 91).unwrap();
        writeln!(files[1], "Lampe {} Fluss {}", line % 977, line % 91).unwrap();
        writeln!(files[2], "{}", line / 50).unwrap();
    }
    for (ending, text) in ["en", "de", "docids"].iter().zip(files) {
        fs::write(folder.join(format!("train.{ending}")), text).unwrap();
    }
}

fn prepare(folder: &Path, output: &str, train: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_abridge"));
    command.current_dir(folder).env("RUST_BACKTRACE", "0");
    command.args(["prepare", output, "--train", train, "--valid", "train.en,train.de"]);
    command.args(["--vocabulary-size", "60", "--threads", "2"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn finish(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// All files of a directory.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_preparation_that_is_killed_again_and_again_gives_the_same_directory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_text(folder, PAIRS);
    let start = Instant::now();
    finish(prepare(folder, "whole", "train.en,train.de").spawn().unwrap());
    let step = start.elapsed() / 12;

    let (mut kills, mut continued) = (0, 0);
    loop {
        let mut child = prepare(folder, "killed", "train.en,train.de").spawn().unwrap();
        let end = Instant::now() + step * (kills + 1);
        while child.try_wait().unwrap().is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        let is_done = child.try_wait().unwrap().is_some();
        if !is_done {
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        continued += usize::from(said.contains("continued after") || !said.contains("reading"));
        if is_done {
            assert!(output.status.success(), "after {kills} kills: {said}");
            break;
        }
        kills += 1;
        assert!(kills < 60, "it never ends");
    }
    assert!(kills >= 3 && continued >= 1, "{kills} kills, {continued} continued");
    assert!(content(&folder.join("killed")) == content(&folder.join("whole")));
    let mut left: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.retain(|name| name.to_string_lossy().starts_with('.'));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_came_through_a_pipe_is_not_continued_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_text(folder, 2000);
    let run = |pairs: usize| {
        let mut command = prepare(folder, "out", "-");
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let mut text = String::new();
        for document in 0..pairs / 50 {
            let side = |word| (0..50).map(|n| format!("{word} {}", (document + n) % 977)).collect();
            let [source, target]: [Vec<String>; 2] = ["lamp", "Lampe"].map(side);
            let line = serde_json::json!({ "id": document, "source": source, "target": target });
            writeln!(text, "{line}").unwrap();
        }
        let writer = std::thread::spawn(move || pipe.write_all(text.as_bytes()));
        (child, writer)
    };
    let (mut child, writer) = run(PAIRS);
    // Until its first shard is encoded.
    let encoded = folder.join(".out.preparing/files/train.00000.tokens");
    while !encoded.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    writer.join().unwrap().ok();
    let (child, writer) = run(1000);
    finish(child);
    writer.join().unwrap().unwrap();
    let manifest = fs::read_to_string(folder.join("out/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["splits"][0]["sentences"], 1000);
}
