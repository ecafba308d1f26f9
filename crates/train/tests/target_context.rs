//! A model with translations in its memory learns what can only be known from them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use abridge_corpus::prepare::{Recipe, Request, Silent, prepare};
use abridge_model::random;

use common::{go_on, one_worker, open_with, recipe};

/// Documents of two sentences. The translation of the first is random; the second repeats it. Only
/// the previous translation tells which one it was.
fn corpus(folder: &Path, split: &str, documents: u64, key: u64) {
    let (mut source, mut target) = (String::new(), String::new());
    for document in 0..documents {
        let side = ["kopf", "zahl"][(random::value(key, document) % 2) as usize];
        source.push_str("toss the coin\nand it was\n\n");
        writeln!(target, "{side}\nja {side}\n").unwrap();
    }
    fs::write(folder.join(format!("{split}.en")), source).unwrap();
    fs::write(folder.join(format!("{split}.de")), target).unwrap();
}

#[test]
fn learns_what_only_the_previous_translation_tells() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    corpus(folder, "train", 300, 1);
    corpus(folder, "valid", 100, 2);
    let recipe_file = folder.join("data.toml");
    fs::write(
        &recipe_file,
        r#"
        [languages]
        source = "en"
        target = "de"
        [tokenizer]
        vocabulary_size = 24
        [[train]]
        source = "train.en"
        target = "train.de"
        [[valid]]
        source = "valid.en"
        target = "valid.de"
        "#,
    )
    .unwrap();
    let data = Recipe::load(&recipe_file).unwrap();
    let prepared = folder.join("prepared");
    let request =
        Request { recipe: &data, data: folder, output: &prepared, threads: 1, force: false };
    prepare(&request, &mut Silent).unwrap();

    let loss = |target_context: bool| {
        let setting = format!("model.change.target_context={target_context}");
        let recipe = recipe(&[
            &setting,
            "model.change.dropout=0.0",
            "optimisation.label_smoothing=0.0",
            "optimisation.schedule.peak=1e-2",
            "stop.validate_every=20",
            "stop.max_updates=160",
        ]);
        let run = folder.join(target_context.to_string());
        let mut training = open_with(recipe, &prepared, &run, one_worker()).unwrap();
        go_on(&mut training);
        training.state().best_loss.unwrap()
    };
    // One or two tokens of a document are random: one bit each.
    let (without, with) = (loss(false), loss(true));
    assert!(with < 0.65 * without, "{without} bits per token without, {with} with");
}
