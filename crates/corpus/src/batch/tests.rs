//! No sentence lost, none seen twice, nothing random that was not asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::store::{EncodedSide, Side, StoreContent, TokenStore};
use crate::tokenizer::special::{END, PAD};

/// A corpus of documents of (source length, target length); every source token says which sentence
/// it belongs to.
fn store(documents: &[Vec<(usize, usize)>]) -> Arc<TokenStore> {
    let mut content = StoreContent::default();
    let mut target = EncodedSide { vocabulary_size: 100_000, ..EncodedSide::default() };
    content.source.vocabulary_size = 100_000;
    for (index, document) in documents.iter().enumerate() {
        content.documents.push((index.to_string(), document.len()));
        for &(source_length, target_length) in document {
            let sentence = content.source.ends.len() as u32;
            content.source.ids.extend(std::iter::repeat_n(100 + sentence, source_length));
            content.source.ends.push(content.source.ids.len());
            target.ids.extend(std::iter::repeat_n(50_000 + sentence, target_length));
            target.ends.push(target.ids.len());
        }
    }
    content.target = Some(target);
    Arc::new(TokenStore::from_bytes(content.to_bytes().unwrap()).unwrap())
}

fn settings(context_size: usize, max_tokens: usize, order: Order) -> BatchSettings {
    BatchSettings { context_size, max_tokens, seed: 7, order, ..BatchSettings::default() }
}

/// A document-start pattern that all tests of fixed expectation share.
fn two_documents() -> Arc<TokenStore> {
    store(&[vec![(2, 3), (1, 1), (4, 2)], vec![(3, 3), (2, 2)]])
}

#[test]
fn a_batch_holds_each_sentence_once_and_points_at_context() {
    let batcher =
        Batcher::new(two_documents(), settings(2, 100, Order::Runs { run_length: 8 })).unwrap();
    let batch = batcher.build(&PlannedBatch { sentences: vec![1, 2, 4] });
    assert_eq!(batch.sentences.len(), 5);
    assert_eq!(batch.sentences.sentence(0), [100, 100, END]);
    assert_eq!(batch.sentences.sentence(1), [101, END]);
    assert_eq!(batch.sentences.sentence(2), [102, 102, 102, 102, END]);
    assert_eq!(batch.source_of, [1, 2, 4]);
    assert_eq!(
        batch.context_of,
        [vec![None, Some(0)], vec![Some(0), Some(1)], vec![None, Some(3)]]
    );
    assert_eq!(batch.targets.sentence(2), [50_004, 50_004, END]);
    assert_eq!(batch.numbers, [1, 2, 4]);
    assert_eq!(batch.context_only(), 2);
}

#[test]
fn sizes_count_as_published() {
    let sizes = shuffled::sizes(&two_documents(), 2);
    // Third sentence: own 4 + </s>, context (2 + </s> + 1) + (1 + </s> + 1), and 1 more.
    assert_eq!(sizes[2], shuffled::Size { source: 5 + 4 + 3 + 1, target: 2 + 1 + 1 });
    // First sentence of the second document: no context.
    assert_eq!(sizes[3], shuffled::Size { source: 3 + 1 + 1, target: 3 + 1 + 1 });
}

#[test]
fn published_batches_are_multiples_and_never_exceed_the_budget() {
    let documents: Vec<Vec<(usize, usize)>> = (0..40)
        .map(|d| (0..30).map(|s| (3 + (d * 7 + s * 11) % 23, 3 + (d * 5 + s * 3) % 19)).collect())
        .collect();
    let store = store(&documents);
    let order = Order::Shuffled { longest: 60, multiple: 8 };
    let settings = settings(3, 400, order);
    let batcher = Batcher::new(Arc::clone(&store), settings).unwrap();
    let sizes = shuffled::sizes(&store, 3);
    let plan = batcher.plan(0);
    for (index, batch) in plan.batches.iter().enumerate() {
        let largest = batch.sentences.iter().map(|&s| sizes[s].larger()).max().unwrap();
        assert!(largest * batch.sentences.len() <= 400, "batch {index}");
    }
    let odd = plan.batches.iter().filter(|b| b.sentences.len() > 8 && b.sentences.len() % 8 != 0);
    assert!(odd.count() <= 1, "only the last batch may be ragged");
    assert!(!plan.dropped.is_empty());
    assert!(plan.dropped.iter().all(|&s| sizes[s].larger() > 60));
    // The composition is fixed; only the order changes.
    let other = batcher.plan(1);
    assert_ne!(plan.batches, other.batches);
    let set = |plan: &Plan| {
        plan.batches.iter().map(|batch| batch.sentences.clone()).collect::<BTreeSet<_>>()
    };
    assert_eq!(set(&plan), set(&other));
    // Context counts against the budget: more context, more batches.
    let batches = |context_size| {
        let order = Order::published();
        let settings = BatchSettings { context_size, order, ..settings };
        Batcher::new(Arc::clone(&store), settings).unwrap().plan(0).batches.len()
    };
    assert!(batches(0) * 2 < batches(3));
}

#[test]
fn impossible_settings_are_refused() {
    let store = two_documents();
    let refuse = |settings: BatchSettings, reason: &str| {
        let error = Batcher::new(Arc::clone(&store), settings).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    refuse(settings(1, 0, Order::default()), "token budget is 0");
    refuse(settings(1, 9, Order::Runs { run_length: 0 }), "0 sentences");
    refuse(settings(1, 9, Order::Shuffled { longest: 2, multiple: 8 }), "all 5 examples");
    refuse(settings(1, 9, Order::Shuffled { longest: 9, multiple: 0 }), "multiple of 0");
    let content = StoreContent::default().to_bytes().unwrap();
    let empty = Arc::new(TokenStore::from_bytes(content).unwrap());
    let error = Batcher::new(empty, BatchSettings::default()).unwrap_err().to_string();
    assert!(error.contains("no translations"), "{error}");
}

#[test]
fn longer_runs_encode_fewer_sentences_again() {
    let store = store(&vec![vec![(10, 10); 100]; 20]);
    let extra = |run_length| {
        let settings = settings(3, 2000, Order::Runs { run_length });
        let batcher = Batcher::new(Arc::clone(&store), settings).unwrap();
        let plan = batcher.plan(0);
        plan.batches.iter().map(|planned| batcher.build(planned).context_only()).sum::<usize>()
    };
    assert!(extra(32) * 3 < extra(8));
}

fn corpora() -> impl Strategy<Value = Vec<Vec<(usize, usize)>>> {
    let document = prop::collection::vec((0usize..30, 0usize..30), 0..12);
    prop::collection::vec(document, 1..8)
        .prop_filter("at least one sentence", |corpus| corpus.iter().any(|d| !d.is_empty()))
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        (1usize..9).prop_map(|run_length| Order::Runs { run_length }),
        (1usize..9).prop_map(|multiple| Order::Shuffled { longest: 10_000, multiple }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_sentence_once_per_epoch(
        corpus in corpora(), order in orders(), context in 0usize..5, budget in 1usize..200,
        epoch in 0u64..4,
    ) {
        let store = store(&corpus);
        let batcher = Batcher::new(Arc::clone(&store), settings(context, budget, order)).unwrap();
        let plan = batcher.plan(epoch);
        prop_assert_eq!(&plan, &batcher.plan(epoch));
        let mut seen: Vec<usize> =
            plan.batches.iter().flat_map(|batch| batch.sentences.clone()).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..store.sentences()).collect::<Vec<_>>());
    }

    #[test]
    fn batches_are_what_their_plan_says(
        corpus in corpora(), order in orders(), context in 0usize..5, budget in 1usize..200,
    ) {
        let store = store(&corpus);
        let batcher = Batcher::new(Arc::clone(&store), settings(context, budget, order)).unwrap();
        for planned in batcher.plan(0).batches {
            let batch = batcher.build(&planned);
            prop_assert_eq!(&batch.numbers, &planned.sentences);
            // Each distinct sentence once. Empty ones all look the same, so count the others.
            let named: Vec<u32> = (0..batch.sentences.len())
                .map(|index| batch.sentences.sentence(index)[0])
                .filter(|&token| token != END)
                .collect();
            prop_assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), named.len());
            let expect = |index: usize, sentence: usize| {
                let mut tokens = Vec::new();
                store.append(Side::Source, sentence, &mut tokens);
                tokens.push(END);
                batch.sentences.sentence(index) == tokens
            };
            for (target, &sentence) in batch.numbers.iter().enumerate() {
                prop_assert!(expect(batch.source_of[target], sentence));
                let document = store.document(store.document_of(sentence));
                prop_assert_eq!(batch.context_of[target].len(), context);
                for (slot, entry) in batch.context_of[target].iter().enumerate() {
                    let distance = context - slot;
                    let inside = sentence >= document.start + distance;
                    prop_assert_eq!(entry.is_some(), inside);
                    if let Some(index) = entry {
                        prop_assert!(expect(*index, sentence - distance));
                    }
                }
            }
            if matches!(order, Order::Runs { .. }) && batch.numbers.len() > 1 {
                prop_assert!(batch.sentences.tokens.len() <= budget);
                prop_assert!(batch.targets.tokens.len() <= budget);
            }
        }
    }

    #[test]
    fn resumes_anywhere(
        corpus in corpora(), order in orders(), budget in 10usize..100, stop in 0usize..12,
    ) {
        let batcher = Batcher::new(store(&corpus), settings(2, budget, order)).unwrap();
        let mut whole = batcher.batches(Position::default());
        let before: Vec<Batch> = whole.by_ref().take(stop).collect();
        prop_assert_eq!(before.len(), stop);
        let saved = serde_json::to_string(&whole.position()).unwrap();
        let rest: Vec<Batch> = whole.take(5).collect();
        let position = serde_json::from_str(&saved).unwrap();
        let resumed: Vec<Batch> = batcher.batches(position).take(5).collect();
        prop_assert_eq!(rest, resumed);
    }

    #[test]
    fn padded_view_wastes_less_than_a_tenth(lengths in prop::collection::vec(0usize..80, 0..60)) {
        let mut packed = Packed::default();
        for (index, &length) in lengths.iter().enumerate() {
            packed.push(&vec![10 + index as u32; length]);
        }
        let mut rows = Vec::new();
        for group in padded_groups(&packed, 0.1) {
            let padding = group.tokens.iter().filter(|&&token| token == PAD).count();
            prop_assert!(padding == 0 || (padding as f64) < 0.1 * group.tokens.len() as f64);
            for (row, &index) in group.rows.iter().enumerate() {
                let tokens = &group.tokens[row * group.width..(row + 1) * group.width];
                prop_assert_eq!(&tokens[..group.lengths[row]], packed.sentence(index));
                prop_assert!(tokens[group.lengths[row]..].iter().all(|&token| token == PAD));
            }
            rows.extend(group.rows);
        }
        rows.sort_unstable();
        prop_assert_eq!(rows, (0..lengths.len()).collect::<Vec<_>>());
    }
}
