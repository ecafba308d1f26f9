//! A memory that also holds the translations of earlier sentences.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::{
    Batch, Dropout, Model, ModelConfig, Packed, Preset, Purpose, Remembered, SentenceInContext,
};
use burn::tensor::Device;
use common::{Document, batch, device, difference, document, values};

/// Every model with a memory.
const PRESETS: [Preset; 7] = [
    Preset::CachingTokens,
    Preset::CachingSentence,
    Preset::PoolingAvg,
    Preset::PoolingMax,
    Preset::PoolingLinear,
    Preset::Grouping,
    Preset::Selecting,
];

fn model(preset: Preset, device: &Device) -> Model {
    let config = ModelConfig { target_context: true, ..common::config(preset, 2) };
    config.init(7, device).unwrap()
}

/// The sentences of a document with the translations of all of them.
fn translated(document: &Document, model: &Model) -> Batch {
    let mut batch = batch(std::slice::from_ref(document), model.config());
    batch.source.translations = Packed::new(&document.1);
    batch
}

fn logits(model: &Model, batch: &Batch) -> Vec<Vec<f64>> {
    let all = values(&model.forward(batch, &mut Dropout::off()).unwrap());
    let width = model.config().target_vocabulary;
    let ranges = batch.targets.segments().ranges();
    ranges.map(|range| all[range.start * width..range.end * width].to_vec()).collect()
}

#[test]
fn a_translation_matters_to_the_sentences_that_have_it_as_context() {
    for preset in PRESETS {
        let model = model(preset, &device());
        let document = document(1, 6);
        let before = logits(&model, &translated(&document, &model));
        let mut changed = document.clone();
        changed.1[1] = common::sentence(99, 7);
        let mut changed = translated(&changed, &model);
        // The targets stay; only the context changes.
        changed.targets = Packed::new(&document.1);
        let after = logits(&model, &changed);
        for (place, (before, after)) in before.iter().zip(&after).enumerate() {
            let difference = difference(before, after);
            if [2, 3].contains(&place) {
                assert!(difference > 1e-4, "{preset}, sentence {place}: {difference}");
            } else {
                assert!(difference < 1e-6, "{preset}, sentence {place}: {difference}");
            }
        }
    }
}

#[test]
fn reading_one_by_one_gives_the_same_as_all_at_once() {
    for preset in PRESETS {
        let model = model(preset, &device());
        let document = document(2, 6);
        let together = logits(&model, &translated(&document, &model));
        let mut past: Vec<Remembered> = Vec::new();
        for (position, (source, target)) in document.0.iter().zip(&document.1).enumerate() {
            let reading = model.read(&Packed::new([source])).unwrap().remove(0);
            let slots = model.config().layout(Purpose::Inference).positions(position);
            let context = slots.iter().map(|slot| slot.map(|slot| &past[slot])).collect();
            let sources = model
                .sources_from_memory(&[SentenceInContext { reading: &reading, context }])
                .unwrap();
            let target = Packed::new([target]);
            let alone = values(&model.score_targets(&target, &sources).unwrap());
            let difference = difference(&alone, &together[position]);
            assert!(difference < 1e-6, "{preset}, sentence {position}: {difference}");
            let translation = Some(model.read_translations(&target).unwrap().remove(0));
            past.push(Remembered { translation, ..reading.remembered }.owned());
        }
    }
}

#[test]
fn an_unknown_translation_leaves_its_slot_empty() {
    let model = model(Preset::Grouping, &device());
    let document = document(3, 4);
    let mut unknown = translated(&document, &model);
    unknown.source.translations = Packed::new(document.1.iter().map(|_| Vec::new()));
    let none = batch(std::slice::from_ref(&document), model.config());
    let (unknown, none) = (logits(&model, &unknown), logits(&model, &none));
    assert_eq!(unknown, none);
}

#[test]
fn the_gradient_goes_through_translations_to_the_target_embedding() {
    let device = device().autodiff();
    let model = model(Preset::Grouping, &device);
    let document = document(4, 3);
    // A word that occurs in a translation in the context, but in no target.
    let mut batch = translated(&document, &model);
    let word = 39;
    batch.source.translations =
        Packed::new([vec![word, abridge_model::tokens::END], vec![5, 2], vec![5, 2]]);
    batch.targets = Packed::new([[6, 2], [6, 2], [6, 2]]);
    let gradient_of = |word: u32| {
        // Without the output projection, which reaches every word.
        let logits = model.forward(&batch, &mut Dropout::off()).unwrap();
        let gradients = logits.narrow(1, 6, 1).sum().backward();
        let gradient = model.decoder.embedding.weight.val().grad(&gradients).unwrap();
        values(&gradient.narrow(0, word as usize, 1)).iter().map(|g| g.abs()).sum::<f64>()
    };
    assert!(gradient_of(word) > 1e-6);
    assert!(gradient_of(38) < 1e-12, "a word that does not occur");
}

#[test]
fn translations_that_do_not_fit_are_refused() {
    let model = model(Preset::Grouping, &device());
    let document = document(5, 3);
    let mut batch = translated(&document, &model);
    batch.source.translations = Packed::new(&document.1[..2]);
    let error = model.forward(&batch, &mut Dropout::off()).unwrap_err().to_string();
    assert!(error.contains("2 translations of 3 sentences"), "{error}");
    batch.source.translations = Packed::new([[900, 2]; 3]);
    let error = model.forward(&batch, &mut Dropout::off()).unwrap_err().to_string();
    assert!(error.contains("the vocabulary ends at"), "{error}");
    let plain = common::model(Preset::Grouping, 2, &device());
    assert!(plain.read_translations(&Packed::new([[5, 2]])).is_err());
}
