//! Which files commands write, and which they leave alone.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use abridge_model::Preset;
use common::{SENTENCES, abridge, model};
use predicates::str::contains;
use tempfile::TempDir;

/// A folder with a model and a text.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path(), Preset::Grouping);
    fs::write(folder.path().join("a.txt"), SENTENCES.join("\n") + "\n").unwrap();
    folder
}

/// Translates quickly, with what the test adds.
fn translate(folder: &Path, arguments: &[&str]) -> assert_cmd::Command {
    let mut command = abridge(folder);
    command.args(["translate", "--model", "model", "--beam", "1", "--max-length", "4", "--quiet"]);
    command.args(arguments);
    command
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn refuse(mut command: assert_cmd::Command, words: &str) {
    command.assert().code(1).stderr(contains(words));
}

#[test]
fn prepare_leaves_what_it_did_not_write() {
    let folder = tempfile::tempdir().unwrap();
    let prepare = |size: &str| {
        let mut command = abridge(folder.path());
        command.args(["prepare", "d", "--practice", "--quiet", "--vocabulary-size", size]);
        command
    };
    prepare("300").assert().success();
    fs::write(folder.path().join("d/thesis.txt"), "years").unwrap();
    refuse(prepare("301"), "holds thesis.txt, which this command did not write");
    assert_eq!(fs::read(folder.path().join("d/thesis.txt")).unwrap(), b"years");
    fs::remove_file(folder.path().join("d/thesis.txt")).unwrap();
    prepare("301").assert().success();
    assert_eq!(names(folder.path()), ["d"]);
}

#[test]
fn no_input_is_overwritten() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let text = fs::read(at("a.txt")).unwrap();
    let stdin = || Stdio::from(fs::File::open(at("a.txt")).unwrap());
    for format in [&[][..], &["--format", "lines"]] {
        let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("abridge"))
            .current_dir(folder.path())
            .args(["translate", "--model", "model", "-o", "a.txt"])
            .args(format)
            .stdin(stdin())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("standard input, which is being read"), "{said}");
    }
    for name in ["b.partial", "c.writing"] {
        fs::copy(at("a.txt"), at(name)).unwrap();
    }
    refuse(translate(folder.path(), &["b.partial", "-o", "b"]), "is being read");
    translate(folder.path(), &["c.writing", "-o", "c"]).assert().success();
    fs::write(at("d.partial"), "notes").unwrap();
    refuse(
        translate(folder.path(), &["a.txt", "-o", "d"]),
        "does not belong to an interrupted job",
    );
    refuse(translate(folder.path(), &["a.txt", "-o", "model/config.toml"]), "is part of model");
    let inspect = |output: &str| {
        let mut command = abridge(folder.path());
        command.args([
            "inspect",
            "--model",
            "model",
            "a.txt",
            "--sentences",
            "1",
            "--html",
            output,
        ]);
        command
    };
    refuse(inspect("a.txt"), "is being read and would be overwritten");
    refuse(inspect("model/MANIFEST.json"), "is part of model");
    let kept = ["a.txt", "b.partial", "c", "c.writing", "d.partial", "model"];
    assert_eq!(names(folder.path()), kept);
    for name in ["a.txt", "b.partial", "c.writing"] {
        assert_eq!(fs::read(at(name)).unwrap(), text, "{name}");
    }
    assert_eq!(fs::read(at("d.partial")).unwrap(), b"notes");
}

#[test]
fn files_that_are_read_without_being_named_are_not_overwritten() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    // Document names beside the source, and the archive around it.
    fs::copy(at("a.txt"), at("talk.en")).unwrap();
    fs::write(at("talk.docids"), "a\n".repeat(SENTENCES.len())).unwrap();
    let tar = std::process::Command::new("tar")
        .current_dir(folder.path())
        .args(["-cf", "a.tar", "talk.en"])
        .status()
        .unwrap();
    assert!(tar.success());
    // A model that is named, and one below a memory.
    fs::create_dir(at("models")).unwrap();
    fs::rename(at("model"), at("models/en-pt")).unwrap();
    let read = ["talk.docids", "a.tar", "models/en-pt/config.toml"];
    let before = read.map(|name| fs::read(at(name)).unwrap());
    for (input, output, words) in [
        ("talk.en", read[0], "is being read and would be overwritten"),
        ("a.tar/talk.en", read[1], "is being read and would be overwritten"),
        ("a.txt", read[2], "is part of "),
    ] {
        let mut command = abridge(folder.path());
        command.env("ABRIDGE_MODELS", at("models"));
        command.args(["translate", "--model", "en-pt", input, "-o", output]);
        refuse(command, words);
    }
    let mut inspect = abridge(folder.path());
    inspect.env("ABRIDGE_MODELS", at("models"));
    inspect.args(["inspect", "--model", "en-pt", "talk.en", "--html", "talk.docids"]);
    refuse(inspect, "is being read");
    let mut make = abridge(folder.path());
    make.args(["contrast", "make", "--source", "a.tar/talk.en", "--target", "talk.en"]);
    make.args(["--output", "a.tar", "--languages", "en-de"]);
    refuse(make, "is being read");
    assert_eq!(before, read.map(|name| fs::read(at(name)).unwrap()));
}

/// A contrastive set of one example.
const SET: &str = r#"[{"src segment": "It is old.", "ref segment": "Sie ist alt.", "src pronoun": "it",
    "ref pronoun": "sie", "errors": [{"contrastive": "Er ist alt.", "replacement": "er"}],
    "src context": ["The lamp is broken."], "ref context": ["Die Lampe ist kaputt."]}]"#;

#[test]
fn scores_replace_neither_the_set_nor_partial_files_of_others() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let contrast = |set: &str, scores: &str| {
        let mut command = abridge(folder.path());
        command.args(["contrast", "--model", "model", "--set", set, "--scores", scores]);
        command.args(["--context-size", "1", "--controls", "none", "--quiet"]);
        command
    };
    fs::write(at("s.none"), SET).unwrap();
    fs::write(at("s.none.part"), "mine").unwrap();
    refuse(contrast("s.none", "s"), "is being read and would be overwritten");
    assert_eq!(fs::read_to_string(at("s.none")).unwrap(), SET);
    fs::rename(at("s.none"), at("set.json")).unwrap();
    contrast("set.json", "s").assert().success();
    assert_eq!(fs::read_to_string(at("s.none.part")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(at("s")).unwrap().lines().count(), 2);
    assert!(!at("s.part").exists());
}

#[test]
fn reports_replace_only_reports() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let reproduce = || {
        let mut command = abridge(folder.path());
        command.args(["reproduce", "--table", "parameters", "--quiet", "-o", "d"]);
        command.args(["--only", "sentence"]);
        command
    };
    fs::create_dir(at("d")).unwrap();
    for name in ["parameters.md", "parameters.csv", "parameters.html"] {
        fs::write(at("d").join(name), "mine").unwrap();
        refuse(reproduce(), "already exists");
        assert_eq!(fs::read(at("d").join(name)).unwrap(), b"mine");
        fs::remove_file(at("d").join(name)).unwrap();
    }
    reproduce().assert().success();
    reproduce().assert().success();
    fs::write(at("d/report.html"), "mine").unwrap();
    let mut demo = abridge(folder.path());
    demo.args(["demo", "-o", "d", "--updates", "1"]);
    refuse(demo, "report.html: already exists");
    assert_eq!(fs::read(at("d/report.html")).unwrap(), b"mine");
    assert!(!at("d/data").exists());
}

#[test]
fn collisions_and_missing_folders_are_found_before_the_work() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for name in ["p", "q", "out"] {
        fs::create_dir(at(name)).unwrap();
    }
    for name in ["p/x.txt", "q/x.txt"] {
        fs::copy(at("a.txt"), at(name)).unwrap();
    }
    refuse(translate(folder.path(), &["p/x.txt", "q/x.txt", "-o", "out"]), "two outputs");
    refuse(translate(folder.path(), &["a.txt", "-o", "nodir/"]), "is not a directory");
    refuse(translate(folder.path(), &["a.txt", "-o", "nodir/a.de"]), "nodir does not exist");
    refuse(translate(folder.path(), &["a.txt", "p/x.txt", "-o", "q/x.txt"]), "is a file");
    assert!(names(&at("out")).is_empty() && !at("nodir").exists());
    translate(folder.path(), &["a.txt", "p/x.txt", "-o", "new/folder"]).assert().success();
    assert_eq!(names(&at("new/folder")), [".abridge", "a.txt", "x.txt"]);
    translate(folder.path(), &["p/x.txt", "-o", "out"]).assert().success();
    // A name derived from the input replaces nothing without --force; a given one does.
    refuse(translate(folder.path(), &["p/x.txt", "-o", "out"]), "--force");
    translate(folder.path(), &["p/x.txt", "-o", "out", "--force"]).assert().success();
    translate(folder.path(), &["p/x.txt", "-o", "out/x.txt"]).assert().success();
    assert_eq!(names(&at("out")), [".abridge", "x.txt"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious"), "kept").unwrap();
    symlink("precious", at("link")).unwrap();
    symlink("precious", at("e.partial")).unwrap();
    refuse(translate(folder.path(), &["a.txt", "-o", "link"]), "is a symbolic link to precious");
    refuse(translate(folder.path(), &["a.txt", "-o", "e"]), "is a symbolic link to precious");
    fs::write(at("secret"), "old").unwrap();
    fs::set_permissions(at("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    translate(folder.path(), &["a.txt", "-o", "secret"]).assert().success();
    assert_eq!(fs::metadata(at("secret")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_ne!(fs::read(at("secret")).unwrap(), b"old");
    assert_eq!(fs::read(at("precious")).unwrap(), b"kept");
    // Devices are written to as they are.
    translate(folder.path(), &["a.txt", "-o", "/dev/null"]).assert().success();
    let stdout = translate(folder.path(), &["a.txt", "-o", "/dev/stdout"]).output().unwrap().stdout;
    assert_eq!(stdout, fs::read(at("secret")).unwrap());
}

#[test]
fn lines_of_several_inputs_stay_apart_and_marks_and_line_ends_are_kept() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("b.txt"), "The old lamp.").unwrap();
    let both = translate(folder.path(), &["b.txt", "b.txt"]).output().unwrap().stdout;
    let one = translate(folder.path(), &["b.txt"]).output().unwrap().stdout;
    assert!(!one.ends_with(b"\n"));
    assert_eq!(both, [&one[..], b"\n", &one].concat());
    let piped = translate(folder.path(), &[]).write_stdin("The old lamp.").output().unwrap().stdout;
    assert_eq!(piped, one);
    let marked =
        translate(folder.path(), &[]).write_stdin("\u{feff}The old lamp.").output().unwrap();
    assert_eq!(marked.stdout, [b"\xef\xbb\xbf", &one[..]].concat());
}

#[test]
fn compressed_inputs_give_plain_outputs() {
    use std::io::Write;
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("out")).unwrap();
    let plain = fs::read(at("a.txt")).unwrap();
    let mut gzip = std::process::Command::new("gzip")
        .stdin(Stdio::piped())
        .stdout(fs::File::create(at("z.txt.gz")).unwrap())
        .spawn()
        .unwrap();
    gzip.stdin.take().unwrap().write_all(&plain).unwrap();
    assert!(gzip.wait().unwrap().success());
    translate(folder.path(), &["z.txt.gz", "-o", "out"]).assert().success();
    assert_eq!(names(&at("out")), [".abridge", "z.txt"]);
    let of = |arguments: &[&str]| {
        let output = translate(folder.path(), arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    assert_eq!(of(&["z.txt.gz"]), of(&["a.txt"]));
    assert_eq!(of(&["--segment", "z.txt.gz"]), of(&["--segment", "a.txt"]));
}

#[test]
fn a_truncated_archive_is_refused() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let lines = "She saw it near the river!\n".repeat(1000);
    fs::write(at("train.en"), &lines).unwrap();
    fs::write(at("train.de"), &lines).unwrap();
    let tar = std::process::Command::new("tar")
        .current_dir(folder.path())
        .args(["-cf", "whole.tar", "train.en", "train.de"])
        .status()
        .unwrap();
    assert!(tar.success());
    let whole = fs::read(at("whole.tar")).unwrap();
    // Within the first member, within the second, and between them.
    for length in [15_000, 40_000, 28_160] {
        fs::write(at("cut.tar"), &whole[..length]).unwrap();
        let mut command = translate(folder.path(), &["cut.tar/train.en"]);
        command.assert().code(2).stderr(contains("cut.tar: the archive is truncated or damaged"));
        let mut prepare = abridge(folder.path());
        prepare.args(["prepare", "p", "--train", "cut.tar/train.en,cut.tar/train.de"]);
        prepare.args(["--vocabulary-size", "30"]);
        prepare.assert().code(2).stderr(contains("truncated or damaged"));
    }
    assert!(!at("p").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error_stops_nothing() {
    let folder = folder();
    let run = |arguments: &[&str]| {
        std::process::Command::new(assert_cmd::cargo::cargo_bin("abridge"))
            .current_dir(folder.path())
            .args(arguments)
            .stderr(fs::File::options().write(true).open("/dev/full").unwrap())
            .output()
            .unwrap()
    };
    let prepared = run(&["prepare", "d", "--practice", "--vocabulary-size", "300"]);
    assert!(prepared.status.success(), "{prepared:?}");
    assert!(folder.path().join("d/manifest.json").is_file());
    let translated = run(&["translate", "--model", "model", "a.txt", "--max-length", "4"]);
    assert!(translated.status.success(), "{translated:?}");
    assert_eq!(run(&["translate", "--model", "nothing", "a.txt"]).status.code(), Some(4));
}

#[cfg(unix)]
#[test]
fn a_closed_standard_error_stops_nothing() {
    let folder = folder();
    let command = |arguments: &[&str]| {
        let mut command = std::process::Command::new("bash");
        let script = "exec \"$0\" \"$@\" 2>&-";
        command.current_dir(folder.path()).args(["-c", script]);
        command.arg(assert_cmd::cargo::cargo_bin("abridge")).args(arguments);
        command
    };
    let piped = |arguments: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        // Its reader has gone.
        drop(reader);
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("abridge"));
        command.current_dir(folder.path()).args(arguments).stderr(writer);
        command
    };
    let code = |mut command: std::process::Command| command.output().unwrap().status.code();
    for (data, output) in [("closed", "a.de"), ("gone", "b.de")] {
        let run = |arguments: &[&str]| match data {
            "closed" => code(command(arguments)),
            _ => code(piped(arguments)),
        };
        let prepare = ["prepare", data, "--practice", "--vocabulary-size", "300"];
        assert_eq!(run(&prepare), Some(0), "{data}");
        assert!(folder.path().join(data).join("manifest.json").is_file());
        let translate = ["translate", "--model", "model", "a.txt", "--max-length", "4"];
        assert_eq!(run(&[&translate[..], &["-o", output]].concat()), Some(0), "{data}");
        let text = fs::read_to_string(folder.path().join(output)).unwrap();
        // No message has taken the place of the missing stream.
        assert_eq!(text.lines().count(), SENTENCES.len(), "{data}");
        assert_eq!(run(&["translate", "--model", "nothing", "a.txt"]), Some(4), "{data}");
    }
}

#[test]
fn names_with_escape_codes_do_not_reach_the_terminal() {
    let folder = folder();
    let name = "\u{1b}[31mred";
    let output = translate(folder.path(), &[name]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stderr.contains(&0x1b), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("\\u{1b}[31mred"));
}
