//! Scores given translations.
//!
//! Scoring works like translation: each distinct sentence of the requests is encoded once, however
//! many requests have it as their source or in their context, and the decoder attends to its memory
//! entry.

use abridge_model::tokens::END;
use abridge_model::{Packed, SentenceInContext};

use crate::Result;
use crate::batches::{BATCH_SENTENCES, BATCH_TOKENS, Limits};
use crate::given::Given;
use crate::in_context::InContext;
use crate::translator::Translator;

/// Source tokens per thread that are in memory at once. At the paper's width, a token takes up to
/// 28 KiB.
const WINDOW_TOKENS: usize = 8000;

/// A sentence with its context and candidate translations.
#[derive(Clone, Copy, Debug)]
pub struct ScoreRequest<'a> {
    /// The sentence.
    pub source: &'a str,
    /// The sentences before it, oldest first; only the last ones are used.
    pub context: &'a [String],
    /// Their translations, for a model whose memory holds them; may be missing.
    pub context_translations: &'a [String],
    /// The indices in `context` of the sentences that the model sees as the nearest, the second
    /// nearest and so on, one per slot; by default their real order. For experiments that move
    /// sentences or leave slots empty.
    pub shown: Option<&'a [Option<usize>]>,
    /// The translations to score.
    pub candidates: &'a [String],
}

/// The log-probability of a translation.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The log-probability of all tokens, including the end token.
    pub sum: f64,
    /// The number of tokens, including the end token.
    pub tokens: usize,
    /// The log-probability of each token.
    pub token_scores: Vec<f32>,
}

impl Score {
    fn new(token_scores: Vec<f32>) -> Self {
        Self {
            sum: token_scores.iter().map(|&score| f64::from(score)).sum(),
            tokens: token_scores.len(),
            token_scores,
        }
    }

    /// The log-probability per token, by which candidates are ranked.
    pub fn mean(&self) -> f64 {
        self.sum / self.tokens as f64
    }
}

impl Translator {
    /// Scores candidates. `done` is called with the number of requests just finished.
    pub fn score(
        &self,
        requests: &[ScoreRequest<'_>],
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<Score>>> {
        let mut scores = Vec::with_capacity(requests.len());
        while scores.len() < requests.len() {
            scores.extend(Window::new(self, requests, scores.len())?.score(done)?);
        }
        Ok(scores)
    }
}

/// Consecutive requests whose sentences are encoded together.
struct Window<'a> {
    translator: &'a Translator,
    given: Given<'a>,
    /// The candidates of each request, including the end tokens.
    candidates: Vec<Vec<Vec<u32>>>,
}

impl<'a> Window<'a> {
    /// As many requests from `first` on as fit into a window; at least one.
    fn new(
        translator: &'a Translator,
        requests: &[ScoreRequest<'a>],
        first: usize,
    ) -> Result<Self> {
        let mut window = Self { translator, given: Given::new(translator), candidates: Vec::new() };
        let most = WINDOW_TOKENS * translator.threads();
        let mut filled = 0;
        for (place, request) in requests.iter().enumerate().skip(first) {
            if filled >= most {
                break;
            }
            let ScoreRequest { source, context, context_translations, shown, candidates } =
                *request;
            let sentence = InContext { source, context, shown };
            filled += window.given.add(sentence, context_translations, place + 1)?;
            let candidates = candidates.iter().map(|candidate| {
                let mut tokens = translator.target().encode(candidate);
                tokens.push(END);
                tokens
            });
            window.candidates.push(candidates.collect());
        }
        Ok(window)
    }

    fn score(&self, done: &(dyn Fn(usize) + Sync)) -> Result<Vec<Vec<Score>>> {
        let read = self.given.read()?;
        let length = |place: usize| self.candidates[place].iter().map(Vec::len).sum();
        let all = 0..self.candidates.len();
        // Several batches per thread, so that no thread waits long for the last.
        let count = (all.len() / (2 * self.translator.threads())).max(BATCH_SENTENCES);
        let limits = Limits { count, tokens: BATCH_TOKENS };
        self.translator.in_batches(all, length, limits, |batch| {
            let mut in_context = Vec::new();
            let mut candidates = Vec::new();
            for &place in batch {
                let sentence = read.sentence(place);
                in_context.extend(self.candidates[place].iter().map(|_| sentence.clone()));
                candidates.extend(&self.candidates[place]);
            }
            let scores = self.score_in_context(&in_context, &Packed::new(candidates))?;
            done(batch.len());
            let mut scores = scores.into_iter();
            let of_request =
                |&place: &usize| scores.by_ref().take(self.candidates[place].len()).collect();
            Ok(batch.iter().map(of_request).collect())
        })
    }

    fn score_in_context(
        &self,
        in_context: &[SentenceInContext<'_>],
        candidates: &Packed,
    ) -> Result<Vec<Score>> {
        if in_context.is_empty() {
            return Ok(Vec::new());
        }
        let model = self.translator.model();
        let scores =
            model.log_probabilities(candidates, &model.sources_from_memory(in_context)?)?;
        let of_candidate = candidates.segments().ranges().map(|range| scores[range].to_vec());
        Ok(of_candidate.map(Score::new).collect())
    }
}
