//! Training on several corpora at once: shares, phases, validation of each, and exact resumes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use abridge_corpus::practice::{PracticeConfig, generate};
use abridge_corpus::prepare::{CorpusRecipe, InputFiles, Recipe, Request, Silent, prepare};
use abridge_train::{Event, Options, RunPaths, Training};
use burn::tensor::Device;

use common::{go_on, one_worker, open_with, recipe};

/// Two corpora in one directory, the second a third of the first.
fn data(folder: &Path, weights: [Option<f64>; 2]) -> std::path::PathBuf {
    let mut recipe = Recipe::practice(PracticeConfig::default().language);
    recipe.tokenizer.vocabulary_size = 500;
    for (index, (name, documents)) in [("large", 60), ("small", 20)].into_iter().enumerate() {
        let config = PracticeConfig {
            seed: index as u64 + 1,
            train_documents: documents,
            valid_documents: 5,
            test_documents: 1,
            ..PracticeConfig::default()
        };
        generate(&config).unwrap().write(config.language, &folder.join(name)).unwrap();
        let files = |split: &str| {
            vec![InputFiles {
                source: format!("{name}/{split}.en").into(),
                target: Some(format!("{name}/{split}.de").into()),
                ..InputFiles::default()
            }]
        };
        recipe.corpora.push(CorpusRecipe {
            name: name.into(),
            weight: weights[index],
            train: files("train"),
            valid: files("valid"),
            ..CorpusRecipe::default()
        });
    }
    let output = folder.join("prepared");
    let request =
        Request { recipe: &recipe, data: folder, output: &output, threads: 1, force: false };
    prepare(&request, &mut Silent).unwrap();
    output
}

/// The share of the second corpus in each update.
fn shares(events: &[Event]) -> Vec<f64> {
    let share = |event: &Event| match event {
        Event::Updated { corpora, tokens, .. } => {
            assert_eq!(corpora.values().sum::<u64>(), *tokens as u64, "no token is lost");
            Some(corpora["small"] as f64 / *tokens as f64)
        }
        _ => None,
    };
    events.iter().filter_map(share).collect()
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

#[test]
fn corpora_are_drawn_by_weight_and_validated_separately() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path(), [None, None]);
    let train = |run: &str, settings: &[&str]| {
        let mut all = vec!["stop.max_updates=20"];
        all.extend(settings);
        let mut training =
            open_with(recipe(&all), &data, &folder.path().join(run), one_worker()).unwrap();
        go_on(&mut training).1
    };
    // By size; at a temperature; by weights; first one corpus, then both.
    let by_size = mean(&shares(&train("size", &[])));
    assert!((0.15..0.35).contains(&by_size), "{by_size}");
    let flat = mean(&shares(&train("flat", &["mixture.temperature=1000"])));
    assert!((flat - 0.5).abs() < 0.05, "{flat}");
    let weights = ["mixture.weights={large=1,small=3}"];
    let events = train("weights", &weights);
    let weighted = mean(&shares(&events));
    assert!((weighted - 0.75).abs() < 0.05, "{weighted}");
    let phases = [
        "mixture.phases=[{until=10,weights={large=1}},{weights={large=1,small=1}}]",
        "validation.corpora=[\"small\"]",
    ];
    let scheduled = train("phases", &phases);
    let by_update = shares(&scheduled);
    assert!(mean(&by_update[..10]).abs() < 1e-12, "{by_update:?}");
    assert!((mean(&by_update[10..]) - 0.5).abs() < 0.1, "{by_update:?}");

    let validated = |events: &[Event]| match events.last().unwrap() {
        Event::Validated { loss, corpora, seen, .. } => (*loss, corpora.clone(), seen.clone()),
        other => panic!("{other:?}"),
    };
    let (loss, corpora, seen) = validated(&events);
    let (large, small) = (corpora["large"].loss, corpora["small"].loss);
    assert!(loss > large.min(small) && loss < large.max(small), "{large} {loss} {small}");
    assert!((seen["small"].share - 0.75).abs() < 0.05 && seen["small"].passes > 0.0, "{seen:?}");
    let (loss, corpora, _) = validated(&scheduled);
    assert!((loss - corpora["small"].loss).abs() < 1e-12, "the named corpus decides alone");

    // The weights of the data apply if the recipe has none.
    let other = tempfile::tempdir().unwrap();
    let data = self::data(other.path(), [Some(1.0), Some(1.0)]);
    let run = other.path().join("run");
    let mut training =
        open_with(recipe(&["stop.max_updates=20"]), &data, &run, one_worker()).unwrap();
    let even = mean(&shares(&go_on(&mut training).1));
    assert!((even - 0.5).abs() < 0.05, "{even}");
}

#[test]
fn an_interrupted_run_is_bit_identical() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path(), [None, None]);
    let settings = [
        "stop.max_updates=24",
        "mixture.phases=[{until=9,weights={large=2,small=1}},{weights={large=1,small=4}}]",
        "context.drop=0.2",
    ];
    let weights = |stops: &[u64]| {
        let run = folder.path().join(format!("run-{}", stops.len()));
        for &stop in stops {
            let mut training = open_with(recipe(&settings), &data, &run, one_worker()).unwrap();
            let flag = AtomicBool::new(false);
            training
                .run(&flag, &mut |event| {
                    if matches!(event, Event::Updated { update, .. } if *update == stop) {
                        flag.store(true, Ordering::Relaxed);
                    }
                })
                .unwrap();
        }
        let mut training = open_with(recipe(&settings), &data, &run, one_worker()).unwrap();
        go_on(&mut training);
        let position = training.state().position.clone();
        drop(training);
        let checkpoint = run.join("checkpoints/update-00000024");
        (fs::read(checkpoint.join("model.safetensors")).unwrap(), position)
    };
    let whole = weights(&[]);
    assert_eq!(weights(&[4, 9, 17]), whole);
}

#[test]
fn another_mixture_needs_force_and_continues_in_each_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path(), [None, None]);
    let run = folder.path().join("run");
    let settings = ["stop.max_updates=10", "mixture.weights={large=1,small=1}"];
    let mut training = open_with(recipe(&settings), &data, &run, one_worker()).unwrap();
    go_on(&mut training);
    let before = training.state().position.clone();
    drop(training);
    let other = || recipe(&["stop.max_updates=20", "mixture.weights={small=1}"]);
    let error = open_with(other(), &data, &run, one_worker()).err().unwrap().to_string();
    assert!(error.contains("mixture.weights.large is not set, but was 1"), "{error}");
    let forced = Options { force: true, ..one_worker() };
    let mut training = open_with(other(), &data, &run, forced).unwrap();
    go_on(&mut training);
    let after = &training.state().position;
    assert_eq!((before.corpora.len(), after.corpora.len()), (2, 1));
    assert!(after.corpora[0].tokens > before.corpora[1].tokens, "{after:?}");
}

#[test]
fn errors_name_the_problem() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path(), [None, None]);
    for (settings, part) in [
        (
            &["mixture.weights={news=1}"][..],
            "names the corpus `news`, but the data has large, small",
        ),
        (&["mixture.temperature=0"], "temperature 0"),
        (&["mixture.temperature=2", "mixture.weights={small=1}"], "give one of them"),
        (
            &["mixture.weights={small=1}", "mixture.phases=[{until=3}]"],
            "put the shares into a phase",
        ),
        (&["mixture.weights={small=0}"], "draws from no corpus"),
        (&["validation.corpora=[\"news\"]"], "validation text only of large, small"),
        (&["stop.max_epochs=3"], "stop.max_updates"),
        (&["batches.batching=sentences"], "cannot mix corpora"),
    ] {
        let run = folder.path().join("run");
        let error = open_with(recipe(settings), &data, &run, one_worker()).err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
        assert!(!run.exists(), "nothing is written");
    }
    let mut unset = recipe(&[]);
    unset.stop.validate_every = None;
    let run = folder.path().join("run");
    let paths = RunPaths { data: &data, run: &run };
    let error = Training::open(unset, &paths, &Device::flex(), one_worker()).err().unwrap();
    assert!(error.to_string().contains("stop.validate_every"), "{error}");
    let single = recipe(&["mixture.weights={small=1}"]);
    let error = open_with(single, common::data(), &run, one_worker()).err().unwrap();
    assert!(error.to_string().contains("one corpus without a name"), "{error}");
}
