//! No report shows a gain for a model that ignores the content of its context.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use abridge_corpus::practice::{Practice, PracticeConfig, generate};
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_corpus::{ContrastiveSet, Tokenizer};
use abridge_evaluate::{
    Control, ControlReport, Controls, CxmiSettings, Scores, cxmi, limit_context,
    score_with_controls,
};
use abridge_model::{ModelSize, Preset};
use abridge_translate::Translator;
use burn::tensor::Device;

const CONTEXT: usize = 2;

fn practice() -> Practice {
    let config = PracticeConfig {
        train_documents: 0,
        valid_documents: 0,
        test_documents: 30,
        contrastive_groups: 12,
        ..PracticeConfig::default()
    };
    generate(&config).unwrap()
}

/// A network with random weights, including those of the memory.
fn random_memory(practice: &Practice, preset: Preset, seed: u64) -> Translator {
    let documents = practice.test.iter().flat_map(|document| &document.segments);
    let lines: Vec<String> = documents
        .flat_map(|segment| [segment.source.clone(), segment.target.clone().unwrap()])
        .collect();
    let settings = TrainSettings { vocabulary_size: 200, ..TrainSettings::default() };
    let tokenizer = Tokenizer::train(&count_words(&lines, 1), settings, &mut |_| {}).unwrap();
    let size = tokenizer.vocabulary_size();
    let model = preset.config(ModelSize::Tiny, size, size, CONTEXT).init(seed, &Device::flex());
    Translator::new(model.unwrap(), tokenizer.clone(), tokenizer, "random").unwrap()
}

fn report(translator: &Translator, set: &ContrastiveSet, controls: &[Control]) -> ControlReport {
    let beside = Controls { controls, seed: 1, draws: 2 };
    let scores = score_with_controls(translator, set, beside, None, &mut |_| {}).unwrap();
    ControlReport::new(set, beside, &scores)
}

#[test]
fn a_random_memory_gains_nothing_from_its_context() {
    let practice = practice();
    let mut set = practice.contrastive.clone();
    limit_context(&mut set, CONTEXT);
    let controls = Control::all(CONTEXT);
    for (preset, seed) in [
        (Preset::Grouping, 1),
        (Preset::Grouping, 2),
        (Preset::CachingTokens, 3),
        (Preset::SingleEncoder, 4),
    ] {
        let translator = random_memory(&practice, preset, seed);
        let found = report(&translator, &set, &controls);
        let reading = found.tests.reading.unwrap();
        assert!(!reading.shows_gain(), "{preset}, seed {seed}: {reading}");
        // Nor does the order of its sentences or any single one of them matter.
        for test in &found.tests.tests {
            assert!(
                test.holm > 0.05 || test.beyond.difference < 0.0,
                "{preset}, seed {seed}: {test:?}"
            );
        }

        let settings = CxmiSettings { context: CONTEXT, seed: 1 };
        let gain = cxmi(&translator, &practice.test, settings, &mut |_| {}).unwrap();
        assert!(
            gain.beyond.p_value > 0.05 || gain.beyond.per_sentence < 0.0,
            "{preset}, seed {seed}: {:?}",
            gain.beyond
        );
    }
}

#[test]
fn a_control_that_changes_nothing_has_the_same_scores() {
    let practice = practice();
    let mut set = practice.contrastive.clone();
    set.items.truncate(30);
    limit_context(&mut set, 1);
    let translator = random_memory(&practice, Preset::Grouping, 5);
    // One sentence in a memory of two: it is the nearest; mirrored, it is the furthest.
    let controls = [Control::Only(1), Control::Only(2), Control::None, Control::Mirrored];
    let beside = Controls { controls: &controls, seed: 1, draws: 2 };
    let scores = score_with_controls(&translator, &set, beside, None, &mut |_| {}).unwrap();
    let [truth, nearest, second, none, mirrored] = &scores[..] else { panic!("five lists") };
    assert_eq!(truth, nearest);
    for item in 0..set.items.len() {
        assert!((second[item][0] - none[item][0]).abs() < 1e-6, "there is no second sentence");
        let moved = (mirrored[item][0] - truth[item][0]).abs();
        assert_eq!(moved > 0.0, !set.items[item].context.is_empty(), "the slot matters");
    }
}

#[test]
fn every_draw_is_another_random_context_and_one_draw_is_the_first() {
    let practice = practice();
    let mut set = practice.contrastive.clone();
    set.items.retain(|item| !item.context.is_empty());
    set.items.truncate(30);
    limit_context(&mut set, CONTEXT);
    let translator = random_memory(&practice, Preset::Grouping, 5);
    let score = |draws| {
        let beside = Controls { controls: &[Control::None, Control::Random], seed: 1, draws };
        score_with_controls(&translator, &set, beside, None, &mut |_| {}).unwrap()
    };
    let (once, thrice) = (score(1), score(3));
    assert_eq!((once.len(), thrice.len()), (3, 5));
    let [truth, none, first, second, third] = &thrice[..] else { panic!("five lists") };
    let close = |one: &Scores, other: &Scores| {
        one.iter().flatten().zip(other.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-6)
    };
    for (one, same) in once.iter().zip([truth, none, first]) {
        assert!(close(one, same), "more draws change neither the first nor other contexts");
    }
    assert!(!close(first, second) && !close(second, third) && !close(first, third));
}
