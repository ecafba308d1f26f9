//! Encode-once batches: runs of consecutive sentences, shuffled, and packed up to the budget.

use std::ops::Range;

use abridge_base::random::Random;

use super::BatchSettings;
use super::plan::{Plan, PlannedBatch};
use crate::store::{Side, TokenStore};

/// Tells this use of the seed from others.
const PURPOSE: u64 = 1;

/// Tokens that a run needs on each side, `</s>` included.
#[derive(Clone, Copy, Default)]
struct Cost {
    source: usize,
    target: usize,
}

impl Cost {
    fn plus(self, other: Self) -> Self {
        Self { source: self.source + other.source, target: self.target + other.target }
    }

    fn fits(self, settings: &BatchSettings) -> bool {
        self.source.max(self.target) <= settings.max_tokens
    }
}

/// Plans an epoch of runs.
pub fn plan(store: &TokenStore, settings: &BatchSettings, run_length: usize, epoch: u64) -> Plan {
    let mut random = Random::keyed(&[PURPOSE, settings.seed, epoch]);
    let mut runs = Vec::new();
    for document in (0..store.documents()).map(|document| store.document(document)) {
        cut(store, settings, run_length, document, &mut random, &mut runs);
    }
    random.shuffle(&mut runs);

    let mut plan = Plan::default();
    let mut batch = PlannedBatch::default();
    let mut cost = Cost::default();
    for (run, run_cost) in runs {
        if !cost.plus(run_cost).fits(settings) && !batch.sentences.is_empty() {
            plan.batches.push(std::mem::take(&mut batch));
            cost = Cost::default();
        }
        batch.sentences.extend(run);
        cost = cost.plus(run_cost);
    }
    if !batch.sentences.is_empty() {
        plan.batches.push(batch);
    }
    plan
}

/// Cuts a document into runs that each fit the budget, as far as single sentences do.
///
/// The first run has a random length, so that other sentences start a run in every epoch.
fn cut(
    store: &TokenStore,
    settings: &BatchSettings,
    run_length: usize,
    document: Range<usize>,
    random: &mut Random,
    runs: &mut Vec<(Range<usize>, Cost)>,
) {
    let mut start = document.start;
    let mut limit = 1 + random.below(run_length);
    while start < document.end {
        let first_context = start.saturating_sub(settings.context_size).max(document.start);
        let context: usize =
            (first_context..start).map(|s| store.length(Side::Source, s) + 1).sum();
        let mut cost = Cost { source: context, target: 0 };
        let mut end = start;
        while end < document.end && end - start < limit {
            let longer = cost.plus(Cost {
                source: store.length(Side::Source, end) + 1,
                target: store.length(Side::Target, end) + 1,
            });
            if end > start && !longer.fits(settings) {
                break;
            }
            cost = longer;
            end += 1;
        }
        runs.push((start..end, cost));
        start = end;
        limit = run_length;
    }
}
