//! The micro-batches of each update, from epoch to epoch.

use std::collections::BTreeMap;

use abridge_base::{Batch, random};
use abridge_corpus::batch::{Position, Sampler};

use crate::augment::augment;
use crate::event::CorpusCoverage;
use crate::ranks::Ranks;
use crate::recipe::TrainRecipe;

/// Iterates over the training data.
#[derive(Debug)]
pub struct Updates {
    sampler: Sampler,
    in_epoch: usize,
    /// The tokens of target languages.
    languages: Vec<u32>,
}

impl Updates {
    /// The updates that a sampler draws, starting at a position.
    pub fn new(mut sampler: Sampler, languages: Vec<u32>, from: &mut Position) -> Self {
        sampler.enter(from);
        Self { in_epoch: sampler.batches_in_epoch(), sampler, languages }
    }

    /// Micro-batches in an epoch; approximate for large data or several corpora.
    pub fn in_epoch(&self) -> usize {
        self.in_epoch
    }

    /// Whether every batch of the epoch is done.
    pub fn is_epoch_done(&self, position: &Position) -> bool {
        self.sampler.is_epoch_done(position)
    }

    /// What was seen of each corpus, by name; empty if there is only one.
    pub fn seen(&self, position: &Position) -> BTreeMap<String, CorpusCoverage> {
        if !self.sampler.is_mixed() {
            return BTreeMap::new();
        }
        let all: u64 = position.corpora.iter().map(|place| place.tokens).sum();
        let passes = self.sampler.passes(position);
        let seen = position.corpora.iter().zip(passes).map(|(place, passes)| {
            let share = place.tokens as f64 / all.max(1) as f64;
            let (sentences, tokens) = (place.sentences, place.tokens);
            (place.name.clone(), CorpusCoverage { sentences, tokens, share, passes })
        });
        seen.collect()
    }

    /// This rank's micro-batches of the next update, each with its index in the update; advances
    /// `position`.
    ///
    /// The last update of an epoch may have fewer.
    pub fn next(
        &mut self,
        position: &mut Position,
        update: u64,
        recipe: &TrainRecipe,
        ranks: &dyn Ranks,
    ) -> Vec<(usize, Batch)> {
        let mut planned = Vec::new();
        while planned.len() < recipe.batches.per_update {
            planned.push(self.sampler.next(position, update));
            if self.is_epoch_done(position) {
                break;
            }
        }
        let mine = planned.iter().enumerate().skip(ranks.rank()).step_by(ranks.count());
        mine.map(|(place, planned)| {
            let mut batch = self.sampler.build(planned);
            let key = random::key(&[recipe.seed.0, update, place as u64]);
            let (numbers, context) = (&planned.sentences, &recipe.context);
            augment(&mut batch.source, numbers, context, &self.languages, key);
            (place, batch)
        })
        .collect()
    }
}
