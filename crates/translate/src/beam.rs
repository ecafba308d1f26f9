//! Beam search over the sentences of a batch.

use abridge_model::tokens::{END, PAD};
use abridge_model::{Model, Sources};
use burn::tensor::activation::log_softmax;
use serde::{Deserialize, Serialize};

use crate::candidates::{Candidate, best};

/// How to search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BeamSettings {
    /// Hypotheses that are followed at once; 1 is greedy search.
    pub beam: usize,
    /// A finished hypothesis of n words scores its log-probability divided by n to this power.
    pub length_penalty: f64,
    /// No fewer words than this before the end.
    pub min_length: usize,
    /// No more words than this before the end.
    pub max_length: usize,
    /// How many hypotheses are wanted, at most `beam`.
    pub n_best: usize,
    /// Stops a sentence when no open hypothesis can become one of the wanted. The best ones are
    /// the same without it, later.
    pub early_exit: bool,
    /// Words that are never written.
    pub forbidden: Vec<u32>,
}

impl Default for BeamSettings {
    /// The paper's: beam 5, at most 200 words.
    fn default() -> Self {
        Self {
            beam: 5,
            length_penalty: 1.0,
            min_length: 1,
            max_length: 200,
            n_best: 1,
            early_exit: true,
            forbidden: Vec::new(),
        }
    }
}

/// A translation that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// Its words, the end included.
    pub tokens: Vec<u32>,
    /// Its log-probability, divided by the length penalty.
    pub score: f64,
    /// The log-probability of each word.
    pub token_scores: Vec<f32>,
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
    assert!(settings.beam > 0, "a beam has at least one hypothesis");
    let mut sentences: Vec<Sentence> = (0..sources.len()).map(|_| Sentence::start()).collect();
    if sentences.is_empty() {
        return Vec::new();
    }
    let mut decoding = model.decode(sources);
    let mut words = vec![END; sources.len()];
    for step in 0..=settings.max_length {
        let logits = decoding.step(&words);
        let [_, vocabulary] = logits.dims();
        let mut scores: Vec<f32> = log_softmax(logits, 1).into_data().iter::<f32>().collect();
        let mut rows = scores.chunks_exact_mut(vocabulary);
        let mut parents = Vec::new();
        words.clear();
        let mut first = 0;
        for sentence in sentences.iter_mut().filter(|sentence| !sentence.open.is_empty()) {
            let mut own: Vec<&mut [f32]> = rows.by_ref().take(sentence.open.len()).collect();
            for row in &mut own {
                forbid(row, step, settings);
            }
            let own: Vec<&[f32]> = own.into_iter().map(|row| &*row).collect();
            for candidate in sentence.advance(&own, step, settings) {
                parents.push(first + candidate.parent);
                words.push(candidate.word);
            }
            first += own.len();
        }
        if words.is_empty() {
            break;
        }
        decoding.reorder(&parents);
    }
    sentences.into_iter().map(|sentence| sentence.finish(settings.n_best)).collect()
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
    open: Vec<Open>,
    finished: Vec<Hypothesis>,
}

#[derive(Clone, Default)]
struct Open {
    tokens: Vec<u32>,
    token_scores: Vec<f32>,
    score: f32,
}

impl Sentence {
    fn start() -> Self {
        Self { open: vec![Open::default()], finished: Vec::new() }
    }

    /// Continues the open hypotheses; returns what goes on, or nothing when the sentence is done.
    fn advance(&mut self, rows: &[&[f32]], step: usize, settings: &BeamSettings) -> Vec<Candidate> {
        let so_far: Vec<f32> = self.open.iter().map(|open| open.score).collect();
        let candidates = best(rows, &so_far, 2 * settings.beam);
        for candidate in candidates.iter().take(settings.beam) {
            if candidate.word == END && self.finished.len() < settings.beam {
                let open = self.open[candidate.parent].with(candidate);
                let length = open.tokens.len() as f64;
                self.finished.push(Hypothesis {
                    score: f64::from(open.score) / length.powf(settings.length_penalty),
                    tokens: open.tokens,
                    token_scores: open.token_scores,
                });
            }
        }
        let mut going: Vec<Candidate> =
            candidates.into_iter().filter(|candidate| candidate.word != END).collect();
        going.truncate(settings.beam);
        let is_done = self.finished.len() == settings.beam
            || step == settings.max_length
            || (settings.early_exit && self.is_decided(&going, settings));
        if is_done {
            going.clear();
        }
        self.open =
            going.iter().map(|candidate| self.open[candidate.parent].with(candidate)).collect();
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
