//! One model learns German and French together, each from its own corpus, and translates into
//! either.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "serving/process.rs"]
mod process;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use process::{request, serve};

const RECIPE: &str = r#"
[languages]
source = "en"
target = "mul"

[tokenizer]
vocabulary_size = 1000

[[corpora]]
name = "german"
target = "de"
[[corpora.train]]
source = "de/text/train.en"
target = "de/text/train.de"
[[corpora.valid]]
source = "de/text/valid.en"
target = "de/text/valid.de"

[[corpora]]
name = "french"
target = "fr"
[[corpora.train]]
source = "fr/text/train.en"
target = "fr/text/train.fr"
[[corpora.valid]]
source = "fr/text/valid.en"
target = "fr/text/valid.fr"
"#;

fn abridge(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(assert_cmd::cargo::cargo_bin("abridge"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(assert_cmd::cargo::cargo_bin("abridge"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The words of a text.
fn words(text: &str) -> Vec<String> {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
    text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect()
}

#[test]
fn one_model_learns_two_languages() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    for language in ["de", "fr"] {
        let pair = format!("--practice=en-{language}");
        abridge(folder, &["prepare", language, &pair, "--quiet"]);
    }
    fs::write(folder.join("several.toml"), RECIPE).unwrap();
    abridge(folder, &["prepare", "data", "--recipe", "several.toml", "--quiet"]);
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/practice.toml");
    let mut training = vec!["train", "--data", "data", "--run", "run", "--quiet", "--recipe"];
    training.push(recipe.to_str().unwrap());
    for setting in [
        "model.context_size=1",
        "model.change.dropout=0.0",
        "batches.per_update=1",
        "optimisation.label_smoothing=0.0",
        "optimisation.schedule.peak=4e-3",
        "optimisation.schedule.warm_up=100",
        "stop.max_updates=400",
        "stop.validate_every=400",
        "validation.sentences=20",
    ] {
        training.extend(["--set", setting]);
    }
    abridge(folder, &training);

    // The same English in each language, with the words of that language and not of the other.
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let known = ["de", "fr"].map(|language| {
        words(&read(&format!("{language}/text/train.{language}")))
            .into_iter()
            .collect::<BTreeSet<_>>()
    });
    let english: Vec<String> =
        read("de/text/valid.en").lines().take(40).map(str::to_owned).collect();
    fs::write(folder.join("text.en"), english.join("\n") + "\n").unwrap();
    for (own, language) in ["de", "fr"].into_iter().enumerate() {
        let to = ["translate", "--model", "run/model", "text.en", "--to", language, "--quiet"];
        let found = words(&abridge(folder, &to));
        assert!(found.len() > 100, "{found:?}");
        let share = |known: &BTreeSet<String>| {
            found.iter().filter(|word| known.contains(*word)).count() as f64 / found.len() as f64
        };
        let (right, wrong) = (share(&known[own]), share(&known[1 - own]));
        println!("{language}: {right} of the words, {wrong} of those of the other language");
        assert!(right > 0.9 && wrong < 0.6, "{language}: {right} against {wrong}");
    }

    // A German reference is more probable as German.
    let sum = |to: &str| {
        let references: Vec<String> =
            read("de/text/valid.de").lines().take(40).map(str::to_owned).collect();
        fs::write(folder.join("text.de"), references.join("\n") + "\n").unwrap();
        let scores = ["score", "--model", "run/model", "text.en", "text.de", "--to", to, "--quiet"];
        let first = |line: &str| line.split('\t').next().unwrap().parse::<f64>().unwrap();
        abridge(folder, &scores).lines().map(first).sum::<f64>()
    };
    let (german, french) = (sum("de"), sum("fr"));
    assert!(german > french + 40.0, "{german} against {french}");

    // A language tag in a sentence takes precedence.
    fs::write(folder.join("named.en"), ">>fr<< The lamp is old.\nThe lamp is old.\n").unwrap();
    let named =
        abridge(folder, &["translate", "--model", "run/model", "named.en", "--to", "de", "-q"]);
    let lines: Vec<&str> = named.lines().collect();
    assert_ne!(lines[0], lines[1]);

    // The server has both languages; one request each gives what `translate` gives.
    let server = serve(&folder.join("run/model"), &[]);
    let document: Vec<&String> = english.iter().filter(|line| !line.is_empty()).take(20).collect();
    let lines: String = document.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    fs::write(folder.join("document.en"), lines).unwrap();
    for (own, language) in ["de", "fr"].into_iter().enumerate() {
        let body = json!({"sentences": document, "target": language, "options": {"beam": 1}});
        let (status, answer) = request(&server, "POST", "/v1/translate", &body);
        assert_eq!(status, 200, "{answer}");
        let translations = answer["translations"].as_array().unwrap();
        let found: Vec<&str> = translations.iter().map(|found| found.as_str().unwrap()).collect();
        let to = ["--to", language, "--beam", "1", "--quiet"];
        let arguments = [&["translate", "--model", "run/model", "document.en"], &to[..]].concat();
        assert_eq!(found, abridge(folder, &arguments).lines().collect::<Vec<_>>(), "{language}");
        let found = words(&found.join(" "));
        let right = found.iter().filter(|word| known[own].contains(*word)).count();
        assert!(10 * right > 9 * found.len(), "{language}: {found:?}");
    }
    drop(server);

    // Contrastive accuracy in one of the languages.
    let set = fs::read(folder.join("de/text/contrastive.json")).unwrap();
    let set: Vec<Value> = serde_json::from_slice(&set).unwrap();
    fs::write(folder.join("few.json"), serde_json::to_vec(&set[..60]).unwrap()).unwrap();
    let contrast = ["contrast", "--model", "run/model", "--set", "few.json", "--to", "de"];
    let found = abridge(folder, &[&contrast[..], &["--json", "--controls", "off"]].concat());
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["contrast"]["report"]["total"]["items"], 60);

    let wrong = |extra: &[&str]| {
        let arguments = ["translate", "--model", "run/model", "named.en", "-q"];
        refused(folder, &[&arguments[..], extra].concat())
    };
    let error = wrong(&["--to", "ru"]);
    assert!(error.contains("`ru`") && error.contains("de, fr"), "{error}");
    let error = wrong(&[]);
    assert!(error.contains("into de, fr") && error.contains("--to de"), "{error}");
}
