//! CXMI (Fernandes et al., 2021): how much a model's translation gains from context, in nats.
//!
//! Conditional cross-mutual information is the mean of `log p(y | x, context) - log p(y | x)` over
//! sentences `x` with references `y`, by one model that also works without context. As a control,
//! the context is replaced with sentences from elsewhere: their gain does not come from what the
//! context says.

use std::collections::BTreeMap;
use std::ops::Range;

use abridge_corpus::tokenizer::special::SPACE_MARK;
use abridge_corpus::{Document, Error, Tokenizer};
use abridge_model::random;
use abridge_translate::{Result, Score, ScoreRequest, Translator};
use serde::Serialize;

use crate::normal::{Z95, two_sided};

/// Requests per thread between two progress reports.
const CHUNK: usize = 600;

/// Settings of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct CxmiSettings {
    /// The context size.
    pub context: usize,
    /// The seed of the random control.
    pub seed: u64,
}

/// The results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CxmiReport {
    /// Sentences that have context.
    pub sentences: usize,
    /// Tokens of their references, including end tokens.
    pub tokens: usize,
    /// The gain from the true context.
    pub context: Gain,
    /// The gain from sentences from elsewhere.
    pub random: Gain,
    /// The gain of the true context over sentences from elsewhere: the part that comes from what
    /// the context says.
    pub beyond: Gain,
    /// The words that gained most, over all their occurrences.
    pub words: Vec<WordGain>,
    /// Every sentence, in the order of the text.
    pub lines: Vec<SentenceGain>,
}

/// A gain in log-probability, in nats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Gain {
    /// CXMI: the mean over sentences.
    pub per_sentence: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
    /// The mean over tokens.
    pub per_token: f64,
    /// The share of sentences that gained.
    pub gained: f64,
    /// The probability of a mean at least this far from 0 by chance (two-sided).
    pub p_value: f64,
}

/// The gain of a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SentenceGain {
    /// Its document.
    pub document: String,
    /// Its position there, from 1.
    pub sentence: usize,
    /// The gain of its reference from the true context.
    pub gain: f64,
    /// Its gain from sentences from elsewhere.
    pub random: f64,
    /// The gains of the reference's words from the true context.
    pub words: Vec<(String, f64)>,
    /// The gains of the same words from sentences from elsewhere.
    pub random_words: Vec<f64>,
}

/// The gain of a word.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WordGain {
    /// The word, in lower case, without punctuation.
    pub word: String,
    /// How often it occurs.
    pub count: usize,
    /// The gain of all its occurrences.
    pub total: f64,
}

/// A sentence with its two contexts, which are ranges of all sentences.
struct Case<'a> {
    document: &'a Document,
    place: usize,
    reference: &'a str,
    /// Its index among all sentences.
    number: usize,
    context: Range<usize>,
    random: Range<usize>,
}

/// All sentences, document by document.
struct Text {
    sources: Vec<String>,
    references: Vec<String>,
}

/// Measures a model on documents with references. `done` is called with the number of finished
/// sentences, out of [`cxmi_sentences`].
pub fn cxmi(
    translator: &Translator,
    documents: &[Document],
    settings: CxmiSettings,
    done: &mut dyn FnMut(usize),
) -> Result<CxmiReport> {
    let cases = cases(documents, settings)?;
    let text = Text::new(documents);
    // Consecutive sentences share contexts, so requests are in the order of the contexts: a
    // sentence is encoded once for all requests around it.
    let mut requests = Vec::with_capacity(3 * cases.len());
    for case in &cases {
        requests.push(text.request(case, 0..0));
        requests.push(text.request(case, case.context.clone()));
    }
    let mut by_control: Vec<usize> = (0..cases.len()).collect();
    by_control.sort_by_key(|&index| cases[index].random.start);
    requests.extend(by_control.iter().map(|&index| {
        let case = &cases[index];
        text.request(case, case.random.clone())
    }));
    let mut scores = Vec::with_capacity(requests.len());
    for chunk in requests.chunks(CHUNK * translator.threads()) {
        let before = scores.len() / 3;
        scores.extend(translator.score(chunk, &|_| {})?.into_iter().flatten());
        done(scores.len() / 3 - before);
    }
    let (own, controls) = scores.split_at(2 * cases.len());
    let mut control_of = vec![0; cases.len()];
    for (place, &index) in by_control.iter().enumerate() {
        control_of[index] = place;
    }
    let mut lines = Vec::with_capacity(cases.len());
    let mut tokens = Vec::with_capacity(cases.len());
    for ((case, own), control) in cases.iter().zip(own.chunks_exact(2)).zip(control_of) {
        let gain = |with: &Score| -> Vec<f64> {
            let pairs = with.token_scores.iter().zip(&own[0].token_scores);
            pairs.map(|(&with, &without)| f64::from(with) - f64::from(without)).collect()
        };
        let (gained, random) = (gain(&own[1]), gain(&controls[control]));
        tokens.push(gained.len());
        lines.push(SentenceGain {
            document: case.document.id.clone(),
            sentence: case.place + 1,
            gain: gained.iter().sum(),
            random: random.iter().sum(),
            words: words(translator.target(), case.reference, &gained),
            random_words: words(translator.target(), case.reference, &random)
                .into_iter()
                .map(|(_, gain)| gain)
                .collect(),
        });
    }
    let gains = |of: fn(&SentenceGain) -> f64| -> Gain {
        Gain::new(&lines.iter().map(of).collect::<Vec<_>>(), tokens.iter().sum())
    };
    Ok(CxmiReport {
        sentences: lines.len(),
        tokens: tokens.iter().sum(),
        context: gains(|line| line.gain),
        random: gains(|line| line.random),
        beyond: gains(|line| line.gain - line.random),
        words: word_gains(&lines),
        lines,
    })
}

/// How many sentences have context: those that are not the first of their document.
pub fn cxmi_sentences(documents: &[Document]) -> usize {
    documents.iter().map(|document| document.segments.len().saturating_sub(1)).sum()
}

/// The hash of documents and their references, for signatures.
pub fn documents_hash(documents: &[Document]) -> String {
    crate::hash::of_lines(documents.iter().flat_map(|document| {
        let texts = document.segments.iter().flat_map(|segment| {
            [segment.source.as_str(), segment.target.as_deref().unwrap_or_default()]
        });
        std::iter::once(document.id.as_str()).chain(texts)
    }))
}

impl Gain {
    pub(crate) fn new(gains: &[f64], tokens: usize) -> Self {
        let count = gains.len().max(1) as f64;
        let sum: f64 = gains.iter().sum();
        let mean = sum / count;
        let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0).max(1.0) / count).sqrt();
        Self {
            per_sentence: mean,
            half_width: Z95 * deviation,
            p_value: if deviation > 0.0 { two_sided(mean / deviation) } else { 1.0 },
            per_token: sum / tokens.max(1) as f64,
            gained: gains.iter().filter(|gain| **gain > 0.0).count() as f64 / count,
        }
    }
}

impl Text {
    fn new(documents: &[Document]) -> Self {
        let segments = || documents.iter().flat_map(|document| &document.segments);
        Self {
            sources: segments().map(|segment| segment.source.clone()).collect(),
            references: segments()
                .map(|segment| segment.target.clone().unwrap_or_default())
                .collect(),
        }
    }

    fn request(&self, case: &Case<'_>, context: Range<usize>) -> ScoreRequest<'_> {
        ScoreRequest {
            source: &self.sources[case.number],
            context: &self.sources[context.clone()],
            context_translations: &self.references[context],
            shown: None,
            candidates: std::slice::from_ref(&self.references[case.number]),
        }
    }
}

fn cases(documents: &[Document], settings: CxmiSettings) -> Result<Vec<Case<'_>>> {
    let starts: Vec<usize> = documents
        .iter()
        .scan(0, |total, document| {
            *total += document.segments.len();
            Some(*total - document.segments.len())
        })
        .collect();
    let lines = documents.iter().map(|document| document.segments.len()).sum();
    let mut cases = Vec::new();
    for (document, &start) in documents.iter().zip(&starts) {
        for (place, segment) in document.segments.iter().enumerate().skip(1) {
            let Some(reference) = &segment.target else {
                return Err(Error::new(format!(
                    "sentence {} of document `{}` has no reference",
                    place + 1,
                    document.id
                ))
                .remedy("give a reference for every sentence")
                .into());
            };
            let size = place.min(settings.context);
            let here = start..start + document.segments.len();
            let random =
                elsewhere(&here, lines, size, settings.seed, start + place).ok_or_else(|| {
                    Error::new("there is too little text for the control with random context")
                        .remedy("give several documents")
                })?;
            let number = start + place;
            let context = number - size..number;
            cases.push(Case { document, place, reference, number, context, random });
        }
    }
    if cases.is_empty() {
        return Err(Error::new("no sentence has context")
            .remedy("give documents of several sentences, with --docids or blank lines between")
            .into());
    }
    Ok(cases)
}

/// As many consecutive lines as in the context, outside the sentence's own document.
fn elsewhere(
    own: &Range<usize>,
    lines: usize,
    size: usize,
    seed: u64,
    place: usize,
) -> Option<Range<usize>> {
    // Where such a range can begin: before the document, or after it.
    let before = (own.start + 1).saturating_sub(size);
    let after = (lines + 1).saturating_sub(own.end + size);
    let choices = before + after;
    if choices == 0 {
        return None;
    }
    let draw = random::uniform(random::key(&[seed]), place as u64);
    let choice = (draw * choices as f64) as usize;
    let first = if choice < before { choice } else { own.end + choice - before };
    Some(first..first + size)
}

/// The words of a text with the summed gains of their pieces. The end token, whose gain is the
/// last, is not a word.
fn words(tokenizer: &Tokenizer, text: &str, gains: &[f64]) -> Vec<(String, f64)> {
    let mut words: Vec<(String, f64)> = Vec::new();
    for (&token, &gain) in tokenizer.encode(text).iter().zip(gains) {
        let piece = tokenizer.piece(token).unwrap_or_default();
        match (piece.strip_prefix(SPACE_MARK), words.last_mut()) {
            (None, Some((word, sum))) => {
                word.push_str(piece);
                *sum += gain;
            }
            (rest, _) => words.push((rest.unwrap_or(piece).to_owned(), gain)),
        }
    }
    words
}

/// All words by total gain, in descending order.
fn word_gains(lines: &[SentenceGain]) -> Vec<WordGain> {
    let mut found: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for (word, gain) in lines.iter().flat_map(|line| &line.words) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if !word.is_empty() {
            let (count, total) = found.entry(word).or_default();
            *count += 1;
            *total += gain;
        }
    }
    let mut words: Vec<WordGain> =
        found.into_iter().map(|(word, (count, total))| WordGain { word, count, total }).collect();
    words.sort_by(|a, b| b.total.total_cmp(&a.total));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_is_from_another_document() {
        for own in [0..3, 3..7, 7..10] {
            for seed in 0..200 {
                let range = elsewhere(&own, 10, 2, seed, own.start + 2).unwrap();
                assert_eq!(range.len(), 2);
                assert!(range.end <= own.start || (range.start >= own.end && range.end <= 10));
            }
        }
        assert_eq!(elsewhere(&(0..3), 3, 1, 1, 1), None);
        let place = |seed| elsewhere(&(0..3), 1000, 2, seed, 1);
        assert_eq!(place(1), place(1));
        assert_ne!(place(1), place(2));
    }

    #[test]
    fn gains_are_means_with_an_interval() {
        let gain = Gain::new(&[1.0, -1.0, 2.0, 2.0], 8);
        assert!((gain.per_sentence - 1.0).abs() < 1e-12 && (gain.per_token - 0.5).abs() < 1e-12);
        assert!((gain.gained - 0.75).abs() < 1e-12);
        // The standard deviation is √2, that of the mean √2 / 2.
        assert!((gain.half_width - Z95 * 0.5f64.sqrt()).abs() < 1e-12);
        assert!((gain.p_value - two_sided(2.0f64.sqrt())).abs() < 1e-12);
    }

    #[test]
    fn words_are_counted_without_case_and_punctuation() {
        let line = |words: &[(&str, f64)]| SentenceGain {
            document: String::new(),
            sentence: 2,
            gain: 0.0,
            random: 0.0,
            words: words.iter().map(|(word, gain)| ((*word).to_owned(), *gain)).collect(),
            random_words: vec![0.0; words.len()],
        };
        let found =
            word_gains(&[line(&[("Er", 1.0), ("da.", 0.5)]), line(&[("er,", 2.0), ("–", 9.0)])]);
        assert_eq!(found[0], WordGain { word: "er".into(), count: 2, total: 3.0 });
        assert_eq!(found.len(), 2);
    }
}
