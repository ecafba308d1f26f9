//! The paper's batches: single sentences of similar size, whatever their documents.
//!
//! The size of an example includes its context, although list models encode the context separately:
//! source = own length + Σ over its context (length + 1) + 1, target = length + 1, both lengths with
//! `</s>`; the size is the larger. So a larger context makes smaller batches and more updates, as
//! in the published experiments. The random order is not that of fairseq's generator.

use abridge_base::random::Random;

use super::BatchSettings;
use super::plan::{BatchPlan, PlannedBatch};
use crate::store::{Side, TokenStore};

const COMPOSITION: u64 = 2;
const ORDER: u64 = 3;

/// The two sizes of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub source: usize,
    pub target: usize,
}

impl Size {
    /// What counts against the budget.
    pub fn larger(self) -> usize {
        self.source.max(self.target)
    }
}

/// The sizes of every example of the store.
pub fn sizes(store: &TokenStore, context_size: usize) -> Vec<Size> {
    let mut sizes = Vec::with_capacity(store.sentences());
    for document in (0..store.documents()).map(|document| store.document(document)) {
        let source_length = |sentence| store.length(Side::Source, sentence) + 1;
        for sentence in document.clone() {
            let first_context = sentence.saturating_sub(context_size).max(document.start);
            let context: usize = (first_context..sentence).map(|s| source_length(s) + 1).sum();
            sizes.push(Size {
                source: source_length(sentence) + context + 1,
                target: store.length(Side::Target, sentence) + 1 + 1,
            });
        }
    }
    sizes
}

/// Makes the batches, which all epochs share.
pub fn compose(
    store: &TokenStore,
    settings: &BatchSettings,
    longest: usize,
    multiple: usize,
) -> BatchPlan {
    let sizes = sizes(store, settings.layout.context_size);
    let (mut kept, dropped): (Vec<usize>, Vec<usize>) =
        (0..sizes.len()).partition(|&sentence| sizes[sentence].larger() <= longest);
    Random::keyed(&[COMPOSITION, settings.seed]).shuffle(&mut kept);
    kept.sort_by_key(|&sentence| sizes[sentence].target);
    kept.sort_by_key(|&sentence| sizes[sentence].source);

    let mut batches = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for sentence in kept {
        let largest = open.iter().chain([&sentence]).map(|&s| sizes[s].larger()).max().unwrap_or(0);
        if !open.is_empty() && (open.len() + 1) * largest > settings.max_tokens {
            // The remainder after the last full multiple goes into the next batch.
            let full =
                if open.len() < multiple { open.len() } else { open.len() / multiple * multiple };
            let rest = open.split_off(full);
            batches.push(PlannedBatch { sentences: std::mem::replace(&mut open, rest) });
        }
        open.push(sentence);
    }
    if !open.is_empty() {
        batches.push(PlannedBatch { sentences: open });
    }
    BatchPlan { batches, dropped }
}

/// The order of the composed batches in one epoch.
pub fn reorder(composition: &BatchPlan, seed: u64, epoch: u64) -> BatchPlan {
    let mut plan = composition.clone();
    Random::keyed(&[ORDER, seed, epoch]).shuffle(&mut plan.batches);
    plan
}
