//! No sentence is lost or seen twice, and results depend only on the seed.

use std::collections::BTreeSet;
use std::sync::Arc;

use abridge_base::Example;
use abridge_base::tokens::END;
use proptest::prelude::*;

use super::*;
use crate::store::{EncodedSide, Side, StoreContent, TokenStore};

/// A corpus of documents of (source length, target length); every source token identifies its
/// sentence.
pub fn store(documents: &[Vec<(usize, usize)>]) -> Arc<TokenStore> {
    Arc::new(store_of(documents))
}

pub fn store_of(documents: &[Vec<(usize, usize)>]) -> TokenStore {
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
    TokenStore::from_bytes(content.to_bytes().unwrap()).unwrap()
}

pub fn settings(context_size: usize, max_tokens: usize, order: Order) -> BatchSettings {
    let layout = MemoryLayout { context_size, ..MemoryLayout::default() };
    BatchSettings { layout, max_tokens, seed: 7, order }
}

/// Two documents that the tests with fixed expectations share.
fn two_documents() -> Arc<TokenStore> {
    store(&[vec![(2, 3), (1, 1), (4, 2)], vec![(3, 3), (2, 2)]])
}

#[test]
fn a_batch_holds_each_sentence_once_and_points_at_context() {
    let batcher =
        Batcher::new(two_documents(), settings(2, 100, Order::Runs { run_length: 8 })).unwrap();
    let batch = batcher.build(&PlannedBatch { sentences: vec![1, 2, 4] });
    let sentences = &batch.source.sentences;
    assert_eq!(sentences.len(), 5);
    assert_eq!(sentences.get(0), [100, 100, END]);
    assert_eq!(sentences.get(1), [101, END]);
    assert_eq!(sentences.get(2), [102, 102, 102, 102, END]);
    assert_eq!(
        batch.source.examples,
        [
            Example { source: 1, context: vec![None, Some(0)] },
            Example { source: 2, context: vec![Some(0), Some(1)] },
            Example { source: 4, context: vec![None, Some(3)] },
        ]
    );
    assert_eq!(batch.targets.get(2), [50_004, 50_004, END]);
    assert_eq!(batch.source.context_only(), 2);
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
    let set = |plan: &BatchPlan| {
        plan.batches.iter().map(|batch| batch.sentences.clone()).collect::<BTreeSet<_>>()
    };
    assert_eq!(set(&plan), set(&other));
    // Context counts against the budget: more context, more batches.
    let batches = |context_size| {
        let order = Order::published();
        let layout = MemoryLayout { context_size, ..settings.layout };
        let settings = BatchSettings { layout, order, ..settings };
        Batcher::new(Arc::clone(&store), settings).unwrap().plan(0).batches.len()
    };
    assert!(batches(0) * 2 < batches(3));
}

#[test]
fn rejects_impossible_settings() {
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
        plan.batches
            .iter()
            .map(|planned| batcher.build(planned).source.context_only())
            .sum::<usize>()
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
            let sentences = &batch.source.sentences;
            prop_assert_eq!(batch.source.examples.len(), planned.sentences.len());
            // Each distinct sentence once. Empty ones cannot be told apart, so count the others.
            let named: Vec<u32> =
                sentences.iter().map(|tokens| tokens[0]).filter(|&token| token != END).collect();
            prop_assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), named.len());
            let expect = |index: usize, sentence: usize| {
                let mut tokens = Vec::new();
                store.append(Side::Source, sentence, &mut tokens);
                tokens.push(END);
                sentences.get(index) == tokens
            };
            for (example, &sentence) in batch.source.examples.iter().zip(&planned.sentences) {
                prop_assert!(expect(example.source, sentence));
                let document = store.document(store.document_of(sentence));
                prop_assert_eq!(example.context.len(), context);
                for (slot, entry) in example.context.iter().enumerate() {
                    let distance = context - slot;
                    let inside = sentence >= document.start + distance;
                    prop_assert_eq!(entry.is_some(), inside);
                    if let Some(index) = entry {
                        prop_assert!(expect(*index, sentence - distance));
                    }
                }
            }
            if matches!(order, Order::Runs { .. }) && planned.sentences.len() > 1 {
                prop_assert!(sentences.tokens().len() <= budget);
                prop_assert!(batch.targets.tokens().len() <= budget);
            }
        }
    }

    #[test]
    fn a_sampler_goes_through_the_plans_and_resumes_anywhere(
        corpus in corpora(), order in orders(), budget in 10usize..100, stop in 0usize..12,
    ) {
        let settings = settings(2, budget, order);
        let batcher = Batcher::new(store(&corpus), settings).unwrap();
        let sampler = || {
            let one = vec![(String::new(), store_of(&corpus))];
            Sampler::new(one, Mixture::constant(vec![1.0]).unwrap(), settings).unwrap()
        };
        let mut whole = sampler();
        let mut position = Position::default();
        let mut planned = (0..).flat_map(|epoch| batcher.plan(epoch).batches);
        for _ in 0..stop {
            prop_assert_eq!(Some(whole.next(&mut position, 1)), planned.next());
            let done = position.batch == batcher.plan(position.epoch).batches.len();
            prop_assert_eq!(whole.is_epoch_done(&position), done);
        }
        let saved = serde_json::to_string(&position).unwrap();
        let mut saved: Position = serde_json::from_str(&saved).unwrap();
        // The old format of positions, before there could be several corpora.
        let mut older =
            Position { epoch: saved.epoch, batch: saved.batch, ..Position::default() };
        let (mut resumed, mut from_older) = (sampler(), sampler());
        for _ in 0..5 {
            let next = planned.next();
            prop_assert_eq!(Some(resumed.next(&mut saved, 1)), next.clone());
            prop_assert_eq!(Some(from_older.next(&mut older, 1)), next);
        }
        prop_assert_eq!((older.epoch, older.batch), (saved.epoch, saved.batch));
    }
}
