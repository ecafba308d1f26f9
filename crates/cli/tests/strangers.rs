//! Models, texts and sizes that are malicious or wrong.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use abridge_base::hash;
use abridge_model::Preset;
use common::{SENTENCES, abridge, model};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use tempfile::TempDir;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path(), Preset::Grouping);
    fs::write(folder.path().join("a.txt"), SENTENCES.join("\n") + "\n").unwrap();
    folder
}

fn translate(folder: &Path, arguments: &[&str]) -> assert_cmd::Command {
    let mut command = abridge(folder);
    command.args(["translate", "--model", "model", "--beam", "1", "--quiet"]);
    command.args(arguments).timeout(Duration::from_mins(2));
    command
}

fn quantize(folder: &Path) -> assert_cmd::Command {
    let mut command = abridge(folder);
    command.args(["quantize", "--model", "model", "--to", "f16", "small"]);
    command
}

/// Lists files in a manifest of the first format, which has no seal, as anybody can write it.
fn list(folder: &Path, names: &[&str]) {
    let model = folder.join("model");
    let files = names.iter().map(|name| {
        let bytes = fs::read(model.join(name)).unwrap_or_default();
        let file = serde_json::json!({ "bytes": bytes.len(), "sha256": hash::of_bytes(&bytes) });
        ((*name).to_owned(), file)
    });
    let files: serde_json::Map<String, serde_json::Value> = files.collect();
    let manifest = serde_json::json!({
        "format": 1, "tool": "somebody", "provenance": { "languages": "en-de" }, "files": files,
    });
    fs::write(model.join("MANIFEST.json"), manifest.to_string()).unwrap();
}

const FILES: [&str; 4] =
    ["config.toml", "model.safetensors", "tokenizer.source.json", "tokenizer.target.json"];

#[test]
fn a_manifest_names_only_files_of_its_directory() {
    let folder = folder();
    list(folder.path(), &FILES);
    translate(folder.path(), &["a.txt"]).assert().success();
    fs::write(folder.path().join("precious"), "kept").unwrap();
    let absolute = folder.path().join("precious").to_string_lossy().into_owned();
    for name in ["../precious", absolute.as_str(), "..", "a/../../precious"] {
        list(folder.path(), &[&FILES[..], &[name]].concat());
        let said = || contains("MANIFEST.json").and(contains("is not a plain file name"));
        quantize(folder.path()).assert().code(4).stderr(said());
        translate(folder.path(), &["a.txt"]).assert().code(4).stderr(said());
    }
    list(folder.path(), &[]);
    translate(folder.path(), &["a.txt"]).assert().code(4).stderr(contains("it lists no files"));
    list(folder.path(), &FILES[1..]);
    let said = contains("does not list config.toml");
    translate(folder.path(), &["a.txt"]).assert().code(4).stderr(said);
    assert_eq!(fs::read(folder.path().join("precious")).unwrap(), b"kept");
    assert!(!folder.path().join("small").exists());
}

#[test]
fn average_replaces_averages_only() {
    let folder = folder();
    fs::write(folder.path().join("model/notes.txt"), "mine").unwrap();
    let mut command = abridge(folder.path());
    command.args(["average", "--run", "run", "--last", "1", "--output", "model"]);
    command.assert().code(1).stderr(contains("did not write"));
    assert!(folder.path().join("model/notes.txt").is_file());
    translate(folder.path(), &["a.txt"]).assert().success();
}

/// Changes the configuration of the model and lists it again.
fn configure(folder: &Path, from: &str, to: &str) {
    let file = folder.join("model/config.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&file, text.replace(from, to)).unwrap();
    list(folder, &FILES);
}

#[test]
fn control_characters_in_models_and_texts_do_not_reach_the_terminal() {
    let folder = folder();
    list(folder.path(), &FILES);
    let manifest = folder.path().join("model/MANIFEST.json");
    let text = fs::read_to_string(&manifest).unwrap().replace("en-de", "en-\\u001b[31mde");
    fs::write(&manifest, text).unwrap();
    let document = r#"{"id": "\u001b[31mtalk", "source": ["The \u001b[31mlamp.", "It is old."]}"#;
    fs::write(folder.path().join("a.jsonl"), document).unwrap();
    for (arguments, words) in [
        (&["models", "--installed"][..], "en-\\u{1b}[31mde"),
        (&["inspect", "--model", "model", "a.jsonl"], "document \\u{1b}[31mtalk"),
    ] {
        let mut command = abridge(folder.path());
        let output = command.env("ABRIDGE_MODELS", folder.path()).args(arguments).output().unwrap();
        assert!(!output.stdout.contains(&0x1b), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(words), "{output:?}");
    }
}

#[test]
fn sizes_in_a_configuration_are_not_trusted() {
    for (from, to) in [
        ("encoder_layers = 2", "encoder_layers = 1000000000"),
        ("decoder_layers = 2", "decoder_layers = 400"),
        ("width = 16", "width = 4611686018427387904"),
        ("width = 16", "width = 32768"),
        ("max_positions = 64", "max_positions = 9223372036854775807"),
        ("max_positions = 64", "max_positions = 1000000"),
        ("feed_forward = 24", "feed_forward = 262144"),
        ("source_vocabulary = 70", "source_vocabulary = 8000000"),
        ("context_size = 2", "context_size = 9223372036854775807"),
    ] {
        let folder = folder();
        configure(folder.path(), from, to);
        // In a hundredth of the memory that the sizes would take.
        let status = limited(folder.path(), &["translate", "--model", "model", "a.txt"]);
        let is_harmless = to.contains("max_positions = 1000000");
        assert!(status == Some(4) || is_harmless && status == Some(0), "{to}: {status:?}");
    }
}

/// The exit code of a command that may use 2 GiB.
fn limited(folder: &Path, arguments: &[&str]) -> Option<i32> {
    let output = std::process::Command::new("bash")
        .current_dir(folder)
        .args(["-c", "ulimit -v 2097152; exec \"$0\" \"$@\""])
        .arg(assert_cmd::cargo::cargo_bin("abridge"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    output.status.code()
}

#[test]
fn sizes_in_flags_are_not_trusted() {
    let folder = folder();
    let most = u64::MAX.to_string();
    for (flag, value) in [
        ("--threads", "100000"),
        ("--threads", most.as_str()),
        ("--max-length", most.as_str()),
        ("--max-length", "9223372036854775807"),
        ("--beam", most.as_str()),
        ("--n-best", most.as_str()),
        ("--context", most.as_str()),
        ("--min-length", most.as_str()),
    ] {
        let mut command = abridge(folder.path());
        command.args(["translate", "--model", "model", "a.txt", "--quiet", flag, value]);
        command.assert().code(1).stderr(contains("error: "));
    }
    for arguments in [
        &["profile", "--size", "tiny", "--presets", "sentence", "--tokens", most.as_str()][..],
        &["profile", "--size", "tiny", "--presets", "sentence", "--beam", &most],
        &["bench", "--size", "tiny", "--sentences", "1000000000000"],
        &["mentions", "a.txt", "--model", "model", "--output", "o", "--per-sentence", &most],
        &["evaluate", "a.txt", "--reference", "a.txt", "--samples", "4294967295"],
    ] {
        let mut command = abridge(folder.path());
        command.args(arguments).timeout(Duration::from_mins(1));
        let said = contains("at most").or(contains("more than")).or(contains("not in 1..=1000000"));
        command.assert().code(1).stderr(said);
    }
    let train = |setting: &str| {
        let mut command = abridge(folder.path());
        command.args(["train", "--data", "d", "--run", "r", "--set", setting]);
        command
    };
    let mut prepare = abridge(folder.path());
    prepare.args(["prepare", "d", "--practice", "--vocabulary-size", "300", "--quiet"]);
    prepare.args(["--threads", most.as_str()]).assert().success();
    for setting in [
        "model.change.encoder_layers=1000000000",
        "model.change.width=4611686018427387904",
        "model.change.max_positions=9223372036854775807",
        "batches.per_update=9223372036854775807",
        "batches.run_length=9223372036854775807",
    ] {
        train(setting).assert().code(1).stderr(contains("at most"));
    }
    let too_large = "model.change.width=32768";
    train(too_large).assert().code(1).stderr(contains("parameters"));
}

#[cfg(target_os = "linux")]
#[test]
fn endless_input_is_refused() {
    let folder = folder();
    let zero = || fs::File::open("/dev/zero").unwrap();
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("abridge"))
            .current_dir(folder.path())
            .args(["translate", "--model", "model"])
            .args(arguments)
            .stdin(zero())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&[]);
    assert!(code == Some(2) && said.contains("a line of more than 16 MiB"), "{said}");
    let (code, said) = run(&["--format", "lines"]);
    assert!(code == Some(2) && said.contains("more than 64 MiB"), "{said}");
    let (code, said) = run(&["/dev/zero"]);
    assert!(code == Some(2) && said.contains("is a device, not a file"), "{said}");
    fs::write(folder.path().join("s.en-de.input"), "Will you come?\n").unwrap();
    let set = r#"[{"src segment": "Will you come?", "expected": "du", "rule": "x"}]"#;
    fs::write(folder.path().join("s.en-de.json"), set).unwrap();
    let make = ["contrast", "make", "--source", "a.txt", "--target", "a.txt", "--output", "o"];
    let mentions = ["mentions", "a.txt", "--model", "model", "--output", "o"];
    for (command, flag) in [
        (&make[..], "--swaps"),
        (&mentions, "--genders"),
        (&["train", "--data", "d", "--run", "r"], "--recipe"),
        (&["ctxpro", "--set", "s.en-de"], "--translations"),
    ] {
        let mut command_line = abridge(folder.path());
        command_line.args(command).args([flag, "/dev/zero"]).timeout(Duration::from_mins(1));
        command_line.assert().failure().stderr(contains("is a device, not a file"));
    }
    // Keys may come from a pipe, so only their size is limited.
    let mut serve = abridge(folder.path());
    serve.args(["serve", "--model", "model", "--keys", "/dev/zero"]);
    let said = contains("larger than 1 MiB");
    serve.timeout(Duration::from_mins(1)).assert().failure().stderr(said);
}

#[cfg(unix)]
#[test]
fn special_files_in_a_model_are_refused() {
    use std::os::unix::fs::symlink;
    for name in FILES.iter().chain(&["MANIFEST.json"]) {
        let folder = folder();
        let file = folder.path().join("model").join(name);
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(made.success());
        let said = contains(*name).and(contains("is a FIFO, not a file"));
        translate(folder.path(), &["a.txt"]).assert().code(4).stderr(said);
        fs::remove_file(&file).unwrap();
        symlink("/dev/zero", &file).unwrap();
        let said = contains(*name).and(contains("is a device, not a file"));
        translate(folder.path(), &["a.txt"]).assert().code(4).stderr(said);
    }
}

#[test]
fn a_foreign_tokenizer_does_not_panic() {
    let folder = folder();
    let file = folder.path().join("model/tokenizer.source.json");
    let text = fs::read_to_string(&file).unwrap();
    let strange =
        text.replace("\"continuing_subword_prefix\":null", "\"continuing_subword_prefix\":\"é\"");
    assert_ne!(text, strange);
    fs::write(&file, strange).unwrap();
    list(folder.path(), &FILES);
    let said = contains("the `continuing_subword_prefix` of its model");
    translate(folder.path(), &["a.txt"]).assert().code(2).stderr(said);
}

#[test]
fn weights_that_are_not_finite_are_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let folder = folder();
        let file = folder.path().join("model/model.safetensors");
        let mut bytes = fs::read(&file).unwrap();
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&value.to_le_bytes());
        fs::write(&file, bytes).unwrap();
        list(folder.path(), &FILES);
        let said = contains("values that are not finite");
        translate(folder.path(), &["a.txt"]).assert().code(4).stderr(said);
    }
}

#[test]
fn a_checkpoint_that_names_foreign_functions_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("evil.pt"), b"cos\nsystem\n(S'touch run'\ntR.").unwrap();
    let mut command = abridge(folder.path());
    command.args([
        "import",
        "evil.pt",
        "--preset",
        "sentence",
        "--context-size",
        "0",
        "--output",
        "m",
    ]);
    command.assert().code(4).stderr(contains("evil.pt").and(contains("os.system")));
    assert!(!folder.path().join("run").exists() && !folder.path().join("m").exists());
}

#[test]
fn a_decompression_bomb_does_not_fill_the_memory() {
    let folder = folder();
    let newlines = vec![b'\n'; 256 << 20];
    let bomb = ruzstd::encoding::compress_to_vec(
        &newlines[..],
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    assert!(bomb.len() < 1 << 20);
    fs::write(folder.path().join("bomb.zst"), bomb).unwrap();
    let arguments = ["translate", "--model", "model", "bomb.zst", "--format", "lines"];
    assert_eq!(limited(folder.path(), &arguments), Some(2));
}
