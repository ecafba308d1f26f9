//! Draws the batches of a training run, without end, from one corpus or several.

use std::ops::Range;
use std::sync::Arc;

use abridge_base::Batch;
use serde::{Deserialize, Serialize};

use super::plan::{BatchPlan, PlannedBatch};
use super::runs::{Cost, Documents, Run};
use super::{BatchSettings, Batcher, Mixture, Order};
use crate::store::{Side, TokenStore};
use crate::{Error, Result};

/// A position between two batches, as saved in a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The epoch, counted from 0; for several corpora, the smallest number of passes over any.
    pub epoch: u64,
    /// How many batches of the epoch are done; for several corpora, how many in total.
    pub batch: usize,
    /// The phase of the mixture.
    #[serde(default)]
    pub phase: usize,
    /// The position in each corpus; empty before the first batch.
    #[serde(default)]
    pub corpora: Vec<CorpusPosition>,
}

/// The position of a training run in one of its corpora.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusPosition {
    /// The name of the corpus; empty if the data has only one.
    pub name: String,
    /// The epoch of this corpus, counted from 0.
    pub epoch: u64,
    /// The window of the epoch.
    pub window: usize,
    /// The next run of the window.
    pub run: usize,
    /// Target tokens drawn since the phase of the mixture began.
    pub drawn: u64,
    /// Target tokens drawn since the training began, including each `</s>`.
    pub tokens: u64,
    /// Sentences drawn since the training began.
    pub sentences: u64,
}

/// Draws batches: from the runs of one corpus, epoch after epoch, from those of several corpora in
/// the shares of a [`Mixture`], or from a fixed composition ([`Order::Shuffled`]).
///
/// The next batch depends only on the position, the update and the settings. The next run comes
/// from the corpus that is furthest behind its share, so at any time shares are exact up to the
/// length of a run.
#[derive(Debug)]
pub struct Sampler {
    batcher: Batcher,
    corpora: Vec<Corpus>,
    mixture: Mixture,
    /// For shuffled batches: those of one epoch.
    plan: Option<(u64, BatchPlan)>,
}

/// A corpus among others in one store.
#[derive(Debug)]
struct Corpus {
    name: String,
    documents: Range<usize>,
    windows: usize,
    /// The runs of one window, by epoch and number.
    loaded: Option<((u64, usize), Vec<Run>)>,
}

impl Sampler {
    /// A sampler over corpora that share their vocabularies, with one weight in the mixture each.
    pub fn new(
        corpora: Vec<(String, TokenStore)>,
        mixture: Mixture,
        settings: BatchSettings,
    ) -> Result<Self> {
        if corpora.len() != mixture.corpora() {
            return Err(Error::new(format!(
                "a mixture of {} corpora for {} corpora",
                mixture.corpora(),
                corpora.len()
            )));
        }
        if corpora.len() > 1 && !matches!(settings.order, Order::Runs { .. }) {
            return Err(Error::new("batches of single sentences cannot mix corpora")
                .remedy("use runs, or train on one corpus"));
        }
        if let Some((name, _)) = corpora.iter().find(|(_, store)| store.sentences() == 0) {
            return Err(Error::new(format!("the corpus `{name}` has no sentences"))
                .remedy("prepare it from files that hold text"));
        }
        let mut parts = Vec::new();
        let mut stores = Vec::new();
        let mut start = 0;
        for (name, store) in corpora {
            let documents = start..start + store.documents();
            start = documents.end;
            parts.push(Corpus { name, documents, windows: 0, loaded: None });
            stores.push(store);
        }
        let batcher = Batcher::new(Arc::new(TokenStore::join(stores)?), settings)?;
        for part in &mut parts {
            let range = part.documents.clone();
            part.windows = Documents { store: batcher.store(), range }.windows();
        }
        Ok(Self { batcher, corpora: parts, mixture, plan: None })
    }

    /// Whether there are several corpora, so that there are no epochs.
    pub fn is_mixed(&self) -> bool {
        self.corpora.len() > 1
    }

    /// The names of the corpora.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.corpora.iter().map(|corpus| corpus.name.as_str())
    }

    /// Sentences left out because they are too long; only shuffled batches drop any.
    pub fn dropped(&self) -> usize {
        self.plan.as_ref().map_or(0, |(_, plan)| plan.dropped.len())
    }

    /// The number of passes over each corpus up to a position, as a fraction.
    pub fn passes(&self, position: &Position) -> Vec<f64> {
        let passes = position.corpora.iter().zip(&self.corpora).map(|(place, corpus)| {
            let range = corpus.documents.clone();
            let all = Documents { store: self.batcher.store(), range }.sentences();
            place.sentences as f64 / all as f64
        });
        passes.collect()
    }

    /// Gathers the tokens of a batch.
    pub fn build(&self, planned: &PlannedBatch) -> Batch {
        self.batcher.build(planned)
    }

    /// The number of batches in an epoch: exact for one corpus that is planned at once, otherwise
    /// an estimate from the tokens of all corpora.
    pub fn batches_in_epoch(&self) -> usize {
        let order = self.batcher.settings().order;
        let at_once = matches!(self.corpora.as_slice(), [Corpus { windows: 1, .. }]);
        if at_once || matches!(order, Order::Shuffled { .. }) {
            return self.batcher.plan(0).batches.len();
        }
        let store = self.batcher.store();
        let tokens = [Side::Source, Side::Target].map(|side| store.token_count(side));
        let tokens = tokens[0].max(tokens[1]) + store.sentences();
        tokens.div_ceil(self.batcher.settings().max_tokens).max(1)
    }

    /// Whether every batch of the epoch is done; never for several corpora.
    pub fn is_epoch_done(&self, position: &Position) -> bool {
        match (&self.plan, position.corpora.as_slice()) {
            (Some((epoch, plan)), _) => {
                *epoch == position.epoch && position.batch >= plan.batches.len()
            }
            (None, [place]) => place.window >= self.corpora[0].windows,
            _ => false,
        }
    }

    /// The next batch; advances `position`. With one corpus, no batch crosses the end of an epoch.
    pub fn next(&mut self, position: &mut Position, update: u64) -> PlannedBatch {
        match self.batcher.settings().order {
            Order::Runs { run_length } => {
                self.enter(position);
                self.draw(position, update, run_length)
            }
            Order::Shuffled { .. } => self.composed(position),
        }
    }

    /// Converts a position to these corpora, whether it is that of a new run, of one begun with
    /// other corpora, or of one saved by an older version.
    pub fn enter(&mut self, position: &mut Position) {
        let Order::Runs { run_length } = self.batcher.settings().order else {
            self.plan = Some((position.epoch, self.batcher.plan(position.epoch)));
            return;
        };
        let known = position.corpora.iter().map(|place| &place.name);
        if known.eq(self.corpora.iter().map(|corpus| &corpus.name)) {
            return;
        }
        let before = std::mem::take(&mut position.corpora);
        let place = |corpus: &Corpus| {
            let known = before.iter().find(|place| place.name == corpus.name).cloned();
            let epoch = if self.corpora.len() == 1 { position.epoch } else { 0 };
            let new = CorpusPosition { name: corpus.name.clone(), epoch, ..Default::default() };
            CorpusPosition { drawn: 0, ..known.unwrap_or(new) }
        };
        let places = self.corpora.iter().map(place).collect();
        position.corpora = places;
        // Older positions only count the batches of the epoch.
        if before.is_empty() && !self.is_mixed() {
            let done = std::mem::take(&mut position.batch);
            for _ in 0..done {
                self.draw(position, 1, run_length);
            }
        }
    }

    fn draw(&mut self, position: &mut Position, update: u64, run_length: usize) -> PlannedBatch {
        let settings = *self.batcher.settings();
        let (phase, weights) = self.mixture.at(update);
        let weights = weights.to_vec();
        if position.phase != phase {
            position.phase = phase;
            position.corpora.iter_mut().for_each(|place| place.drawn = 0);
        }
        if self.is_epoch_done(position) {
            let place = &mut position.corpora[0];
            (place.epoch, place.window, place.run) = (place.epoch + 1, 0, 0);
            position.batch = 0;
        }
        let mut batch = PlannedBatch::default();
        let mut cost = Cost::default();
        while !self.is_epoch_done(position) {
            let corpus = furthest_behind(&position.corpora, &weights);
            let place = &mut position.corpora[corpus];
            let runs = self.runs(corpus, place.epoch, place.window, run_length);
            if let Some(run) = runs.get(place.run) {
                if !cost.plus(run.cost).fits(&settings) && !batch.sentences.is_empty() {
                    break;
                }
                batch.sentences.extend(run.sentences.clone());
                cost = cost.plus(run.cost);
                place.run += 1;
                place.drawn += run.cost.target as u64;
                place.tokens += run.cost.target as u64;
                place.sentences += run.sentences.len() as u64;
            }
            if place.run >= runs.len() {
                (place.window, place.run) = (place.window + 1, 0);
                if self.is_mixed() && place.window >= self.corpora[corpus].windows {
                    (place.epoch, place.window) = (place.epoch + 1, 0);
                }
            }
        }
        position.batch += 1;
        position.epoch = position.corpora.iter().map(|place| place.epoch).min().unwrap_or(0);
        batch
    }

    /// The runs of a window, cached until another window is requested.
    fn runs(&mut self, corpus: usize, epoch: u64, window: usize, run_length: usize) -> &[Run] {
        let corpus = &mut self.corpora[corpus];
        let loaded = corpus.loaded.take().filter(|(which, _)| *which == (epoch, window));
        let loaded = loaded.unwrap_or_else(|| {
            let range = corpus.documents.clone();
            let documents = Documents { store: self.batcher.store(), range };
            let settings = self.batcher.settings();
            ((epoch, window), documents.window(settings, run_length, epoch, window))
        });
        &corpus.loaded.insert(loaded).1
    }

    fn composed(&mut self, position: &mut Position) -> PlannedBatch {
        loop {
            let plan = match self.plan.take() {
                Some((epoch, plan)) if epoch == position.epoch => plan,
                _ => self.batcher.plan(position.epoch),
            };
            let planned = plan.batches.get(position.batch).cloned();
            self.plan = Some((position.epoch, plan));
            if let Some(planned) = planned {
                position.batch += 1;
                return planned;
            }
            (position.epoch, position.batch) = (position.epoch + 1, 0);
        }
    }
}

/// The corpus with the smallest drawn share relative to its weight.
fn furthest_behind(places: &[CorpusPosition], weights: &[f64]) -> usize {
    let drawn = |corpus: usize| places[corpus].drawn as f64 / weights[corpus];
    (0..places.len())
        .filter(|&corpus| weights[corpus] > 0.0)
        .min_by(|&a, &b| drawn(a).total_cmp(&drawn(b)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Phase;
    use crate::batch::tests::{settings, store_of};

    const RUNS: Order = Order::Runs { run_length: 4 };

    fn corpora() -> Vec<(String, TokenStore)> {
        let documents = |count: usize, length: usize| vec![vec![(length, length); 7]; count];
        vec![
            ("large".into(), store_of(&documents(60, 9))),
            ("small".into(), store_of(&documents(5, 4))),
        ]
    }

    fn sampler(mixture: Mixture) -> Sampler {
        Sampler::new(corpora(), mixture, settings(2, 120, RUNS)).unwrap()
    }

    fn shares(position: &Position) -> Vec<f64> {
        let all: u64 = position.corpora.iter().map(|place| place.tokens).sum();
        position.corpora.iter().map(|place| place.tokens as f64 / all as f64).collect()
    }

    #[test]
    fn shares_match_the_weights_and_each_corpus_is_used_evenly() {
        let mut sampler = sampler(Mixture::constant(vec![1.0, 3.0]).unwrap());
        let mut position = Position::default();
        let mut seen = vec![0; 65 * 7];
        for update in 1..=400 {
            for sentence in sampler.next(&mut position, update).sentences {
                seen[sentence] += 1;
            }
        }
        let share = shares(&position)[1];
        assert!((share - 0.75).abs() < 0.005, "{share}");
        for corpus in [0..60 * 7, 60 * 7..65 * 7] {
            let counts = &seen[corpus];
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "an epoch ends before the next begins: {least} to {most}");
        }
        let passes = sampler.passes(&position);
        assert!(passes[0] > 0.5 && passes[1] > 20.0, "{passes:?}");
        assert!(!sampler.is_epoch_done(&position));
    }

    #[test]
    fn a_phase_begins_at_its_update_and_has_its_own_shares() {
        let phases = vec![
            Phase { until: Some(50), weights: vec![1.0, 0.0] },
            Phase { until: None, weights: vec![0.5, 0.5] },
        ];
        let mut sampler = sampler(Mixture::new(phases).unwrap());
        let mut position = Position::default();
        for update in 1..=50 {
            sampler.next(&mut position, update);
        }
        assert_eq!(shares(&position), [1.0, 0.0]);
        let before = position.clone();
        for update in 51..=150 {
            sampler.next(&mut position, update);
        }
        let drawn = |corpus: usize| position.corpora[corpus].tokens - before.corpora[corpus].tokens;
        let share = drawn(1) as f64 / (drawn(0) + drawn(1)) as f64;
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }

    #[test]
    fn a_saved_position_continues_with_the_same_batches() {
        let phases = vec![
            Phase { until: Some(9), weights: vec![2.0, 1.0] },
            Phase { until: None, weights: vec![1.0, 5.0] },
        ];
        let mixture = Mixture::new(phases).unwrap();
        let mut whole = sampler(mixture.clone());
        let mut position = Position::default();
        for stop in 1..=40 {
            whole.next(&mut position, stop);
            let saved = serde_json::to_string(&position).unwrap();
            let mut place: Position = serde_json::from_str(&saved).unwrap();
            let mut other = sampler(mixture.clone());
            let mut continued = position.clone();
            for update in stop + 1..stop + 4 {
                let expected = whole.next(&mut continued, update);
                assert_eq!(other.next(&mut place, update), expected);
            }
        }
    }

    #[test]
    fn rejects_impossible_mixtures() {
        let order = Order::published();
        let mixture = || Mixture::constant(vec![1.0, 1.0]).unwrap();
        let error = Sampler::new(corpora(), mixture(), settings(1, 500, order)).unwrap_err();
        assert!(error.to_string().contains("cannot mix"), "{error}");
        let mut one_empty = corpora();
        one_empty[1].1 = store_of(&[vec![]]);
        let error = Sampler::new(one_empty, mixture(), settings(1, 500, RUNS)).unwrap_err();
        assert!(error.to_string().contains("`small` has no sentences"), "{error}");
    }
}
