//! How probable given translations are.
//!
//! Scoring walks the path of translation: each distinct sentence of the requests is read once,
//! however many requests have it as their source or in their context, and the decoder looks at
//! what was remembered of it.

use std::collections::BTreeMap;

use abridge_corpus::tokenizer::Encoder;
use abridge_model::tokens::END;
use abridge_model::{Packed, Reading, Remembered, Seat};

use crate::batches::{BATCH_SENTENCES, BATCH_TOKENS, Limits};
use crate::translator::{Translator, sentence_tokens};
use crate::turns::Control;
use crate::{Error, Result};

/// Source tokens per thread that are kept in memory together. At the paper's width a token takes
/// up to 28 KiB.
const WINDOW_TOKENS: usize = 8000;

/// A sentence with the sentences before it and candidate translations.
#[derive(Clone, Copy, Debug)]
pub struct ScoreRequest<'a> {
    /// The sentence.
    pub source: &'a str,
    /// The sentences before it, oldest first; only the last ones are used.
    pub context: &'a [String],
    /// Their translations, for a model whose memory holds them; may be missing.
    pub context_translations: &'a [String],
    /// The places in `context` of the sentences that the model is shown as the nearest, the second
    /// nearest and so on, one per slot; by default those that they are. For experiments in which a
    /// sentence stands elsewhere or a slot stays empty.
    pub shown: Option<&'a [Option<usize>]>,
    /// What is scored.
    pub candidates: &'a [String],
}

/// How probable a translation is.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The log-probability of all tokens, the end included.
    pub sum: f64,
    /// The number of tokens, the end included.
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

    /// The log-probability per token: what candidates are ranked by.
    pub fn mean(&self) -> f64 {
        self.sum / self.tokens as f64
    }
}

impl Translator {
    /// Scores candidates. `done` hears how many requests have just been finished.
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

/// Consecutive requests whose sentences are read together.
struct Window<'a> {
    translator: &'a Translator,
    requests: Vec<Prepared>,
    sources: Distinct<'a>,
    /// The translations that a memory holds.
    translations: Distinct<'a>,
}

/// A request whose texts have become tokens.
struct Prepared {
    /// The sentence, among the distinct ones of the window.
    source: usize,
    /// The sentences before it, nearest first; none where a slot is to stay empty.
    context: Vec<Option<Held>>,
    /// Each candidate, the end included.
    candidates: Vec<Vec<u32>>,
}

/// A sentence of a context, and its translation where the memory holds it.
type Held = (usize, Option<usize>);

/// Distinct texts as tokens, in the order in which they first came.
#[derive(Default)]
struct Distinct<'a> {
    places: BTreeMap<&'a str, usize>,
    texts: Vec<Vec<u32>>,
}

impl<'a> Distinct<'a> {
    fn place(&mut self, text: &'a str, tokens: impl FnOnce() -> Vec<u32>) -> usize {
        *self.places.entry(text).or_insert_with(|| {
            self.texts.push(tokens());
            self.texts.len() - 1
        })
    }
}

impl<'a> Window<'a> {
    /// As many requests from `first` on as fit into a window; at least one.
    fn new(
        translator: &'a Translator,
        requests: &[ScoreRequest<'a>],
        first: usize,
    ) -> Result<Self> {
        let mut window = Self {
            translator,
            requests: Vec::new(),
            sources: Distinct::default(),
            translations: Distinct::default(),
        };
        let mut encoder = translator.source().encoder();
        let most = WINDOW_TOKENS * translator.threads();
        let mut filled = 0;
        for (place, request) in requests.iter().enumerate().skip(first) {
            if filled >= most {
                break;
            }
            let before = window.sources.texts.len();
            window.add(request, &mut encoder)?;
            let new = window.sources.texts[before..].iter().map(Vec::len);
            filled += new.clone().sum::<usize>();
            let longest = translator.model().config().max_positions;
            if let Some(tokens) = new.max().filter(|&tokens| tokens > longest) {
                return Err(Error::TooLong { sentence: place + 1, tokens, most: longest });
            }
        }
        Ok(window)
    }

    fn add(&mut self, request: &ScoreRequest<'a>, encoder: &mut Encoder<'_>) -> Result<()> {
        let translator = self.translator;
        let chosen = translator.target_languages().chosen();
        translator.check_language(chosen, request.source)?;
        let mut read = |text: &'a str| self.sources.place(text, || sentence_tokens(encoder, text));
        let source = read(request.source);
        let most = translator.context(None)?;
        let holds_translations = translator.layout().holds_translations;
        // Aligned at their ends: the newest translation is that of the newest sentence.
        let mut known = request.context_translations.iter().rev().filter(|_| holds_translations);
        let context = request.context.iter().rev().take(most).map(|sentence| {
            let translation = known
                .next()
                .map(|text| self.translations.place(text, || translator.translation_tokens(text)));
            (read(sentence), translation)
        });
        let known: Vec<Held> = context.collect();
        let first = request.context.len() - known.len();
        let context = match request.shown {
            // Of the known ones, which are in reverse order, those that are to be shown.
            Some(shown) => {
                let held = |place: usize| known[request.context.len() - 1 - place.max(first)];
                shown.iter().map(|place| place.map(held)).collect()
            }
            None => known.into_iter().map(Some).collect(),
        };
        let candidates = request.candidates.iter().map(|candidate| {
            let mut tokens = translator.target().encode(candidate);
            tokens.push(END);
            tokens
        });
        self.requests.push(Prepared { source, context, candidates: candidates.collect() });
        Ok(())
    }

    fn score(&self, done: &(dyn Fn(usize) + Sync)) -> Result<Vec<Vec<Score>>> {
        let readings = self.translator.read_all(&self.sources.texts, &Control::default())?;
        let translated = self.read_translations(&readings)?;
        let remembered = |held: &Held| match held {
            (sentence, None) => &readings[*sentence].remembered,
            translated_too => &translated[translated_too],
        };
        let length = |place: usize| self.requests[place].tokens();
        // Several batches per thread, so that no thread waits long for the last.
        let count = (self.requests.len() / (2 * self.translator.threads())).max(BATCH_SENTENCES);
        let limits = Limits { count, tokens: BATCH_TOKENS };
        self.translator.in_batches(0..self.requests.len(), length, limits, |batch| {
            let mut seats = Vec::new();
            let mut candidates = Vec::new();
            for request in batch.iter().map(|&place| &self.requests[place]) {
                let seat = Seat {
                    reading: &readings[request.source],
                    context: self
                        .translator
                        .layout()
                        .context(|back| request.context.get(back - 1)?.as_ref().map(remembered)),
                };
                seats.extend(request.candidates.iter().map(|_| seat.clone()));
                candidates.extend(&request.candidates);
            }
            let scores = self.score_seats(&seats, &Packed::new(candidates))?;
            done(batch.len());
            let mut scores = scores.into_iter();
            let of_request = |&place: &usize| {
                scores.by_ref().take(self.requests[place].candidates.len()).collect()
            };
            Ok(batch.iter().map(of_request).collect())
        })
    }

    fn score_seats(&self, seats: &[Seat<'_>], candidates: &Packed) -> Result<Vec<Score>> {
        if seats.is_empty() {
            return Ok(Vec::new());
        }
        let model = self.translator.model();
        let scores = model.log_probabilities(candidates, &model.recall(seats)?)?;
        let of_candidate = candidates.segments().ranges().map(|range| scores[range].to_vec());
        Ok(of_candidate.map(Score::new).collect())
    }

    /// The sentences of contexts whose translations the memory holds, too.
    fn read_translations(&self, readings: &[Reading]) -> Result<BTreeMap<Held, Remembered>> {
        let texts = &self.translations.texts;
        let length = |place: usize| texts[place].len();
        let all = 0..texts.len();
        let translations =
            self.translator.in_batches(all, length, Control::default().limits(), |batch| {
                let tokens = batch.iter().map(|&place| &texts[place]);
                Ok(self.translator.model().read_translations(&Packed::new(tokens))?)
            })?;
        let mut remembered = BTreeMap::new();
        for held in self.requests.iter().flat_map(|request| request.context.iter().flatten()) {
            let (sentence, Some(translation)) = *held else { continue };
            remembered.entry(*held).or_insert_with(|| Remembered {
                translation: Some(translations[translation].clone()),
                ..readings[sentence].remembered.clone()
            });
        }
        Ok(remembered)
    }
}

impl Prepared {
    fn tokens(&self) -> usize {
        self.candidates.iter().map(Vec::len).sum()
    }
}
