//! A model with one sentence of context learns to resolve a pronoun one sentence back; a
//! sentence-level model cannot. Under a minute each, side by side on two cores. A memory that was
//! trained on random contexts shows no gain in any report, where a real one shows a gain in all.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use abridge_corpus::{ContrastiveInput, ContrastiveSet};
use serde_json::Value;

fn abridge(folder: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("abridge"));
    command.current_dir(folder).stderr(Stdio::inherit()).stdout(Stdio::piped());
    command
}

fn train(folder: &Path, preset: &str) -> Child {
    let updates = ["stop.max_updates=750", "stop.validate_every=750"];
    training(folder, "data", preset, preset, &updates).spawn().unwrap()
}

fn training(folder: &Path, data: &str, run: &str, preset: &str, settings: &[&str]) -> Command {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/practice.toml");
    let mut command = abridge(folder);
    command.args(["train", "--data", data, "--run", run, "--workers", "1", "--quiet"]);
    command.arg("--recipe").arg(recipe);
    let preset = format!("model.preset={preset}");
    let common = [
        &preset,
        "model.context_size=1",
        "model.change.dropout=0.0",
        "batches.per_update=1",
        "optimisation.label_smoothing=0.0",
        "optimisation.schedule.peak=4e-3",
        "optimisation.schedule.warm_up=100",
        "validation.sentences=0",
    ];
    for setting in common.iter().chain(settings) {
        command.args(["--set", setting]);
    }
    command
}

fn run(folder: &Path, arguments: &[&str]) {
    assert!(abridge(folder).args(arguments).status().unwrap().success(), "{arguments:?}");
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = abridge(folder).args(arguments).arg("--json").output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Trains a memory a little, starting from the sentence-level model, on text with shuffled
/// sentences: it changes the output, but has nothing to learn from.
fn train_random_memory(folder: &Path) {
    let text = folder.join("data/text");
    let shuffled = folder.join("shuffled");
    fs::create_dir(&shuffled).unwrap();
    for name in ["train.en", "train.de"] {
        let lines = fs::read_to_string(text.join(name)).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        // A prime step that does not divide the number of lines visits each of them once.
        assert!(!lines.len().is_multiple_of(7919));
        let order = (0..lines.len()).map(|n| lines[n * 7919 % lines.len()]);
        fs::write(shuffled.join(name), order.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    }
    fs::copy(text.join("train.docids"), shuffled.join("train.docids")).unwrap();
    let valid = "data/text/valid.en,data/text/valid.de";
    let files = ["--train", "shuffled/train.en,shuffled/train.de", "--valid", valid];
    run(
        folder,
        &[&["prepare", "random-data", "--vocabulary-size", "1000", "--quiet"], &files[..]].concat(),
    );
    let settings =
        ["optimisation.schedule.warm_up=1", "stop.max_updates=100", "stop.validate_every=100"];
    let trained = training(folder, "random-data", "random", "grouping", &settings)
        .args(["--from", "sentence/model"])
        .status();
    assert!(trained.unwrap().success());
}

/// The examples whose antecedent is one sentence back, as a ctxPro set.
fn write_ctxpro(folder: &Path) {
    let set = folder.join("data/text/contrastive.json");
    let set = ContrastiveSet::read(&ContrastiveInput::new(set, "en", "de")).unwrap();
    let items = set.items.iter().filter(|item| item.antecedent_distance == Some(1));
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    for item in items {
        lines.push([item.context.join(" <eos> "), item.source.clone()].join(" <eos> "));
        objects.push(serde_json::json!({
            "src segment": item.source, "ref segment": item.candidates[0],
            "expected": item.pronoun, "rule": item.pronoun, "document id": item.document,
        }));
    }
    fs::write(folder.join("own.en-de.input"), lines.join("\n") + "\n").unwrap();
    fs::write(folder.join("own.en-de.json"), Value::from(objects).to_string()).unwrap();
}

/// Which reports show a gain from what the context says: contrastive accuracy, correct words on
/// ctxPro, CXMI, P-CXMI of pronouns, and F1 of pronouns. Each corrects for its own comparisons.
fn reports_with_gain(folder: &Path, run_name: &str) -> Vec<&'static str> {
    let model = format!("{run_name}/model");
    let texts = ["--source", "data/text/test.en", "--reference", "data/text/test.de"];
    let shown = |controls: &Value| {
        let reading = &controls["reading"];
        let gain = |name: &str, place: usize| {
            reading["significant"][place].as_bool().unwrap()
                && reading[name]["difference"].as_f64().unwrap() > 0.0
        };
        gain("gain", 0) && gain("beyond_random", 2)
    };
    let set = ["--set", "data/text/contrastive.json", "--controls", "all"];
    let contrast = json(folder, &[&["contrast", "--model", &model], &set[..]].concat());
    let own = ["--set", "own.en-de", "--controls", "all", "--beam", "1"];
    let ctxpro = json(folder, &[&["ctxpro", "--model", &model], &own[..]].concat());
    let cxmi = json(folder, &[&["cxmi", "--model", &model, "--tags", "de"], &texts[..]].concat());
    let beyond = &cxmi["cxmi"]["report"]["beyond"];
    assert!(beyond["half_width"].as_f64().unwrap() > 0.0, "the memory does nothing at all");
    let gained = |gain: &Value, p: &Value| {
        p.as_f64().unwrap() < 0.05 && gain["per_sentence"].as_f64().unwrap() > 0.0
    };
    let context = &cxmi["cxmi"]["report"]["context"];
    // The table of CXMI has three tests.
    let three = |gain: &Value| Value::from(3.0 * gain["p_value"].as_f64().unwrap());
    let of_pronouns = &cxmi["cxmi"]["tags"][0];
    assert_eq!(of_pronouns["gain"]["tag"], "pronoun");

    let mut systems = Vec::new();
    for size in ["0", "1"] {
        let name = format!("{run_name}.{size}.de");
        let input = ["data/text/test.en", "--output", &name, "--context-size", size, "--quiet"];
        let beam = ["--beam", "1"];
        run(folder, &[&["translate", "--model", &model], &input[..], &beam].concat());
        systems.push(name);
    }
    let files = [systems[0].as_str(), &systems[1], "--language", "de"];
    let tags = json(folder, &[&["tags"], &files[..], &texts].concat());
    let test = &tags["tags"]["tests"][0];
    assert_eq!(test["tag"], "pronoun");
    let better = test["better_by"].as_f64().unwrap() > 0.0;
    let all = [
        ("contrast", shown(&contrast["contrast"]["controls"])),
        ("ctxpro", shown(&ctxpro["ctxpro"]["controls"])),
        ("cxmi", gained(context, &three(context)) && gained(beyond, &three(beyond))),
        (
            "cxmi --tags",
            gained(&of_pronouns["gain"]["context"], &of_pronouns["holm"])
                && gained(&of_pronouns["gain"]["beyond"], &of_pronouns["holm_beyond"]),
        ),
        ("tags", better && test["holm"].as_f64().unwrap() < 0.05),
    ];
    all.into_iter().filter(|(_, shown)| *shown).map(|(name, _)| name).collect()
}

/// Accuracy by the distance of the antecedent.
fn accuracy(folder: &Path, preset: &str) -> BTreeMap<String, f64> {
    let model = format!("{preset}/model");
    let output = abridge(folder)
        .args(["contrast", "--json", "--set", "data/text/contrastive.json", "--model", &model])
        .output()
        .unwrap();
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["contrast"]["report"]["by_distance"].as_array().unwrap();
    let share = |row: &Value| row["correct"].as_f64().unwrap() / row["items"].as_f64().unwrap();
    rows.iter().map(|row| (row[0].as_str().unwrap().to_owned(), share(&row[1]))).collect()
}

#[test]
fn context_resolves_what_a_sentence_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let prepared =
        abridge(folder.path()).args(["prepare", "data", "--practice", "--quiet"]).status();
    assert!(prepared.unwrap().success());
    let running = ["sentence", "grouping"].map(|preset| train(folder.path(), preset));
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    let (sentence, grouping) =
        (accuracy(folder.path(), "sentence"), accuracy(folder.path(), "grouping"));
    println!("sentence {sentence:?}\ngrouping {grouping:?}");
    for model in [&sentence, &grouping] {
        assert!(model["0"] >= 0.9, "in the same sentence no context is needed: {model:?}");
        assert!((model["2"] - 1.0 / 3.0).abs() <= 0.05, "too far for both: {model:?}");
    }
    assert!((sentence["1"] - 1.0 / 3.0).abs() <= 0.05, "chance: {sentence:?}");
    assert!(grouping["1"] >= 0.8, "{grouping:?}");

    // Every report distinguishes a memory that helps from one that does not.
    train_random_memory(folder.path());
    write_ctxpro(folder.path());
    let none: [&str; 0] = [];
    assert_eq!(reports_with_gain(folder.path(), "random"), none);
    assert_eq!(
        reports_with_gain(folder.path(), "grouping"),
        ["contrast", "ctxpro", "cxmi", "cxmi --tags", "tags"]
    );

    // Quantising to int8 keeps the accuracy.
    let quantised = abridge(folder.path())
        .args(["quantize", "--model", "grouping/model", "--to", "int8", "int8/model"])
        .status();
    assert!(quantised.unwrap().success());
    let int8 = accuracy(folder.path(), "int8");
    for (distance, share) in &grouping {
        assert!((int8[distance] - share).abs() <= 0.05, "{int8:?} after {grouping:?}");
    }
}
