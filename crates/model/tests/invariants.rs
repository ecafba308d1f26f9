//! Results do not depend on batches, neighbours, order, caching or steps.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::tokens::END;
use abridge_model::{
    Batch, Dropout, Example, Model, Packed, Preset, Purpose, Reading, SentenceInContext,
    SourceBatch,
};
use common::{batch, device, difference, document, model, values};

/// For every preset, context size and kind.
fn for_all(check: impl Fn(&str, &Model)) {
    common::for_all(&device(), check);
}

fn logits(model: &Model, batch: &Batch) -> Vec<f64> {
    values(&model.forward(batch, &mut Dropout::off()).unwrap())
}

/// The logits of each example, in the order of the batch.
fn logits_by_example(model: &Model, batch: &Batch) -> Vec<Vec<f64>> {
    let all = logits(model, batch);
    let width = model.config().target_vocabulary;
    let ranges = batch.targets.segments().ranges();
    ranges.map(|range| all[range.start * width..range.end * width].to_vec()).collect()
}

#[test]
fn nothing_depends_on_the_rest_of_the_batch() {
    // A long and a short neighbour cause padding on every axis where padding exists.
    for_all(|preset, model| {
        let config = model.config();
        let documents = [document(1, 5), document(2, 1), document(3, 8)];
        let together = logits_by_example(model, &batch(&documents, config));
        let mut apart = Vec::new();
        for document in &documents {
            apart.extend(logits_by_example(model, &batch(std::slice::from_ref(document), config)));
        }
        for (a, b) in together.iter().zip(&apart) {
            assert!(difference(a, b) < 1e-5, "{preset}: {}", difference(a, b));
        }
    });
}

#[test]
fn each_example_alone_gives_the_same() {
    for_all(|preset, model| {
        let whole = batch(&[document(4, 6)], model.config());
        let together = logits_by_example(model, &whole);
        for (index, together) in together.iter().enumerate() {
            let alone = Batch {
                source: SourceBatch {
                    sentences: whole.source.sentences.clone(),
                    translations: Packed::default(),
                    examples: vec![whole.source.examples[index].clone()],
                },
                targets: Packed::new([whole.targets.get(index)]),
            };
            assert!(difference(together, &logits(model, &alone)) < 1e-5, "{preset}");
        }
    });
}

#[test]
fn permuting_the_batch_permutes_the_output() {
    for_all(|preset, model| {
        let straight = batch(&[document(5, 7)], model.config());
        let order = [3, 0, 6, 1, 5, 2, 4];
        let examples = order.map(|i| straight.source.examples[i].clone()).to_vec();
        let permuted = Batch {
            source: SourceBatch {
                sentences: straight.source.sentences.clone(),
                translations: Packed::default(),
                examples,
            },
            targets: Packed::new(order.map(|i| straight.targets.get(i))),
        };
        let expected = logits_by_example(model, &straight);
        let actual = logits_by_example(model, &permuted);
        for (place, &i) in order.iter().enumerate() {
            assert!(difference(&actual[place], &expected[i]) < 1e-6, "{preset}");
        }
    });
}

/// Reads a document sentence by sentence and discards the states of earlier sentences.
fn stream(model: &Model, sources: &[Vec<u32>], targets: &[Vec<u32>]) -> Vec<Vec<f64>> {
    let mut past = Vec::new();
    let mut all = Vec::new();
    for (position, (source, target)) in sources.iter().zip(targets).enumerate() {
        let reading = model.read(&Packed::new([source])).unwrap().pop().unwrap();
        let slots = model.config().layout(Purpose::Training).positions(position);
        let context = slots.iter().map(|slot| slot.map(|slot| &past[slot])).collect();
        let sources =
            model.sources_from_memory(&[SentenceInContext { reading: &reading, context }]).unwrap();
        let logits = model.score_targets(&Packed::new([target]), &sources).unwrap();
        all.push(values(&logits));
        past.push(reading.remembered);
    }
    all
}

#[test]
fn an_entry_computed_earlier_equals_one_computed_now() {
    for_all(|preset, model| {
        let (sources, targets) = document(6, 6);
        let together =
            logits_by_example(model, &batch(&[(sources.clone(), targets.clone())], model.config()));
        for (a, b) in together.iter().zip(stream(model, &sources, &targets)) {
            // Products of one row and of many are summed in different orders, so the last bits of
            // the largest logit may differ.
            let largest = a.iter().fold(1.0, |largest: f64, value| largest.max(value.abs()));
            let difference = difference(a, &b);
            assert!(difference < 1e-6 * largest, "{preset}: {difference} of {largest}");
        }
    });
}

#[test]
fn reading_in_batches_equals_reading_one_by_one() {
    for_all(|preset, model| {
        let (sources, _) = document(7, 5);
        let together = model.read(&Packed::new(&sources)).unwrap();
        for (source, together) in sources.iter().zip(&together) {
            let alone = model.read(&Packed::new([source])).unwrap();
            let rows = |reading: &Reading| {
                let entry = reading.remembered.entry.as_ref();
                entry.map(|entry| values(&entry.rows)).unwrap_or_default()
            };
            let off = difference(&rows(together), &rows(&alone[0]));
            assert!(off < 1e-5, "{preset}: {off}");
        }
    });
}

#[test]
fn step_by_step_equals_teacher_forcing() {
    for_all(|preset, model| {
        let (sources, _) = document(8, 4);
        // All of one length, so that every hypothesis lasts to the end.
        let targets: Vec<Vec<u32>> = (0..4).map(|i| common::sentence(80 + i, 6)).collect();
        let batch = batch(&[(sources, targets.clone())], model.config());
        let forced = logits_by_example(model, &batch);

        let sources = model.sources(&batch.source).unwrap();
        let mut decoding = model.decode(&sources);
        // Two hypotheses for each sentence but the last, which has one: a ragged beam.
        let parents = [0, 0, 1, 1, 2, 2, 3];
        let width = model.config().target_vocabulary;
        for step in 0..6 {
            let words: Vec<u32> = (0..decoding.hypotheses())
                .map(|h| match step {
                    0 => model.config().start_word(),
                    _ => targets[decoding.sentence_of(h)][step - 1],
                })
                .collect();
            let logits = values(&decoding.step(&words));
            for hypothesis in 0..decoding.hypotheses() {
                let ours = &logits[hypothesis * width..(hypothesis + 1) * width];
                let sentence = decoding.sentence_of(hypothesis);
                let expected = &forced[sentence][step * width..(step + 1) * width];
                assert!(difference(ours, expected) < 1e-5, "{preset}, step {step}");
            }
            match step {
                0 => decoding.reorder(&parents),
                // The second sentence is done, and so is one hypothesis of the third.
                3 => decoding.reorder(&[1, 0, 5, 6]),
                _ => {}
            }
        }
    });
}

#[test]
fn candidates_of_one_source_share_its_encoding() {
    for_all(|preset, model| {
        let whole = batch(&[document(9, 4)], model.config());
        let example = whole.source.examples[3].clone();
        let candidates: Vec<Vec<u32>> =
            (0..3).map(|i| common::sentence(90 + i, 4 + i as usize)).collect();
        let shared = Batch {
            source: SourceBatch {
                sentences: whole.source.sentences.clone(),
                translations: Packed::default(),
                examples: vec![example.clone(); 3],
            },
            targets: Packed::new(&candidates),
        };
        for (candidate, together) in candidates.iter().zip(logits_by_example(model, &shared)) {
            let alone = Batch {
                source: SourceBatch { examples: vec![example.clone()], ..shared.source.clone() },
                targets: Packed::new([candidate]),
            };
            assert!(difference(&together, &logits(model, &alone)) < 1e-5, "{preset}");
        }
    });
}

#[test]
fn an_empty_memory_gives_finite_numbers() {
    for_all(|preset, model| {
        let first = batch(&[document(10, 1)], model.config());
        assert!(first.source.examples[0].context.iter().all(Option::is_none));
        assert!(logits(model, &first).iter().all(|x| x.is_finite()), "{preset}");
        // The same beside an example that has context.
        let mixed = batch(&[document(10, 1), document(11, 4)], model.config());
        assert!(logits(model, &mixed).iter().all(|x| x.is_finite()), "{preset}");
        let decoding = model
            .decode(&model.sources(&mixed.source).unwrap())
            .step(&[model.config().start_word(); 5]);
        assert!(values(&decoding).iter().all(|x| x.is_finite()), "{preset}");
    });
}

#[test]
fn context_matters_to_every_model_that_has_it() {
    for_all(|preset, model| {
        if model.config().context_size == 0 {
            return;
        }
        let (mut sources, targets) = document(12, 2);
        let of = |sources: &Vec<Vec<u32>>| {
            let batch = batch(&[(sources.clone(), targets.clone())], model.config());
            logits_by_example(model, &batch).pop().unwrap()
        };
        let before = of(&sources);
        sources[0] = common::sentence(1200, 5);
        assert!(difference(&before, &of(&sources)) > 1e-4, "{preset} ignores context");
    });
}

#[test]
fn the_order_of_context_matters_to_a_memory() {
    let device = device();
    for preset in [Preset::CachingTokens, Preset::Grouping, Preset::CachingSentence] {
        let model = model(preset, 2, &device);
        let straight = batch(&[document(13, 3)], model.config());
        let mut swapped = straight.clone();
        swapped.source.examples[2].context.reverse();
        let last = |batch: &Batch| logits_by_example(&model, batch).pop().unwrap();
        assert!(difference(&last(&straight), &last(&swapped)) > 1e-4, "{preset}");
    }
}

#[test]
fn batches_that_do_not_fit_are_refused() {
    let device = device();
    let model = model(Preset::Grouping, 1, &device);
    let good = batch(&[document(14, 2)], model.config());
    let refuse = |change: &dyn Fn(&mut Batch)| {
        let mut bad = good.clone();
        change(&mut bad);
        model.forward(&bad, &mut Dropout::off()).unwrap_err().to_string()
    };
    let unknown = refuse(&|b| b.source.sentences = Packed::new([&[999, END][..], &[END]]));
    assert!(unknown.contains("token 999") && unknown.contains("ends at 39"), "{unknown}");
    let absent = refuse(&|b| b.source.examples[0].source = 17);
    assert!(absent.contains("names sentence 17, but the batch has 2"), "{absent}");
    let slots = refuse(&|b| {
        b.source.examples[1] = Example { source: 1, context: vec![None, Some(0)] };
    });
    assert!(slots.contains("2 context slots, but the model has 1"), "{slots}");
    let targets = refuse(&|b| b.targets = Packed::new([[END]]));
    assert!(targets.contains("2 examples, but 1 translations"), "{targets}");
    let long = refuse(&|b| b.source.sentences = Packed::new([vec![9; 65], vec![END]]));
    assert!(long.contains("65 tokens, but the model takes at most 64"), "{long}");
}
