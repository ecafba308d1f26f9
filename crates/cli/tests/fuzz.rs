//! Damaged and hostile files by the thousand: whatever they hold, reading them is an error or a
//! success, never a panic.
//!
//! Files that were found earlier are in `fixtures/fuzz` and are tried first. Then valid files are
//! mutated at random: bits, pieces, numbers, names. CI tries a few hundred of each; for an hour of
//! each:
//!
//! ```sh
//! ABRIDGE_FUZZ_SECONDS=3600 cargo test --workspace --release --test fuzz -- --nocapture
//! ```
//!
//! `ABRIDGE_FUZZ_SEED` gives other mutations. Each case is written to a file in the folder for temporary
//! files before it is tried, so that a hang or an abort leaves it behind, too; the file of a panic is
//! printed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use abridge_base::manifest::Manifest;
use abridge_corpus::{Format, Input, Tokenizer, read};
use abridge_model::weights::{FairseqCheckpoint, ModelDirectory};
use abridge_model::{ModelConfig, Preset, random};
use abridge_train::TrainRecipe;

/// Cases of each kind if no time is given.
const CASES: u64 = 400;

/// What breaks parsers: extreme numbers, half characters, deep nesting, paths that lead elsewhere.
const PIECES: [&[u8]; 22] = [
    b"",
    b"\0",
    b"\xff",
    "é".as_bytes(),
    "\u{feff}".as_bytes(),
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b"18446744073709551615",
    b"9223372036854775808",
    b"null",
    b"{}",
    b"[]",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"\"\"",
    b"../../x",
    b"/etc/passwd",
    b"\n",
    b"\\u0000",
    b"true",
    b"\"\xed\xa0\x80\"",
];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Tries the files found earlier, then mutations of `seeds`.
fn fuzz(target: &str, seeds: &[Vec<u8>], run: &dyn Fn(&[u8])) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut found = None;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzz").join(target);
    let mut known: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    known.sort();
    assert!(!known.is_empty(), "{} is empty", folder.display());
    let kept = std::env::temp_dir().join(format!("abridge-fuzz-{target}-{}", std::process::id()));
    let panics = |bytes: &[u8]| {
        fs::write(&kept, bytes).unwrap();
        catch_unwind(AssertUnwindSafe(|| run(bytes))).is_err()
    };
    for file in known {
        if panics(&fs::read(&file).unwrap()) {
            found = Some(file.display().to_string());
            break;
        }
    }
    let seconds = number("ABRIDGE_FUZZ_SECONDS", 0);
    let key = random::key(&[number("ABRIDGE_FUZZ_SEED", 1), target.len() as u64]);
    let start = Instant::now();
    let mut case = 0;
    while found.is_none() && (case < CASES || start.elapsed() < Duration::from_secs(seconds)) {
        let bytes = mutate(&seeds[case as usize % seeds.len()], random::key(&[key, case]));
        if panics(&bytes) {
            found = Some(format!("case {case}"));
        }
        case += 1;
    }
    std::panic::set_hook(hook);
    println!("{target}: {case} cases in {:.0} s", start.elapsed().as_secs_f64());
    if let Some(name) = found {
        panic!("{target}: {name} panics; it is kept in {}", kept.display());
    }
    fs::remove_file(&kept).unwrap();
}

/// Applies one to four mutations.
fn mutate(seed: &[u8], key: u64) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let mut draws = 0;
    let mut draw = |below: usize| {
        draws += 1;
        (random::value(key, draws) % below.max(1) as u64) as usize
    };
    for _ in 0..=draw(4) {
        let at = draw(bytes.len());
        match draw(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << draw(8),
            1 => bytes.truncate(at),
            2 => {
                let end = (at + draw(64)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + draw(64)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = draw(bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => replace_word(&mut bytes, at, PIECES[draw(PIECES.len())]),
            5 => {
                let piece = PIECES[draw(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            _ if !bytes.is_empty() => bytes[at] = draw(256) as u8,
            _ => {}
        }
    }
    bytes
}

/// Replaces the number, name or text at a position.
fn replace_word(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let start = bytes[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |place| place + 1);
    let length = bytes[start..].iter().position(|byte| !is_word(byte));
    let end = length.map_or(bytes.len(), |length| start + length);
    bytes.splice(start..end, piece.iter().copied());
}

/// A folder with a model.
fn model() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    common::model(folder.path(), Preset::Grouping);
    folder
}

#[test]
fn tokenizers() {
    let folder = model();
    let seed = fs::read(folder.path().join("model/tokenizer.source.json")).unwrap();
    let file = folder.path().join("changed.json");
    fuzz("tokenizer", &[seed], &|bytes| {
        fs::write(&file, bytes).unwrap();
        if let Ok(tokenizer) = Tokenizer::from_file(&file) {
            let ids = tokenizer.encode("The old lamp wäs  broken, said 東京.");
            let _ = tokenizer.decode(&ids);
        }
    });
}

#[test]
fn manifests() {
    let folder = model();
    let directory = folder.path().join("model");
    let sealed = fs::read(directory.join(Manifest::FILE)).unwrap();
    let open = br#"{"format": 1, "tool": "x", "provenance": {"languages": "en-de"},
        "files": {"config.toml": {"bytes": 1, "sha256": "00"}}}"#;
    fuzz("manifest", &[sealed, open.to_vec()], &|bytes| {
        fs::write(directory.join(Manifest::FILE), bytes).unwrap();
        if let Ok(manifest) = Manifest::read(&directory) {
            let plain = |name: &String| !name.contains('/') && !name.starts_with("..");
            assert!(manifest.names().iter().all(plain));
        }
        let _ = ModelDirectory::open(&directory);
    });
}

#[test]
fn configurations() {
    let config = |preset: Preset| preset.config(abridge_model::ModelSize::Tiny, 90, 90, 2);
    let mut seeds: Vec<Vec<u8>> =
        [Preset::Grouping, Preset::PoolingMax].map(|p| config(p).to_toml().into_bytes()).to_vec();
    seeds.push(TrainRecipe::parse("", &[]).unwrap().to_toml().into_bytes());
    fuzz("configuration", &seeds, &|bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(config) = ModelConfig::from_toml(&text) {
            // Names and shapes only: nothing is allocated.
            let model = config.init(1, &burn::tensor::Device::flex()).unwrap();
            assert!(!model.parameters().is_empty());
        }
        if let Ok(recipe) = TrainRecipe::parse(&text, &[]) {
            let _ = recipe.config(90, 90);
        }
    });
}

#[test]
fn archives() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "one line of text\n".repeat(40);
    fs::write(folder.path().join("a.txt"), &lines).unwrap();
    let tar = std::process::Command::new("tar")
        .current_dir(folder.path())
        .args(["-cf", "a.tar", "a.txt"])
        .status()
        .unwrap();
    assert!(tar.success());
    let gzip = std::process::Command::new("gzip")
        .current_dir(folder.path())
        .args(["-k", "a.tar", "a.txt"])
        .status()
        .unwrap();
    assert!(gzip.success());
    let read_seed = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let zstandard = ruzstd::encoding::compress_to_vec(
        lines.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let seeds = [read_seed("a.tar"), read_seed("a.tar.gz"), read_seed("a.txt.gz"), zstandard];
    let file = folder.path().join("changed");
    fuzz("archive", &seeds, &|bytes| {
        fs::write(&file, bytes).unwrap();
        for path in [file.clone(), file.join("a.txt")] {
            let _ = read(&Input { format: Some(Format::Lines), ..Input::new(path) });
        }
    });
}

#[test]
fn checkpoints() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../model/tests/fixtures/checkpoint/grouping.pt");
    let seeds = [fs::read(fixture).unwrap(), b"\x80\x02ctorch\nx\n(X\x01\x00\x00\x00atR.".to_vec()];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("changed.pt");
    fuzz("checkpoint", &seeds, &|bytes| {
        fs::write(&file, bytes).unwrap();
        let Ok(checkpoint) = FairseqCheckpoint::open(&file) else { return };
        if let Ok(config) = checkpoint.infer(Preset::Grouping, 2, 2) {
            let _ = checkpoint.load(&config, &burn::tensor::Device::flex());
        }
    });
}
