//! The micro-batches of each update, from epoch to epoch.

use abridge_base::{Batch, random};
use abridge_corpus::batch::{Batcher, Plan, Position};

use crate::augment::augment;
use crate::ranks::Ranks;
use crate::recipe::TrainRecipe;

/// Walks through the training split.
#[derive(Debug)]
pub struct Updates {
    batcher: Batcher,
    /// The batches of the current epoch.
    plan: Plan,
}

impl Updates {
    /// From a position on.
    pub fn new(batcher: Batcher, from: Position) -> Self {
        Self { plan: batcher.plan(from.epoch), batcher }
    }

    /// Micro-batches in the current epoch.
    pub fn in_epoch(&self) -> usize {
        self.plan.batches.len()
    }

    /// Whether every batch of the epoch is done.
    pub fn is_epoch_done(&self, position: Position) -> bool {
        position.batch >= self.in_epoch()
    }

    /// This rank's micro-batches of the next update, each with its place in it; `position` moves on.
    ///
    /// The last update of an epoch may have fewer.
    pub fn next(
        &mut self,
        position: &mut Position,
        update: u64,
        recipe: &TrainRecipe,
        ranks: &dyn Ranks,
    ) -> Vec<(usize, Batch)> {
        if self.is_epoch_done(*position) {
            *position = Position { epoch: position.epoch + 1, batch: 0 };
            self.plan = self.batcher.plan(position.epoch);
        }
        let first = position.batch;
        let last = (first + recipe.batches.per_update).min(self.in_epoch());
        position.batch = last;
        let planned = self.plan.batches[first..last].iter().enumerate();
        let mine = planned.skip(ranks.rank()).step_by(ranks.count());
        mine.map(|(place, planned)| {
            let mut batch = self.batcher.build(planned);
            let key = random::key(&[recipe.seed.0, update, place as u64]);
            augment(&mut batch.source, &planned.sentences, &recipe.context, key);
            (place, batch)
        })
        .collect()
    }
}
