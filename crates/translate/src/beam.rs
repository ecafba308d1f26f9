//! Beam search over the sentences of a batch; greedy search and sampling are its special cases.

use std::sync::atomic::{AtomicBool, Ordering};

use abridge_model::lean::{LeanDecoder, MostProbable, Wanted};
use abridge_model::tokens::{END, PAD};
use abridge_model::{Model, Sources, random};

use crate::candidates::{Candidate, Continuations, best};
use crate::sampling::draw;
use crate::settings::{BeamSettings, Stop};
use crate::steps::Steps;
use crate::turns::Control;
use crate::{Error, Result};

/// A finished translation.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// Its tokens, including the end token.
    pub tokens: Vec<u32>,
    /// Its log-probability, divided by the length penalty.
    pub score: f64,
    /// The log-probability of each token.
    pub token_scores: Vec<f32>,
    /// Whether it ended because it reached the maximum length.
    pub is_cut: bool,
}

/// The inputs of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search<'a> {
    pub settings: &'a BeamSettings,
    /// For each sentence, the key of its random numbers.
    pub keys: &'a [u64],
    /// For each sentence, its shortlist; or empty.
    pub lists: &'a [Vec<u32>],
    /// Callbacks and limits, if any.
    pub control: Option<&'a Control<'a>>,
    /// One per sentence, or empty: ends the search for that sentence.
    pub stops: &'a [&'a AtomicBool],
}

pub(crate) fn is_set(flag: Option<&&AtomicBool>) -> bool {
    flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Translates every sentence; returns the best hypotheses of each, best first.
///
/// Every step considers the best `2 * beam` continuations of a sentence's hypotheses. Of the first
/// `beam`, those that end are finished; the best `beam` that do not end continue. A sentence is
/// done when enough hypotheses are finished ([`Stop`]), at the maximum length, or at an early exit.
pub fn beam_search(
    model: &Model,
    sources: &Sources,
    settings: &BeamSettings,
) -> Vec<Vec<Hypothesis>> {
    beam_search_with(model, model.lean_decoder().as_ref(), sources, settings)
}

/// As [`beam_search`], with a CPU decoder that is reused for many searches.
pub fn beam_search_with(
    model: &Model,
    lean: Option<&LeanDecoder>,
    sources: &Sources,
    settings: &BeamSettings,
) -> Vec<Vec<Hypothesis>> {
    let keys: Vec<u64> = (0..sources.len() as u64).collect();
    let search = Search { settings, keys: &keys, lists: &[], stops: &[], control: None };
    search.run(model, lean, sources.clone()).unwrap_or_default()
}

impl Search<'_> {
    /// See [`beam_search`]. Fails only if it is stopped or the prefix is too long.
    pub fn run(
        &self,
        model: &Model,
        lean: Option<&LeanDecoder>,
        sources: Sources,
    ) -> Result<Vec<Vec<Hypothesis>>> {
        let settings = &self.settings.within(model.config())?;
        assert!(settings.beam > 0, "a beam has at least one hypothesis");
        let mut sentences: Vec<Sentence> =
            self.keys.iter().map(|&key| Sentence::start(key)).collect();
        if sentences.is_empty() {
            return Ok(Vec::new());
        }
        let vocabulary = model.config().target_vocabulary;
        let longest = settings.max_length.max(settings.prefix.len());
        let mut words = vec![model.config().start_word(); sources.len()];
        let mut decoding = Steps::new(model, lean, sources, self.lists);
        let mut parents = Vec::new();
        for step in 0..=longest {
            if let Some(control) = self.control {
                (control.before_step)(words.len());
                if is_set(control.stop.as_ref()) {
                    return Err(Error::Stopped);
                }
            }
            let forbidden = forbidden(step, settings);
            let is_drawn = settings.sampling.is_some() && step >= settings.prefix.len();
            let found = if is_drawn {
                Found::Logits(decoding.step(&words))
            } else {
                let end = (step >= settings.max_length).then_some(END);
                let only = settings.prefix.get(step).copied().or(end);
                let wanted = Wanted { count: 2 * settings.beam, forbidden: &forbidden, only };
                Found::Best(decoding.step_to_best(&words, &wanted))
            };
            parents.clear();
            words.clear();
            let mut first = 0;
            for (place, sentence) in sentences.iter_mut().enumerate() {
                let own = first..first + sentence.open.len();
                first = own.end;
                if own.is_empty() {
                    continue;
                }
                if is_set(self.stops.get(place)) {
                    sentence.open.clear();
                    sentence.finished.clear();
                    continue;
                }
                let going = match found {
                    Found::Best(rows) => sentence.advance(&rows[own.clone()], step, settings),
                    Found::Logits(logits) => {
                        let logits = &logits[own.start * vocabulary..own.end * vocabulary];
                        let rows: Vec<&[f32]> = logits.chunks_exact(vocabulary).collect();
                        sentence.sample(&rows, step, &forbidden, settings)
                    }
                };
                for candidate in going {
                    parents.push(own.start + candidate.parent);
                    words.push(candidate.word);
                }
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

/// The result of a step.
#[derive(Clone, Copy)]
enum Found<'a> {
    /// For beam search: the most probable words that could follow each hypothesis.
    Best(&'a [MostProbable]),
    /// For sampling: all words, `[hypotheses, vocabulary]`.
    Logits(&'a [f32]),
}

/// The words that must not be generated at this step.
fn forbidden(step: usize, settings: &BeamSettings) -> Vec<u32> {
    let end = (step < settings.min_length).then_some(END);
    settings.forbidden.iter().copied().chain([PAD]).chain(end).collect()
}

/// The search state of a sentence.
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

    /// Extends the open hypotheses; returns those that continue, or none when the sentence is done.
    fn advance(
        &mut self,
        rows: &[MostProbable],
        step: usize,
        settings: &BeamSettings,
    ) -> Vec<Candidate> {
        let is_free = settings.free_end && step >= settings.max_length;
        let rows = rows.iter().zip(&self.open).map(|(row, open)| Continuations {
            words: row.best(),
            // Only the end token is left; with its own logit as the total, its probability is one.
            total: row.best().first().filter(|_| is_free).map_or(row.total(), |end| end.1),
            so_far: open.score,
        });
        let rows: Vec<Continuations<'_>> = rows.collect();
        if step < settings.prefix.len() {
            let forced = rows.iter().enumerate().filter_map(|(parent, row)| row.first(parent));
            return self.go_on(forced.collect());
        }
        let candidates = best(&rows, 2 * settings.beam);
        for candidate in candidates.iter().take(settings.beam) {
            let is_wanted = settings.stop == Stop::Outscored || self.finished.len() < settings.beam;
            if candidate.word == END && is_wanted {
                self.close(self.open[candidate.parent].with(candidate), step, settings);
            }
        }
        if self.finished.len() > settings.beam {
            self.finished.sort_by(|a, b| b.score.total_cmp(&a.score));
            self.finished.truncate(settings.beam);
        }
        let mut going: Vec<Candidate> =
            candidates.into_iter().filter(|candidate| candidate.word != END).collect();
        going.truncate(settings.beam);
        let is_done = self.has_enough(&going, settings)
            || step >= settings.max_length
            || (settings.early_exit && self.is_decided(&going, settings));
        if is_done {
            going.clear();
        }
        self.go_on(going)
    }

    /// Draws one word for every sample.
    fn sample(
        &mut self,
        rows: &[&[f32]],
        step: usize,
        forbidden: &[u32],
        settings: &BeamSettings,
    ) -> Vec<Candidate> {
        let Some(sampling) = &settings.sampling else { return Vec::new() };
        // The samples diverge at the first word that is not forced.
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
            let drawn = if step >= settings.max_length {
                Some(END)
            } else {
                draw(rows[parent], forbidden, sampling, place)
            };
            let Some(word) = drawn else { continue };
            let wanted = Wanted { count: 1, forbidden: &[], only: Some(word) };
            let found = MostProbable::of_row(rows[parent], &wanted);
            let (words, total) = (found.best(), found.total());
            let row = Continuations { words, total, so_far: self.open[parent].score };
            let Some(candidate) = row.first(parent) else { continue };
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

    /// See [`Stop`].
    fn has_enough(&self, going: &[Candidate], settings: &BeamSettings) -> bool {
        if self.finished.len() < settings.beam {
            return false;
        }
        if settings.stop == Stop::Full {
            return true;
        }
        let length = self.open.first().map_or(1, |open| open.tokens.len() + 1) as f64;
        let worst = self.finished.iter().map(|finished| finished.score).fold(f64::MAX, f64::min);
        going.first().is_none_or(|best| {
            f64::from(best.score) / length.powf(settings.length_penalty) <= worst
        })
    }

    /// Whether no open hypothesis can still make it into the n best.
    ///
    /// More words only lower a log-probability, so the best score that an open hypothesis can reach
    /// is its current log-probability at the length that the penalty favours most.
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
