//! The attention weights that are reported are those that were used.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::config::{Context, Integration};
use abridge_model::{
    Attended, MemoryRow, Model, ModelConfig, Packed, Preset, Purpose, SentenceInContext,
};
use common::{batch, config, device, document};

fn for_all(check: impl Fn(&str, &Model)) {
    common::for_all(&device(), |name, model| {
        for as_published in [false, true] {
            let config = ModelConfig { as_published, ..model.config().clone() };
            check(name, &config.init(7, &device()).unwrap());
        }
    });
}

fn sum(weights: &[f32]) -> f32 {
    weights.iter().sum()
}

#[test]
fn weights_add_up_over_what_each_example_sees() {
    for_all(|preset, model| {
        let config = model.config();
        let batch = batch(&[document(1, 5), document(2, 1)], config);
        let sources = model.sources(&batch.source).unwrap();
        let all = model.attended(&sources, &batch.targets).unwrap();
        assert_eq!(all.len(), 6);
        // One attention sees source and context, or there are two.
        let one_attention = !config.has_context_attention();
        for (example, attended) in all.iter().enumerate() {
            let source = batch.source.sentences.get(batch.source.examples[example].source);
            assert_eq!(attended.layers.len(), config.decoder_layers);
            for weights in attended.layers.iter().chain([&attended.mean()]) {
                assert_eq!(weights.source.len(), batch.targets.get(example).len(), "{preset}");
                for (source_row, memory_row) in weights.source.iter().zip(&weights.memory) {
                    assert_eq!(source_row.len(), source.len(), "{preset} example {example}");
                    assert_eq!(memory_row.len(), attended.rows.len(), "{preset}");
                    let (source, memory) = (sum(source_row), sum(memory_row));
                    if one_attention {
                        assert!((source + memory - 1.0).abs() < 1e-5, "{preset}");
                    } else {
                        assert!((source - 1.0).abs() < 1e-5, "{preset}");
                        let expected = if attended.rows.is_empty() { 0.0 } else { 1.0 };
                        assert!((memory - expected).abs() < 1e-5, "{preset}: {memory}");
                    }
                }
            }
        }
    });
}

#[test]
fn memory_rows_name_slot_and_row() {
    for_all(|preset, model| {
        let config = model.config();
        if config.as_published {
            return;
        }
        let batch = batch(&[document(3, 4)], config);
        let sources = model.sources(&batch.source).unwrap();
        let last = model.attended(&sources, &batch.targets).unwrap().pop().unwrap();
        let slots = config.layout(Purpose::Inference).positions(3);
        let occupants = slots.iter().copied().chain([Some(3)]).enumerate();
        let expected: Vec<MemoryRow> = occupants
            .filter_map(|(slot, sentence)| {
                Some((slot, batch.source.sentences.get(sentence?).len()))
            })
            .flat_map(|(slot, tokens)| {
                let rows = match config.context {
                    Context::None => 0,
                    Context::Memory if slot == config.context_size && !config.current_in_memory => {
                        0
                    }
                    Context::Memory => config.entry_rows(tokens),
                    _ if slot == config.context_size => 0,
                    _ => tokens,
                };
                (0..rows).map(move |row| MemoryRow { slot, row })
            })
            .collect();
        assert_eq!(last.rows, expected, "{preset}");
    });
}

/// Recalled from a memory or encoded in one batch: the same weights.
#[test]
fn attention_to_a_memory_equals_attention_within_a_batch() {
    for preset in Preset::ALL {
        let model = config(preset, 2).init(7, &device()).unwrap();
        let (sentences, targets) = document(4, 5);
        let batch = batch(&[(sentences.clone(), targets)], model.config());
        let together =
            model.attended(&model.sources(&batch.source).unwrap(), &batch.targets).unwrap();
        let readings = model.read(&Packed::new(&sentences)).unwrap();
        let in_context: Vec<SentenceInContext<'_>> = (0..5)
            .map(|position| {
                let slots = model.config().layout(Purpose::Inference).positions(position);
                let context = slots.iter().map(|s| s.map(|s| &readings[s].remembered)).collect();
                SentenceInContext { reading: &readings[position], context }
            })
            .collect();
        let remembered = model
            .attended(&model.sources_from_memory(&in_context).unwrap(), &batch.targets)
            .unwrap();
        let flat = |all: &[Attended]| -> Vec<f64> {
            let weights = all.iter().map(Attended::mean);
            let rows = weights.flat_map(|w| w.source.into_iter().chain(w.memory));
            rows.flatten().map(f64::from).collect()
        };
        assert!(common::difference(&flat(&together), &flat(&remembered)) < 1e-5, "{preset}");
    }
}

/// With one key the weight is one, whatever the network is. `sound.rs` compares weights over several
/// tokens with an independent computation.
#[test]
fn only_visible_tokens_have_weights() {
    let mut config = config(Preset::CachingTokens, 1);
    config.integration = Some(Integration::Serial);
    let model = config.init(7, &device()).unwrap();
    let (sentences, _) = document(5, 1);
    let batch = batch(&[(vec![sentences[0].clone(), vec![2]], vec![vec![2], vec![2]])], &config);
    let all = model.attended(&model.sources(&batch.source).unwrap(), &batch.targets).unwrap();
    // The second sentence is one token long: there is nothing else to attend to.
    assert_eq!(all[1].mean().source, [[1.0]]);
    // The first has no context at all.
    assert!(all[0].rows.is_empty() && all[0].mean().memory[0].is_empty());
    assert_eq!(all[1].rows.len(), sentences[0].len());
}
