//! The demo can be stopped at any moment, by Ctrl-C or a kill, and resumes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn demo(folder: &Path, updates: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("abridge"));
    command.current_dir(folder).args(["demo", "--updates", updates]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn wait_until(child: &mut Child, is_there: impl Fn() -> bool) {
    while !is_there() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn resumes_after_a_stop_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);

    // Killed while the corpus is being written: it is complete or missing.
    let mut child = demo(folder.path(), "1000000").spawn().unwrap();
    wait_until(&mut child, || path("demo").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!path("demo/data").exists() || path("demo/data/manifest.json").exists());

    // Ctrl-C in training saves both runs.
    let mut child = demo(folder.path(), "1000000").spawn().unwrap();
    let trained = |preset: &str| {
        let metrics = path("demo/runs").join(preset).join("metrics.jsonl");
        fs::read_to_string(metrics).is_ok_and(|text| text.lines().count() > 1)
    };
    wait_until(&mut child, || trained("sentence") && trained("grouping"));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!path("demo/models").exists() && !path("demo/report.html").exists());

    // The same demo with fewer updates than were made ends at once, with models and a report.
    assert!(demo(folder.path(), "1").status().unwrap().success());
    for file in ["models/sentence", "models/grouping"] {
        assert!(path("demo").join(file).join("MANIFEST.json").is_file(), "{file}");
    }
    assert!(path("demo/report.html").is_file());
    let left: Vec<_> =
        fs::read_dir(path("demo")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}
