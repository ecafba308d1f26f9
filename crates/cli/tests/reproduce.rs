//! `abridge reproduce` really runs: at scale tiny, on the practice corpus, with a handful of updates.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use common::abridge;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

#[test]
fn parameters_equal_the_papers_at_once() {
    let folder = tempfile::tempdir().unwrap();
    abridge(folder.path())
        .args(["reproduce", "--table", "parameters"])
        .assert()
        .success()
        .stdout(contains("| Shortening - Grouping | 1 | 72.58 | 72.58 | 0.00 |"));
    let csv = folder.path().join("reproduction/parameters.csv");
    let csv = fs::read_to_string(csv).unwrap();
    let differences = csv.lines().skip(1).filter_map(|line| line.rsplit(',').next());
    let differences: Vec<f64> = differences.map(|d| d.parse().unwrap()).collect();
    assert_eq!(differences.len(), 10);
    assert!(differences.iter().all(|d| d.abs() < 0.005), "{differences:?}");
}

#[test]
fn a_table_is_trained_kept_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let reproduce = |table: &str| {
        let mut command = abridge(folder);
        command
            .args(["reproduce", "--table", table, "--only", "sentence", "--only", "grouping@2"])
            .args(["--set", "stop.max_updates=2", "--set", "model.change.width=16"])
            .args(["--seeds", "1,2", "--workers", "1", "--test-documents", "2"]);
        command
    };
    // A budget of zero does nothing, says so, and leaves a report with empty cells.
    reproduce("en-de")
        .args(["--budget", "0s"])
        .assert()
        .code(3)
        .stdout(contains("0 of 4 cells are done"))
        .stderr(contains("the same command resumes"));

    reproduce("en-de").assert().success().stdout(
        contains("4 of 4 cells are done")
            .and(contains("| Sentence-level | 0 |"))
            .and(contains(" ± ")),
    );
    let cells = || {
        let mut cells: Vec<_> = fs::read_dir(folder.join("reproduction/cells"))
            .unwrap()
            .map(|entry| entry.unwrap().path().join("outcome.json"))
            .map(|file| (fs::metadata(&file).unwrap().modified().unwrap(), file))
            .collect();
        cells.sort();
        cells
    };
    let made = cells();
    assert_eq!(made.len(), 4);
    // Another table of the same cells reuses them.
    reproduce("antecedent-distance")
        .assert()
        .success()
        .stdout(contains("distance >3 %"))
        .stderr(contains("4 of 4 cells are already done"));
    assert_eq!(cells(), made);
    // COMET comes from the translations that are kept.
    let comet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../evaluate/tests/fixtures/comet");
    reproduce("comet")
        .arg("--comet")
        .arg(comet)
        .assert()
        .success()
        .stdout(contains("| Sentence-level | 0 | - |").not().and(contains("0.7778")));
    let page = fs::read_to_string(folder.join("reproduction/en-de-tiny.html")).unwrap();
    assert!(page.contains("over context size") && page.contains("grouping, paper"));
    let picture = fs::read_to_string(folder.join("reproduction/en-de-tiny.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("accuracy % over context size"));

    // Cells that start from other weights are different cells.
    let mut models = made.iter().map(|(_, file)| file.with_file_name("model"));
    let sentence = models.find(|path| path.to_string_lossy().contains("sentence"));
    reproduce("en-de")
        .arg("--from")
        .arg(sentence.unwrap())
        .assert()
        .success()
        .stdout(contains("every cell starts from model"));
    assert_eq!(cells().len(), 8);

    // A cell with a truncated outcome is finished again, without training again.
    fs::write(&made[0].1, "{\"scores\":").unwrap();
    reproduce("en-de").assert().success().stderr(contains("cell 1 of 1"));
}

/// The command with tiny networks that hardly train, on the first examples of a contrastive set of
/// the practice corpus.
fn quick(folder: &Path, pair: &str, arguments: &[&str]) -> assert_cmd::Command {
    let few = format!("{pair}.json");
    if !folder.join(&few).exists() {
        abridge(folder).args(["practice", "--language", pair, "--output", pair]).assert().success();
        let set = fs::read(folder.join(pair).join("contrastive.json")).unwrap();
        let set: Vec<serde_json::Value> = serde_json::from_slice(&set).unwrap();
        // Spread over the set, so that all distances are there.
        let spread: Vec<_> = set.iter().step_by(set.len() / 24).collect();
        fs::write(folder.join(&few), serde_json::to_vec(&spread).unwrap()).unwrap();
    }
    let mut command = abridge(folder);
    command.arg("reproduce").args(arguments).args(["--workers", "1", "--test-documents", "2"]);
    command.args(["--set", "stop.max_updates=2", "--set", "model.change.width=16"]);
    command.args(["--contrastive", &few]);
    command
}

/// Fields of the rows of a report as CSV that start so: ours, deviation, seeds, paper.
fn rows(folder: &Path, name: &str, start: &str) -> Vec<[Option<f64>; 4]> {
    let csv = fs::read_to_string(folder.join("reproduction").join(name)).unwrap();
    let own = csv.lines().filter_map(|line| line.strip_prefix(start)?.strip_prefix(','));
    let fields = |line: &str| {
        let mut fields = line.split(',').map(|field| field.parse().ok());
        std::array::from_fn(|_| fields.next().flatten())
    };
    own.map(fields).collect()
}

#[test]
fn a_named_sweep_runs_over_its_values_and_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sweep = ["--sweep", "groups", "--only", "grouping", "--seeds", "1,2"];
    quick(folder, "en-de", &sweep)
        .assert()
        .success()
        .stdout(contains("8 of 8 cells are done; seeds 1, 2"));
    for groups in 8..=11 {
        for metric in ["bleu", "accuracy", "mean with random context", "validation loss"] {
            let start = format!("en-de,grouping,1,\"groups={groups}\",{metric}");
            let found = rows(folder, "en-de-tiny-groups.csv", &start);
            let [[Some(_), Some(_), Some(seeds), None]] = found[..] else { panic!("{found:?}") };
            assert!((seeds - 2.0).abs() < 1e-9, "{start}");
        }
    }
    // The numbers of groups are different networks.
    let loss = |groups: usize| {
        let start = format!("en-de,grouping,1,\"groups={groups}\",validation loss");
        rows(folder, "en-de-tiny-groups.csv", &start)[0][0].unwrap()
    };
    assert!((loss(8) - loss(11)).abs() > 1e-9);
}

#[test]
fn distances_and_kept_tokens_of_the_second_pair_share_their_cells() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let only = ["--only", "grouping@1"];
    quick(folder, "en-fr", &[&["--table", "9"], &only[..]].concat())
        .assert()
        .success()
        .stdout(contains("Accuracy by antecedent distance").and(contains("| 1 of 1").not()));
    let set = fs::read_to_string(folder.join("en-fr.json")).unwrap();
    assert!(set.contains("\"elle\"") && !set.contains("\"sie\""), "a French set");
    let found =
        rows(folder, "antecedent-distance-en-fr-tiny.csv", "en-fr,grouping,1,\"\",accuracy at 1");
    let [[Some(ours), None, Some(_), Some(_)]] = found[..] else { panic!("{found:?}") };
    assert!((0.0..=100.0).contains(&ours));

    quick(folder, "en-fr", &[&["--figure", "7"], &only[..]].concat())
        .assert()
        .success()
        .stderr(contains("1 of 1 cells are already done"));
    let file = |ending: &str| {
        let name = format!("reproduction/kept-tokens-en-fr-tiny.{ending}");
        fs::read_to_string(folder.join(name)).unwrap()
    };
    let picture = file("svg");
    assert!(picture.contains("Shortening - Grouping") && !picture.contains("Selecting"));
    assert!(file("html").contains("Latent Grouping"));
}

#[test]
fn comet_at_larger_context_sizes_stands_beside_the_papers() {
    let folder = tempfile::tempdir().unwrap();
    let comet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../evaluate/tests/fixtures/comet");
    quick(
        folder.path(),
        "en-de",
        &["--table", "13", "--only", "grouping@1", "--only", "grouping@4"],
    )
    .arg("--comet")
    .arg(comet)
    .assert()
    .success()
    .stdout(contains("COMET at larger context sizes (Table 13)"));
    for context in [1, 4] {
        let start = format!("en-de,grouping,{context},\"\",comet");
        let found = rows(folder.path(), "larger-context-comet-tiny.csv", &start);
        let [[Some(ours), None, Some(_), Some(paper)]] = found[..] else { panic!("{found:?}") };
        assert!(ours.is_finite() && (0.7..0.8).contains(&paper), "{context}: {found:?}");
    }
}

#[test]
fn the_report_says_what_was_removed_from_the_training_text() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    abridge(folder).args(["practice", "--output", "practice"]).assert().success();
    // Test pairs in the training text.
    for side in ["en", "de"] {
        let text = |split: &str| {
            fs::read_to_string(folder.join(format!("practice/{split}.{side}"))).unwrap()
        };
        let test = text("test").lines().take(40).collect::<Vec<_>>().join("\n") + "\n";
        fs::write(folder.join(format!("practice/train.{side}")), text("train") + &test).unwrap();
    }
    let ids = folder.join("practice/train.docids");
    fs::write(&ids, fs::read_to_string(&ids).unwrap() + &"again\n".repeat(40)).unwrap();
    let files = ["train", "valid", "test"]
        .map(|name| format!("[[{name}]]\nsource = \"{name}.en\"\ntarget = \"{name}.de\"\n"));
    let recipe = format!(
        "[languages]\nsource = \"en\"\ntarget = \"de\"\n[tokenizer]\nvocabulary_size = 400\n{}",
        files.concat()
    );
    fs::write(folder.join("data.toml"), recipe).unwrap();
    // It stays in the report, however often the same command is repeated.
    for _ in 0..2 {
        abridge(folder)
            .args(["reproduce", "--table", "en-de", "--only", "sentence", "--budget", "0s"])
            .args(["--data", "practice", "--data-recipe", "data.toml"])
            .assert()
            .code(3)
            .stdout(contains("- train: overlap removed "));
    }
    let report = fs::read_to_string(folder.join("reproduction/en-de-tiny.md")).unwrap();
    assert!(report.contains("- train: overlap removed "), "{report}");
}

#[test]
fn memory_is_measured_with_trained_models_on_the_test_set() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = abridge(folder.path());
    command.args(["reproduce", "--figure", "5", "--workers", "1", "--test-documents", "4"]).args([
        "--set",
        "stop.max_updates=2",
        "--set",
        "model.change.width=16",
    ]);
    for model in ["grouping", "caching-tokens", "single-encoder"] {
        for context in [1, 10] {
            command.args(["--only", &format!("{model}@{context}")]);
        }
    }
    // Models of context size 3 are measured at 10, and the report says so.
    command
        .assert()
        .success()
        .stdout(contains("context sizes above 3: the models of 3"))
        .stderr(contains("cell 6 of 6: en-de-grouping-c3-seed42"));
    let csv = fs::read_to_string(folder.path().join("reproduction/memory-tiny.csv")).unwrap();
    let value = |model: &str, context: usize, metric: &str| -> f64 {
        let start = format!("en-de,{model},{context},\"\",{metric},");
        let line = csv.lines().find(|line| line.starts_with(&start)).unwrap();
        line[start.len()..].split(',').next().unwrap().parse().unwrap()
    };
    let more = |model: &str, metric: &str| value(model, 10, metric) - value(model, 1, metric);
    for model in ["grouping", "caching-tokens", "single-encoder"] {
        assert!(more(model, "operation") > 0.0 && more(model, "kept") > 0.0, "{csv}");
    }
    assert!(value("single-encoder", 10, "kept") < value("grouping", 1, "kept"), "token ids only");
    // The matrices of joined texts grow most; how fast is tested in `footprint`.
    let matrices = |model: &str| more(model, "with matrices") - more(model, "operation");
    assert!(matrices("single-encoder") > matrices("grouping"), "{csv}");
}

#[test]
fn examples_and_kept_tokens_come_from_the_cells_of_table_2() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    abridge(folder).args(["practice", "--output", "practice"]).assert().success();
    let set = fs::read(folder.join("practice/contrastive.json")).unwrap();
    let set: Vec<serde_json::Value> = serde_json::from_slice(&set).unwrap();
    fs::write(folder.join("few.json"), serde_json::to_vec(&set[..24]).unwrap()).unwrap();
    let reproduce = |arguments: &[&str]| {
        let mut command = abridge(folder);
        command.arg("reproduce").args(arguments).args(["--workers", "1", "--test-documents", "2"]);
        command.args(["--set", "stop.max_updates=2", "--set", "model.change.width=16"]);
        command.args(["--contrastive", "few.json"]);
        command
    };
    // Nothing to show yet.
    reproduce(&["--figure", "4", "--budget", "0s"])
        .assert()
        .code(3)
        .stdout(contains("0 of 2 cells are done"));
    reproduce(&["--figure", "4"]).assert().success().stdout(contains("Figures 4, 6 and 7"));
    let file = |name: &str| folder.join("reproduction").join(name);
    let picture = fs::read_to_string(file("kept-tokens-tiny.svg")).unwrap();
    assert!(
        picture.contains("Shortening - Grouping") && picture.contains("Shortening - Selecting")
    );
    let page = fs::read_to_string(file("kept-tokens-tiny.html")).unwrap();
    assert!(page.contains("Latent Selecting"));

    reproduce(&["--table", "10"])
        .assert()
        .success()
        .stderr(contains("2 of 3 cells are already done"))
        .stdout(contains("of 24 sentences have different pronouns"));
    let page = fs::read_to_string(file("examples-tiny.html")).unwrap();
    assert!(page.contains("Translations that differ in a pronoun (Table 10)"));
    reproduce(&["--table", "2", "--only", "grouping@1", "--only", "sentence"])
        .assert()
        .success()
        .stderr(contains("2 of 2 cells are already done"));
}

#[test]
fn invalid_requests_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (&["--table", "en-de", "--scale", "base"][..], "needs --data"),
        (&["--table", "en-de", "--only", "grouping@7"], "selects no cell"),
        (&["--table", "en-de", "--pair", "en-fr"], "leave --pair out"),
        (&["--table", "en-de", "--budget", "soon"], "not a duration"),
        (&["--table", "comet"], "need --comet"),
        (&["--table", "en-dee"], "possible values"),
        (&["--figure", "2"], "the paper's figures 3 to 7"),
        (&["--table", "7", "--pair", "en-de", "--comet", "x"], "number"),
        (&["--table", "memory", "--vary", "model.change.gate=false,true"], "no scores"),
    ] {
        abridge(folder.path())
            .arg("reproduce")
            .args(arguments)
            .assert()
            .code(1)
            .stderr(contains(part));
    }
}
