//! `abridge translate` and `abridge score` as users see them: formats, pipes, odd text, accidents.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use abridge_base::hash::Hasher;
use abridge_model::Preset;
use abridge_model::weights::ModelDirectory;
use abridge_translate::BeamSettings;
use assert_cmd::Command;
use common::{SENTENCES, abridge, model};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::{Value, json};
use tempfile::TempDir;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path(), Preset::Grouping);
    folder
}

fn translate(folder: &Path) -> Command {
    let mut command = abridge(folder);
    command.args(["translate", "--model", "model", "--max-length", "8", "--beam", "2"]);
    command
}

/// The standard output of a translation that must succeed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Starts a translation whose standard input stays open.
fn start(folder: &Path) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin("abridge"))
        .current_dir(folder)
        .args(["translate", "--model", "model", "--max-length", "8", "--beam", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_pipe_gives_what_a_file_gives() {
    let folder = folder();
    let text = format!("{}\n\n{}\n", SENTENCES[..3].join("\n"), SENTENCES[3..].join("\n"));
    fs::write(folder.path().join("text.en"), &text).unwrap();
    let from_file = output(translate(folder.path()).arg("text.en"));
    assert_eq!(from_file.lines().count(), 7);
    assert_eq!(output(translate(folder.path()).write_stdin(text.clone())), from_file);
    assert_eq!(output(translate(folder.path()).arg("-").write_stdin(text.clone())), from_file);
    let parts = translate(folder.path()).args(["--threads", "1", "text.en"]).output().unwrap();
    assert_eq!(String::from_utf8(parts.stdout).unwrap(), from_file);
    assert!(String::from_utf8(parts.stderr).unwrap().contains("|context 2|beam 2|"));
    // Context matters: the same sentences without context are translated differently.
    let alone = output(translate(folder.path()).args(["--context-size", "0", "text.en"]));
    assert_ne!(alone, from_file);
}

#[test]
fn every_line_is_translated_before_the_next_is_sent() {
    let folder = folder();
    let mut child = start(folder.path());
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    let mut questions = child.stdin.take().unwrap();
    for sentence in SENTENCES {
        writeln!(questions, "{sentence}").unwrap();
        questions.flush().unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert!(answer.len() > 1);
    }
    drop(questions);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_pipe_is_success() {
    let folder = folder();
    let mut child = start(folder.path());
    drop(child.stdout.take().unwrap());
    let mut questions = child.stdin.take().unwrap();
    // The child may be gone before everything is sent.
    for _ in 0..50 {
        let _ = writeln!(questions, "{}", SENTENCES[0]);
    }
    drop(questions);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
}

#[test]
fn odd_text_loses_no_line() {
    let folder = folder();
    let lines = [
        "",
        "   ",
        "The old lamp.",
        "\u{1F600}\u{1F680} \u{1F469}\u{200d}\u{1F469}\u{200d}\u{1F467}",
        "\u{7}\u{1b}[31m bell and colour \u{0}\u{b}",
        "هذا نص من اليمين إلى اليسار",
        "עברית \u{202e} and back",
        "ᚠᛇᚻ᛫ᛒᛦᚦ 𓀀𓂀 ꙮ",
        "a\u{301}\u{301}\u{301}\u{301}",
        "\r",
        "It was dark.\r",
        "tab\tand\u{2028}separators\u{85}inside",
        "",
    ];
    let text = lines.join("\n") + "\n";
    let answered = output(translate(folder.path()).write_stdin(text.clone()));
    assert_eq!(answered.matches('\n').count(), lines.len(), "{answered:?}");
    // A file with a zero byte is not text; without it all lines come back.
    let text = text.replace('\0', "");
    fs::write(folder.path().join("odd.en"), &text).unwrap();
    let translated = output(translate(folder.path()).arg("odd.en"));
    assert_eq!(translated.matches('\n').count(), lines.len(), "{translated:?}");
    fs::write(folder.path().join("blank.en"), "\n\n \n\n").unwrap();
    assert_eq!(output(translate(folder.path()).arg("blank.en")), "\n\n \n\n");
    fs::write(folder.path().join("empty.en"), "").unwrap();
    assert_eq!(output(translate(folder.path()).arg("empty.en")), "");
}

#[test]
fn a_line_that_is_too_long_is_translated_in_parts_and_reported() {
    let folder = folder();
    let long = SENTENCES.join(" ").repeat(20);
    let text = format!("{}\n{long}\n{}\n", SENTENCES[0], SENTENCES[1]);
    fs::write(folder.path().join("long.en"), text).unwrap();
    let done = translate(folder.path()).arg("long.en").output().unwrap();
    assert!(done.status.success());
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("long.en:2:") && said.contains("parts"), "{said}");
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(text.lines().nth(1).unwrap().len() > 200, "all parts are there");
}

/// Greedy and short, because these inputs have hundreds of parts.
fn quick(folder: &Path) -> Command {
    let mut command = abridge(folder);
    command.args(["translate", "--model", "model", "--max-length", "2", "--beam", "1"]);
    command
}

#[test]
fn ten_thousand_words_and_a_million_bytes_on_a_line() {
    let folder = folder();
    let words = "lamp river bread street house ".repeat(2_000);
    let bytes = "x".repeat(1_000_000);
    let text = format!("{words}\n{bytes}\nIt was.\n");
    fs::write(folder.path().join("huge.en"), text).unwrap();
    let done = quick(folder.path()).arg("huge.en").output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{said}");
    assert_eq!(String::from_utf8(done.stdout).unwrap().lines().count(), 3);
    assert!(said.contains("huge.en:1:") && said.contains("huge.en:2:"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_that_names_the_file() {
    let folder = folder();
    fs::write(folder.path().join("text.en"), "It was.\n").unwrap();
    translate(folder.path())
        .args(["text.en", "--output", "/dev/full"])
        .assert()
        .code(2)
        .stderr(contains("/dev/full").and(contains("No space left")));
}

#[test]
fn json_has_scores_tokens_and_alignments() {
    let folder = folder();
    fs::write(folder.path().join("text.en"), SENTENCES.join("\n")).unwrap();
    let text = output(translate(folder.path()).args(["text.en", "--json", "--n-best", "2"]));
    let objects: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(objects.len(), SENTENCES.len());
    let plain = output(translate(folder.path()).arg("text.en"));
    for ((index, object), plain) in objects.iter().enumerate().zip(plain.lines()) {
        assert_eq!(object["document"], "1");
        assert_eq!(object["index"], index);
        assert_eq!(object["source"], SENTENCES[index]);
        assert_eq!(object["translation"], *plain);
        assert_eq!(object["n_best"].as_array().unwrap().len(), 2);
        assert_eq!(object["n_best"][0]["translation"], object["translation"]);
        let tokens = object["tokens"].as_array().unwrap();
        let sum: f64 = tokens.iter().map(|token| token["score"].as_f64().unwrap()).sum();
        let score = object["score"].as_f64().unwrap();
        assert!((sum / tokens.len() as f64 - score).abs() < 1e-4);
        let words = object["target_words"].as_array().unwrap().len();
        assert_eq!(object["alignment"].as_array().unwrap().len(), words);
        for pair in object["alignment"].as_array().unwrap() {
            let source = pair[0].as_u64().unwrap() as usize;
            assert!(source < object["source_words"].as_array().unwrap().len());
        }
    }
    let lists = output(translate(folder.path()).args(["text.en", "--n-best", "2"]));
    assert_eq!(lists.lines().count(), 2 * SENTENCES.len());
    assert!(lists.starts_with("0 ||| "), "{lists}");
    let streamed = output(
        translate(folder.path())
            .args(["--json", "--n-best", "2"])
            .write_stdin(SENTENCES.join("\n")),
    );
    assert_eq!(streamed.lines().count(), SENTENCES.len());
}

#[test]
fn explanations_name_sentences_and_words() {
    for preset in Preset::ALL {
        let folder = tempfile::tempdir().unwrap();
        model(folder.path(), preset);
        fs::write(folder.path().join("text.en"), SENTENCES.join("\n")).unwrap();
        let text = output(translate(folder.path()).args(["text.en", "--explain"]));
        assert!(SENTENCES.iter().all(|sentence| text.contains(sentence)), "{preset}: {text}");
    }
}

#[test]
fn prose_comes_back_in_its_paragraphs() {
    let folder = folder();
    let text = format!("{}\n\n  {}\n", SENTENCES[..2].join(" "), SENTENCES[2..].join("  "));
    fs::write(folder.path().join("book.txt"), &text).unwrap();
    let whole = output(translate(folder.path()).args(["--segment", "book.txt"]));
    assert_eq!(whole.lines().count(), 3, "{whole}");
    assert!(whole.lines().nth(2).unwrap().starts_with("  "));
    // The sentences are one document, translated as lines would be.
    fs::write(folder.path().join("lines.en"), SENTENCES.join("\n")).unwrap();
    let lines = output(translate(folder.path()).arg("lines.en"));
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(whole, format!("{}\n\n  {}\n", lines[..2].join(" "), lines[2..].join("  ")));
    assert_eq!(output(translate(folder.path()).arg("--segment").write_stdin(text)), whole);
}

#[test]
fn sampling_is_repeated_by_its_seed() {
    let folder = folder();
    fs::write(folder.path().join("text.en"), SENTENCES.join("\n")).unwrap();
    let sample = |seed: &str| {
        let flags =
            ["text.en", "--sample", "--top-k", "30", "--temperature", "1.5", "--seed", seed];
        output(translate(folder.path()).args(flags))
    };
    assert_eq!(sample("1"), sample("1"));
    assert_ne!(sample("1"), sample("2"));
}

#[test]
fn an_interrupted_job_resumes_where_it_stopped() {
    let folder = folder();
    let text = SENTENCES.join("\n") + "\n";
    fs::write(folder.path().join("text.en"), &text).unwrap();
    let whole = output(translate(folder.path()).arg("text.en"));
    translate(folder.path()).args(["text.en", "-o", "out.de"]).assert().success();
    let out = folder.path().join("out.de");
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);
    let partial = folder.path().join("out.de.partial");
    assert!(!partial.exists());

    // As after a crash in the fourth sentence; the second was changed to show that it is kept.
    fs::remove_file(&out).unwrap();
    let settings = BeamSettings { beam: 2, max_length: 8, ..BeamSettings::default() };
    let mut input = Hasher::new();
    input.count(SENTENCES.len());
    for sentence in SENTENCES {
        input.text(sentence);
    }
    let model = ModelDirectory::open(&folder.path().join("model")).unwrap();
    let header = json!({
        "format": 1,
        "input": input.finish(),
        "model": model.weights_hash(),
        "settings": format!("{} context None Text", serde_json::to_string(&settings).unwrap()),
    });
    let line = |number: usize| json!({ "text": whole.lines().nth(number).unwrap() }).to_string();
    let lines = [header.to_string(), line(0), json!({ "text": "KEPT" }).to_string(), line(2)];
    fs::write(&partial, lines.join("\n") + "\n{\"text\":").unwrap();

    let resume = |extra: &[&str]| {
        let mut command = translate(folder.path());
        command.args(["text.en", "-o", "out.de", "--resume"]).args(extra);
        command
    };
    resume(&["--context-size", "1"]).assert().failure().stderr(contains("other settings"));
    resume(&[]).assert().success().stderr(contains("3 of 6 sentences are already finished"));
    let mut expected: Vec<&str> = whole.lines().collect();
    expected[1] = "KEPT";
    assert_eq!(fs::read_to_string(&out).unwrap(), expected.join("\n") + "\n");
    assert!(!partial.exists());
}

#[test]
fn formats_are_preserved() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.vtt"), "WEBVTT\n\n00:01.000 --> 00:02.000\nThe old lamp.\n").unwrap();
    fs::write(path("b.jsonl"), "{\"id\": \"x\", \"source\": [\"It was.\", \"He left.\"]}\n")
        .unwrap();
    fs::write(path("c.xml"), "<doc docid=\"1\">\n<seg id=\"1\"> It was. </seg>\n</doc>\n").unwrap();
    fs::create_dir(path("out")).unwrap();
    translate(folder.path()).args(["a.vtt", "b.jsonl", "c.xml", "-o", "out"]).assert().success();
    assert!(fs::read_to_string(path("out/a.vtt")).unwrap().contains("00:01.000 --> 00:02.000"));
    let json: Value =
        serde_json::from_str(&fs::read_to_string(path("out/b.jsonl")).unwrap()).unwrap();
    assert_eq!(json["target"].as_array().unwrap().len(), 2);
    assert!(fs::read_to_string(path("out/c.xml")).unwrap().contains("<seg id=\"1\">"));
    translate(folder.path()).args(["a.vtt", "b.jsonl", "-o", "new"]).assert().success();
    assert_eq!(fs::read(path("new/a.vtt")).unwrap(), fs::read(path("out/a.vtt")).unwrap());
    fs::write(path("one.txt"), "").unwrap();
    translate(folder.path()).args(["a.vtt", "b.jsonl", "-o", "one.txt"]).assert().code(1);
    translate(folder.path()).args(["a.vtt", "-o", "a.vtt"]).assert().code(1);
    let subtitles = "1\n00:00:01,000 --> 00:00:02,000\nIt was.\n";
    let out = output(translate(folder.path()).args(["--format", "srt"]).write_stdin(subtitles));
    assert!(out.contains("00:00:01,000 --> 00:00:02,000"), "{out}");
}

#[test]
fn scores_of_several_translations_are_those_of_each_alone() {
    let folder = folder();
    fs::write(folder.path().join("a.en"), SENTENCES[..3].join("\n")).unwrap();
    fs::write(folder.path().join("a.de"), SENTENCES[3..].join("\n")).unwrap();
    fs::write(folder.path().join("b.de"), "It was.\nHe left.\nA bird.\n").unwrap();
    let score = |files: &[&str]| {
        output(abridge(folder.path()).args(["score", "--model", "model", "a.en"]).args(files))
    };
    let (both, first, second) = (score(&["a.de", "b.de"]), score(&["a.de"]), score(&["b.de"]));
    let numbers =
        |line: &str| -> Vec<f64> { line.split('\t').map(|n| n.parse().unwrap()).collect() };
    for ((both, first), second) in both.lines().zip(first.lines()).zip(second.lines()) {
        let apart = [numbers(first), numbers(second)].concat();
        assert!(numbers(both).iter().zip(&apart).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!((apart[0] / apart[2] - apart[1]).abs() < 1e-4, "sum, mean, tokens: {first}");
    }
    let json = score(&["a.de", "b.de", "--json"]);
    let object: Value = serde_json::from_str(json.lines().nth(1).unwrap()).unwrap();
    assert_eq!(object["candidates"].as_array().unwrap().len(), 2);
    assert_eq!(object["candidates"][1]["translation"], "He left.");
    abridge(folder.path())
        .args(["score", "--model", "model", "a.en"])
        .assert()
        .code(2)
        .stderr(contains("no translation"));
    fs::write(folder.path().join("long.en"), format!("It was.\n{}\n", SENTENCES.join(" ")))
        .unwrap();
    fs::write(folder.path().join("long.de"), "It was.\nIt was.\n").unwrap();
    abridge(folder.path())
        .args(["score", "--model", "model", "long.en", "long.de"])
        .assert()
        .code(2)
        .stderr(contains("sentence 2").and(contains("at most 64; split it")));
}

#[test]
fn invalid_settings_are_refused_with_a_remedy() {
    let folder = folder();
    fs::write(folder.path().join("text.en"), "It was.\n").unwrap();
    for (flags, reason) in [
        (&["--context-size", "5000"][..], "segment embeddings"),
        (&["--n-best", "5"], "set the beam to 5"),
        (&["--min-length", "99"], "at least 99"),
        (&["--sample", "--top-p", "2"], "(0, 1]"),
        (&["--threads", "0"], "--threads"),
    ] {
        let mut command = translate(folder.path());
        command.arg("text.en").args(flags).assert().code(1).stderr(contains(reason));
    }
}

#[test]
fn damaged_and_foreign_model_directories_say_what_is_wrong() {
    let folder = folder();
    let model = folder.path().join("model");
    fs::write(folder.path().join("text.en"), "It was.\n").unwrap();
    let names: Vec<String> = fs::read_dir(&model)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.len() >= 5, "{names:?}");
    for name in &names {
        let file = model.join(name);
        let whole = fs::read(&file).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 4;
        for (damage, bytes) in [
            ("cut", Some(&whole[..whole.len() / 2])),
            ("empty", Some(&[][..])),
            ("flipped", Some(&flipped[..])),
            ("gone", None),
        ] {
            match bytes {
                Some(bytes) => fs::write(&file, bytes).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            let done = translate(folder.path()).arg("text.en").output().unwrap();
            let said = String::from_utf8(done.stderr).unwrap();
            // One flipped bit of the manifest may hit a word of its provenance.
            if damage == "flipped" && name == "MANIFEST.json" && done.status.success() {
                continue;
            }
            assert_eq!(done.status.code(), Some(4), "{name} {damage}: {said}");
            assert!(
                said.contains("model") && !said.contains("this is a bug"),
                "{name} {damage}: {said}"
            );
            if name != "MANIFEST.json" {
                assert!(said.contains(name), "{name} {damage}: {said}");
            }
        }
        fs::write(&file, whole).unwrap();
    }
    let foreign = folder.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("model.bin"), "x").unwrap();
    abridge(folder.path())
        .args(["translate", "--model", "foreign", "text.en"])
        .assert()
        .code(4)
        .stderr(contains("MANIFEST.json").and(contains("is this a model directory?")));
}
