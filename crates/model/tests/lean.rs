//! Decoding without the tensor engine equals decoding with it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::lean::{MostProbable, Wanted};
use abridge_model::tokens::END;
use abridge_model::weights::WeightPrecision;
use abridge_model::{Example, Model, ModelSize, Packed, Preset, Purpose, SourceBatch, random};
use burn::tensor::Device;

/// A document of sentences of random lengths.
fn sources(model: &Model, sentences: usize) -> abridge_model::Sources {
    let text = (0..sentences as u64).map(|i| {
        let length = 1 + random::value(5, i) % 9;
        let mut tokens: Vec<u32> =
            (0..length).map(|j| 5 + (random::value(i, j) % 40) as u32).collect();
        tokens.push(END);
        tokens
    });
    let examples = (0..sentences)
        .map(|source| Example {
            source,
            context: model.config().layout(Purpose::Inference).positions(source),
        })
        .collect();
    model
        .sources(&SourceBatch {
            sentences: Packed::new(text),
            translations: Packed::default(),
            examples,
        })
        .unwrap()
}

#[test]
fn steps_equal_those_of_the_engine_for_every_preset_and_kind() {
    let variants = [(false, false), (true, false), (true, true)];
    for (kind, change) in common::KINDS {
        for (preset, (gate, as_published)) in
            Preset::ALL.iter().flat_map(|preset| variants.map(|variant| (preset, variant)))
        {
            let mut config = preset.config(ModelSize::Tiny, 53, 53, 3);
            change(&mut config);
            if config.has_context_attention() {
                config.gate = gate;
            }
            config.as_published = as_published;
            let model = config.init(11, &Device::flex()).unwrap();
            let lean = model.lean_decoder().expect("the network is on the CPU");
            let sources = sources(&model, 5);
            let (mut engine, mut plain) = (model.decode(&sources), lean.decode(&sources));
            let mut words = vec![model.config().start_word(); 5];
            for step in 0..6u64 {
                let expected = engine.step(&words).into_data();
                let ours = plain.step(&words).to_vec();
                for (i, (ours, expected)) in ours.iter().zip(expected.iter::<f32>()).enumerate() {
                    assert!(
                        (ours - expected).abs() < 1e-4,
                        "{preset}, {kind}, step {step}, {i}: {ours} for {expected}"
                    );
                }
                // Some hypotheses continue twice, some not at all, and a sentence ends.
                let mut parents: Vec<usize> = (0..words.len())
                    .flat_map(|parent| {
                        let copies = random::value(step, parent as u64) % 3;
                        std::iter::repeat_n(parent, copies as usize)
                    })
                    .collect();
                if parents.is_empty() {
                    parents.push(0);
                }
                words = (0..parents.len() as u64)
                    .map(|i| 5 + (random::value(step + 100, i) % 40) as u32)
                    .collect();
                engine.reorder(&parents);
                plain.reorder(&parents);
            }
        }
    }
}

#[test]
fn words_that_are_not_on_the_list_of_a_sentence_are_ignored() {
    let model =
        Preset::Grouping.config(ModelSize::Tiny, 50, 53, 2).init(5, &Device::flex()).unwrap();
    let sources = sources(&model, 4);
    let lists: Vec<Vec<u32>> =
        (0..4).map(|sentence| (0..53).filter(|word| word % 4 != sentence).collect()).collect();
    for precision in [WeightPrecision::Single, WeightPrecision::Half, WeightPrecision::Int8] {
        let lean = model.lean_decoder_in(precision).expect("the network is on the CPU");
        let mut whole = lean.decode(&sources);
        let mut listed = lean.decode_among(sources.clone(), &lists);
        let mut words = vec![END; 4];
        let mut sentence_of: Vec<usize> = (0..4).collect();
        for step in 0..4u32 {
            let logits = whole.step(&words).to_vec();
            let wanted = Wanted { count: 6, forbidden: &[7], only: None };
            let found = listed.step_to_best(&words, &wanted);
            for ((logits, found), &sentence) in logits.chunks_exact(53).zip(found).zip(&sentence_of)
            {
                // As the engine finds them.
                let among = MostProbable::of_listed(logits, &lists[sentence], &wanted);
                assert_eq!(among.best(), found.best(), "{precision}, step {step}");
                let mut logits = logits.to_vec();
                for word in (0..53).filter(|word| word % 4 == sentence) {
                    logits[word] = f32::NEG_INFINITY;
                }
                let expected = MostProbable::of_row(&logits, &wanted);
                assert_eq!(found.best(), expected.best(), "{precision}, step {step}");
                assert!((found.total() - expected.total()).abs() < 1e-5);
            }
            // The first sentence is done after a step, the others have two hypotheses.
            let parents: Vec<usize> = (0..words.len())
                .filter(|&parent| sentence_of[parent] > 0)
                .flat_map(|parent| if step == 0 { vec![parent; 2] } else { vec![parent] })
                .collect();
            sentence_of = parents.iter().map(|&parent| sentence_of[parent]).collect();
            words = (0..parents.len() as u32).map(|i| 5 + (7 * i + step) % 40).collect();
            whole.reorder(&parents);
            listed.reorder(&parents);
        }
    }
}
