//! Plans epochs and builds their batches.

use std::sync::Arc;

use abridge_base::tokens::END;
use abridge_base::{Batch, Example, Packed};
use rustc_hash::FxHashMap;

use super::plan::{BatchPlan, PlannedBatch};
use super::{BatchSettings, Order, runs, shuffled};
use crate::store::{Side, TokenStore};
use crate::{Error, Result};

/// Makes the batches of a corpus.
#[derive(Clone, Debug)]
pub struct Batcher {
    store: Arc<TokenStore>,
    settings: BatchSettings,
    /// For shuffled batches: what every epoch consists of.
    composition: Option<BatchPlan>,
}

impl Batcher {
    /// A batcher over a split that has both sides.
    pub fn new(store: Arc<TokenStore>, settings: BatchSettings) -> Result<Self> {
        let wrong = |problem: &str, remedy: &str| Err(Error::new(problem).remedy(remedy));
        if !store.has_target() {
            return wrong(
                "the split has no translations to learn from",
                "prepare it with its target side",
            );
        }
        if store.sentences() == 0 {
            return wrong("the split has no sentences", "prepare it from files that hold text");
        }
        if settings.max_tokens == 0 {
            return wrong("the token budget is 0", "allow at least one token per batch");
        }
        let composition = match settings.order {
            Order::Runs { run_length: 0 } => {
                return wrong("a run has 0 sentences", "allow at least one sentence per run");
            }
            Order::Shuffled { multiple: 0, .. } => {
                return wrong("batches of a multiple of 0 sentences", "use 1 for any number");
            }
            Order::Runs { .. } => None,
            Order::Shuffled { longest, multiple } => {
                let composition = shuffled::compose(&store, &settings, longest, multiple);
                if composition.batches.is_empty() {
                    return Err(Error::new(format!(
                        "all {} examples are longer than {longest} tokens",
                        composition.dropped.len()
                    ))
                    .remedy("allow longer examples or use a smaller context"));
                }
                Some(composition)
            }
        };
        Ok(Self { store, settings, composition })
    }

    /// The settings in use.
    pub fn settings(&self) -> &BatchSettings {
        &self.settings
    }

    /// The corpus in use.
    pub fn store(&self) -> &TokenStore {
        &self.store
    }

    /// The batches of an epoch; always the same for the same seed and epoch.
    pub fn plan(&self, epoch: u64) -> BatchPlan {
        match (self.settings.order, &self.composition) {
            (Order::Runs { run_length }, _) => {
                runs::plan(&self.store, &self.settings, run_length, epoch)
            }
            (Order::Shuffled { .. }, Some(composition)) => {
                shuffled::reorder(composition, self.settings.seed, epoch)
            }
            (Order::Shuffled { .. }, None) => BatchPlan::default(),
        }
    }

    /// Gathers the tokens of a planned batch: one example per planned sentence, in order.
    pub fn build(&self, planned: &PlannedBatch) -> Batch {
        let layout = self.settings.layout;
        let mut batch = Batch::default();
        let source = &mut batch.source;
        // Looked up only; the order comes from the plan.
        let mut places: FxHashMap<usize, usize> = FxHashMap::default();
        let mut place = |sentence: usize| {
            *places.entry(sentence).or_insert_with(|| {
                self.push(Side::Source, sentence, &mut source.sentences);
                if layout.holds_translations {
                    self.push(Side::Target, sentence, &mut source.translations);
                }
                source.sentences.len() - 1
            })
        };
        let mut document = 0..0;
        for &sentence in &planned.sentences {
            if !document.contains(&sentence) {
                document = self.store.document(self.store.document_of(sentence));
            }
            let context = layout.context(|back| {
                let previous = sentence.checked_sub(back)?;
                (previous >= document.start).then(|| place(previous))
            });
            source.examples.push(Example { source: place(sentence), context });
            self.push(Side::Target, sentence, &mut batch.targets);
        }
        batch
    }

    /// Adds a sentence of the store with its end token.
    fn push(&self, side: Side, sentence: usize, sequences: &mut Packed) {
        sequences.push_with(|tokens| {
            self.store.append(side, sentence, tokens);
            tokens.push(END);
        });
    }
}
