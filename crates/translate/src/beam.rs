//! Beam search over the sentences of a batch; greedy search and sampling are its special cases.

use std::sync::atomic::{AtomicBool, Ordering};

use abridge_model::lean::LeanDecoder;
use abridge_model::tokens::{END, PAD};
use abridge_model::{Model, Sources, random};

use crate::candidates::{Candidate, Continuations, best};
use crate::sampling::draw;
use crate::settings::BeamSettings;
use crate::steps::Steps;
use crate::{Error, Result};

/// A translation that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// Its words, the end included.
    pub tokens: Vec<u32>,
    /// Its log-probability, divided by the length penalty.
    pub score: f64,
    /// The log-probability of each word.
    pub token_scores: Vec<f32>,
    /// Whether it ended because it could not grow any longer.
    pub is_cut: bool,
}

/// What a search is given beside the settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search<'a> {
    pub settings: &'a BeamSettings,
    /// For each sentence what its random numbers are keyed by.
    pub keys: &'a [u64],
    /// Ends the search between two steps.
    pub stop: Option<&'a AtomicBool>,
    /// One per sentence, or none at all: ends the search for that sentence.
    pub stops: &'a [&'a AtomicBool],
}

pub(crate) fn is_set(flag: Option<&&AtomicBool>) -> bool {
    flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Translates every sentence; for each the best hypotheses, best first.
///
/// At every step the best `2 * beam` continuations of a sentence's hypotheses are looked at. Those
/// of the first `beam` that end are finished; the best `beam` that do not end go on. A sentence is
/// done when `beam` hypotheses are finished, at the maximum length, or at an early exit.
pub fn beam_search(
    model: &Model,
    sources: &Sources,
    settings: &BeamSettings,
) -> Vec<Vec<Hypothesis>> {
    beam_search_with(model, model.lean_decoder().as_ref(), sources, settings)
}

/// As [`beam_search`], with a decoder for the CPU that was made before: for many searches.
pub fn beam_search_with(
    model: &Model,
    lean: Option<&LeanDecoder>,
    sources: &Sources,
    settings: &BeamSettings,
) -> Vec<Vec<Hypothesis>> {
    let keys: Vec<u64> = (0..sources.len() as u64).collect();
    let search = Search { settings, keys: &keys, stop: None, stops: &[] };
    search.run(model, lean, sources).unwrap_or_default()
}

impl Search<'_> {
    /// See [`beam_search`]. The only error is to be stopped.
    pub fn run(
        &self,
        model: &Model,
        lean: Option<&LeanDecoder>,
        sources: &Sources,
    ) -> Result<Vec<Vec<Hypothesis>>> {
        let settings = self.settings;
        assert!(settings.beam > 0, "a beam has at least one hypothesis");
        let mut sentences: Vec<Sentence> =
            self.keys.iter().map(|&key| Sentence::start(key)).collect();
        if sentences.is_empty() {
            return Ok(Vec::new());
        }
        let vocabulary = model.config().target_vocabulary;
        let longest = settings.max_length.max(settings.prefix.len());
        let mut decoding = Steps::new(model, lean, sources);
        let mut words = vec![END; sources.len()];
        let mut parents = Vec::new();
        for step in 0..=longest {
            if is_set(self.stop.as_ref()) {
                return Err(Error::Stopped);
            }
            let logits = decoding.step(&words);
            let mut rows = logits.chunks_exact_mut(vocabulary);
            parents.clear();
            words.clear();
            let mut first = 0;
            for (place, sentence) in sentences.iter_mut().enumerate() {
                let open = sentence.open.len();
                let own = rows.by_ref().take(open);
                if open == 0 {
                    continue;
                }
                if is_set(self.stops.get(place)) {
                    own.for_each(drop);
                    sentence.open.clear();
                    sentence.finished.clear();
                    first += open;
                    continue;
                }
                for candidate in sentence.advance(own, step, settings) {
                    parents.push(first + candidate.parent);
                    words.push(candidate.word);
                }
                first += open;
            }
            if words.is_empty() {
                break;
            }
            // Greedy search only reorders when a sentence ends.
            if parents.len() != first || !parents.iter().copied().eq(0..first) {
                decoding.reorder(&parents);
            }
        }
        Ok(sentences.into_iter().map(|sentence| sentence.finish(settings.n_best)).collect())
    }
}

/// Makes impossible what must not be written at this step.
fn forbid(row: &mut [f32], step: usize, settings: &BeamSettings) {
    let end = row[END as usize];
    row[PAD as usize] = f32::NEG_INFINITY;
    for &word in &settings.forbidden {
        if let Some(score) = row.get_mut(word as usize) {
            *score = f32::NEG_INFINITY;
        }
    }
    if step >= settings.max_length {
        row.fill(f32::NEG_INFINITY);
        row[END as usize] = end;
    } else if step < settings.min_length {
        row[END as usize] = f32::NEG_INFINITY;
    }
}

/// A sentence in the middle of its search.
struct Sentence {
    key: u64,
    open: Vec<Open>,
    finished: Vec<Hypothesis>,
}

#[derive(Clone, Default)]
struct Open {
    tokens: Vec<u32>,
    token_scores: Vec<f32>,
    score: f32,
    /// Which sample it is.
    sample: u64,
}

impl Sentence {
    fn start(key: u64) -> Self {
        Self { key, open: vec![Open::default()], finished: Vec::new() }
    }

    /// Continues the open hypotheses; returns what goes on, or nothing when the sentence is done.
    fn advance<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r mut [f32]>,
        step: usize,
        settings: &BeamSettings,
    ) -> Vec<Candidate> {
        let rows = rows.zip(&self.open).map(|(row, open)| Continuations::new(row, open.score));
        let mut rows: Vec<Continuations<'_>> = rows.collect();
        if let Some(&word) = settings.prefix.get(step) {
            let forced = rows.iter().enumerate().map(|(parent, row)| row.with(parent, word));
            return self.go_on(forced.collect());
        }
        for row in &mut rows {
            forbid(row.logits, step, settings);
        }
        if settings.sampling.is_some() {
            return self.sample(&rows, step, settings);
        }
        let candidates = best(&rows, 2 * settings.beam);
        for candidate in candidates.iter().take(settings.beam) {
            if candidate.word == END && self.finished.len() < settings.beam {
                self.close(self.open[candidate.parent].with(candidate), step, settings);
            }
        }
        let mut going: Vec<Candidate> =
            candidates.into_iter().filter(|candidate| candidate.word != END).collect();
        going.truncate(settings.beam);
        let is_done = self.finished.len() == settings.beam
            || step >= settings.max_length
            || (settings.early_exit && self.is_decided(&going, settings));
        if is_done {
            going.clear();
        }
        self.go_on(going)
    }

    /// Every sample draws a word of its own.
    fn sample(
        &mut self,
        rows: &[Continuations<'_>],
        step: usize,
        settings: &BeamSettings,
    ) -> Vec<Candidate> {
        let Some(sampling) = &settings.sampling else { return Vec::new() };
        // The samples part at the first word that is not forced.
        let is_first = step == settings.prefix.len();
        let drawers: Vec<(usize, u64)> = if is_first {
            (0..settings.n_best as u64).map(|sample| (0, sample)).collect()
        } else {
            self.open.iter().enumerate().map(|(place, open)| (place, open.sample)).collect()
        };
        let mut going = Vec::new();
        let mut samples = Vec::new();
        for (parent, sample) in drawers {
            let place = random::key(&[self.key, sample, step as u64]);
            let Some(word) = draw(&rows[parent], sampling, place) else { continue };
            let candidate = rows[parent].with(parent, word);
            if word == END {
                self.close(self.open[parent].with(&candidate), step, settings);
            } else {
                going.push(candidate);
                samples.push(sample);
            }
        }
        let going = self.go_on(going);
        self.open.iter_mut().zip(samples).for_each(|(open, sample)| open.sample = sample);
        going
    }

    fn close(&mut self, open: Open, step: usize, settings: &BeamSettings) {
        let length = open.tokens.len() as f64;
        self.finished.push(Hypothesis {
            score: f64::from(open.score) / length.powf(settings.length_penalty),
            tokens: open.tokens,
            token_scores: open.token_scores,
            is_cut: step >= settings.max_length,
        });
    }

    fn go_on(&mut self, going: Vec<Candidate>) -> Vec<Candidate> {
        let open = going.iter().map(|candidate| self.open[candidate.parent].with(candidate));
        self.open = open.collect();
        going
    }

    /// Whether no open hypothesis can still become one of the wanted.
    ///
    /// More words only lower a log-probability, so the best that an open hypothesis can reach is
    /// its present one at the length that the penalty favours most.
    fn is_decided(&self, going: &[Candidate], settings: &BeamSettings) -> bool {
        if self.finished.len() < settings.n_best {
            return false;
        }
        let mut scores: Vec<f64> = self.finished.iter().map(|finished| finished.score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        let to_beat = scores[settings.n_best.max(1) - 1];
        let shortest = self.open.first().map_or(1, |open| open.tokens.len() + 2) as f64;
        let longest = (settings.max_length + 1) as f64;
        going.iter().all(|candidate| {
            let reach =
                |length: f64| f64::from(candidate.score) / length.powf(settings.length_penalty);
            reach(shortest).max(reach(longest)) < to_beat
        })
    }

    fn finish(mut self, n_best: usize) -> Vec<Hypothesis> {
        self.finished.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.finished.truncate(n_best);
        self.finished
    }
}

impl Open {
    fn with(&self, candidate: &Candidate) -> Self {
        let mut next = self.clone();
        next.tokens.push(candidate.word);
        next.token_scores.push(candidate.score - self.score);
        next.score = candidate.score;
        next
    }
}
