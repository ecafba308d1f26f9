//! Encode-once batches: runs of consecutive sentences, shuffled, and packed up to the budget.
//!
//! A large corpus is processed in *windows* of about a million sentences: a random subset of its
//! documents, whose runs are shuffled together. So no list of all sentences is ever made, and a
//! resumed training run plans only one window.

use std::ops::Range;

use abridge_base::random::Random;

use super::BatchSettings;
use super::permutation::Permutation;
use super::plan::{BatchPlan, PlannedBatch};
use crate::store::{Side, TokenStore};

/// Distinguishes this use of the seed from others.
const PURPOSE: u64 = 1;
/// The key for the order of documents in corpora of several windows.
const DOCUMENTS: u64 = 4;
/// The approximate number of sentences in a window.
const WINDOW: usize = 1 << 20;

/// Tokens that a run needs on each side, including `</s>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Tokens of the sentences and of their context before the run.
    pub source: usize,
    /// Tokens of the translations.
    pub target: usize,
}

impl Cost {
    pub fn plus(self, other: Self) -> Self {
        Self { source: self.source + other.source, target: self.target + other.target }
    }

    pub fn fits(self, settings: &BatchSettings) -> bool {
        self.source.max(self.target) <= settings.max_tokens
    }
}

/// Consecutive sentences of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub sentences: Range<usize>,
    pub cost: Cost,
}

/// Consecutive documents of a store: all of them, or those of one corpus among several.
#[derive(Clone, Debug)]
pub struct Documents<'a> {
    pub store: &'a TokenStore,
    pub range: Range<usize>,
}

impl Documents<'_> {
    /// The number of sentences in them.
    pub fn sentences(&self) -> usize {
        let ends = self.range.clone().next_back().map(|last| self.store.document(last).end);
        ends.map_or(0, |end| end - self.store.document(self.range.start).start)
    }

    /// The windows of an epoch.
    pub fn windows(&self) -> usize {
        self.windows_of(WINDOW)
    }

    fn windows_of(&self, size: usize) -> usize {
        self.sentences().div_ceil(size).clamp(1, self.range.len().max(1))
    }

    /// The runs of one window of an epoch, in the order in which they are trained on.
    pub fn window(
        &self,
        settings: &BatchSettings,
        run_length: usize,
        epoch: u64,
        window: usize,
    ) -> Vec<Run> {
        self.window_among(self.windows(), settings, run_length, epoch, window)
    }

    fn window_among(
        &self,
        windows: usize,
        settings: &BatchSettings,
        run_length: usize,
        epoch: u64,
        window: usize,
    ) -> Vec<Run> {
        let mut runs = Vec::new();
        let count = self.range.len();
        let mut random;
        if windows == 1 {
            random = Random::keyed(&[PURPOSE, settings.seed, epoch]);
            for document in self.range.clone() {
                cut(self.store, settings, run_length, document, &mut random, &mut runs);
            }
        } else {
            random = Random::keyed(&[PURPOSE, settings.seed, epoch, window as u64]);
            let order = Permutation::new(count, &[DOCUMENTS, settings.seed, epoch]);
            let share = |window: usize| (window as u128 * count as u128 / windows as u128) as usize;
            for place in share(window)..share(window + 1) {
                let document = self.range.start + order.at(place);
                cut(self.store, settings, run_length, document, &mut random, &mut runs);
            }
        }
        random.shuffle(&mut runs);
        runs
    }
}

/// Plans an epoch of runs.
pub fn plan(
    store: &TokenStore,
    settings: &BatchSettings,
    run_length: usize,
    epoch: u64,
) -> BatchPlan {
    let documents = Documents { store, range: 0..store.documents() };
    let windows = 0..documents.windows();
    let runs = windows.flat_map(|window| documents.window(settings, run_length, epoch, window));
    let mut plan = BatchPlan::default();
    let mut batch = PlannedBatch::default();
    let mut cost = Cost::default();
    for run in runs {
        if !cost.plus(run.cost).fits(settings) && !batch.sentences.is_empty() {
            plan.batches.push(std::mem::take(&mut batch));
            cost = Cost::default();
        }
        batch.sentences.extend(run.sentences);
        cost = cost.plus(run.cost);
    }
    if !batch.sentences.is_empty() {
        plan.batches.push(batch);
    }
    plan
}

/// Cuts a document into runs that fit the budget, unless a single sentence exceeds it.
///
/// The first run has a random length, so that different sentences start a run in every epoch.
fn cut(
    store: &TokenStore,
    settings: &BatchSettings,
    run_length: usize,
    document: usize,
    random: &mut Random,
    runs: &mut Vec<Run>,
) {
    let document = store.document(document);
    let mut start = document.start;
    let mut limit = 1 + random.below(run_length);
    while start < document.end {
        let first_context = start.saturating_sub(settings.layout.context_size).max(document.start);
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
        runs.push(Run { sentences: start..end, cost });
        start = end;
        limit = run_length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::store;

    #[test]
    fn the_windows_of_an_epoch_hold_every_sentence_once() {
        let documents: Vec<Vec<(usize, usize)>> =
            (0..90).map(|d| (0..=d % 9).map(|s| (1 + s, 2 + d % 5)).collect()).collect();
        let store = store(&documents);
        let part = Documents { store: &store, range: 10..80 };
        let settings = BatchSettings::default();
        let windows = part.windows_of(50);
        assert_eq!(windows, part.sentences().div_ceil(50));
        let epoch = |epoch| {
            let runs =
                (0..windows).flat_map(|w| part.window_among(windows, &settings, 3, epoch, w));
            runs.flat_map(|run| run.sentences).collect::<Vec<usize>>()
        };
        let mut all = epoch(0);
        assert_ne!(all, epoch(1));
        all.sort_unstable();
        assert_eq!(all, (store.document(10).start..store.document(79).end).collect::<Vec<_>>());
        let sizes: Vec<usize> =
            (0..windows).map(|w| part.window_among(windows, &settings, 3, 0, w).len()).collect();
        assert!(sizes.iter().all(|&size| size > 0), "{sizes:?}");
    }
}
