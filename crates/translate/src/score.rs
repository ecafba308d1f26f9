//! How probable given translations are.

use abridge_model::tokens::END;
use abridge_model::{Batch, Dropout, Example, Packed, SourceBatch};
use burn::tensor::activation::log_softmax;

use crate::translator::Translator;
use crate::{Error, Result};

/// Tokens of a batch, source and candidates together.
const BATCH_TOKENS: usize = 3000;

/// A sentence with the sentences before it and candidate translations.
#[derive(Clone, Copy, Debug)]
pub struct ScoreRequest<'a> {
    /// The sentence.
    pub source: &'a str,
    /// The sentences before it, oldest first; only the last ones are used.
    pub context: &'a [String],
    /// Their translations, for a model whose memory holds them; may be missing.
    pub context_translations: &'a [String],
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
    /// The log-probability per token: what candidates are ranked by.
    pub fn mean(&self) -> f64 {
        self.sum / self.tokens as f64
    }
}

impl Translator {
    /// Scores candidates; those of one request share the encoding of its source.
    pub fn score(
        &self,
        requests: &[ScoreRequest<'_>],
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<Score>>> {
        let size = |request: &ScoreRequest<'_>| {
            // A rough measure in characters is enough to keep batches of a similar size.
            let texts = request.candidates.iter().map(String::len).sum::<usize>();
            (texts + request.source.len()) / 4
        };
        let batches = cut(requests.iter().map(size));
        let scores = self.workers().run(batches, |range: std::ops::Range<usize>| {
            let count = range.len();
            let scores = self.score_batch(&requests[range.clone()], range.start)?;
            done(count);
            Ok(scores)
        })?;
        Ok(scores.into_iter().flatten().collect())
    }

    /// Scores some requests; `start` is the place of the first, for errors.
    fn score_batch(&self, requests: &[ScoreRequest<'_>], start: usize) -> Result<Vec<Vec<Score>>> {
        let most = self.context(None)?;
        let longest = self.model().config().max_positions;
        let mut sentences = Vec::new();
        let mut translations: Vec<Vec<u32>> = Vec::new();
        let mut examples = Vec::new();
        let mut targets = Vec::new();
        for (place, request) in requests.iter().enumerate() {
            let first = sentences.len();
            let past = request.context.len().min(most);
            let context = &request.context[request.context.len() - past..];
            sentences.extend(context.iter().map(|sentence| self.encode(sentence)));
            if self.model().config().target_context {
                // Aligned at their ends: the newest translation is that of the newest sentence.
                let known = request.context_translations;
                translations.extend((0..past).rev().map(|back| {
                    let place = known.len().checked_sub(back + 1);
                    place.map_or_else(Vec::new, |place| self.translation_tokens(&known[place]))
                }));
                translations.push(Vec::new());
            }
            sentences.push(self.encode(request.source));
            if let Some(long) = sentences[first..].iter().find(|tokens| tokens.len() > longest) {
                let (sentence, tokens) = (start + place + 1, long.len());
                return Err(Error::TooLong { sentence, tokens, most: longest });
            }
            let example = Example {
                source: first + past,
                context: self
                    .slots(past)
                    .iter()
                    .map(|slot| slot.map(|slot| first + slot))
                    .collect(),
            };
            for candidate in request.candidates {
                examples.push(example.clone());
                let mut tokens = self.target().encode(candidate);
                tokens.push(END);
                targets.push(tokens);
            }
        }
        if targets.is_empty() {
            return Ok(vec![Vec::new(); requests.len()]);
        }
        let source = SourceBatch {
            sentences: Packed::new(sentences),
            translations: Packed::new(translations),
            examples,
        };
        let batch = Batch { source, targets: Packed::new(&targets) };
        let logits = self.model().forward(&batch, &mut Dropout::off())?;
        let [_, vocabulary] = logits.dims();
        let all: Vec<f32> = log_softmax(logits, 1).into_data().iter::<f32>().collect();
        let tokens = batch.targets.tokens();
        let mut ranges = batch.targets.segments().ranges();
        let scored = requests.iter().map(|request| {
            let own = ranges.by_ref().take(request.candidates.len());
            own.map(|range| {
                let token_scores: Vec<f32> =
                    range.map(|row| all[row * vocabulary + tokens[row] as usize]).collect();
                Score {
                    sum: token_scores.iter().map(|&score| f64::from(score)).sum(),
                    tokens: token_scores.len(),
                    token_scores,
                }
            })
            .collect()
        });
        Ok(scored.collect())
    }
}

/// Consecutive ranges whose sizes together stay within a batch.
fn cut(sizes: impl Iterator<Item = usize>) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    let mut filled = 0;
    for (index, size) in sizes.enumerate() {
        match ranges.last_mut() {
            Some(range) if filled + size <= BATCH_TOKENS => {
                range.end = index + 1;
                filled += size;
            }
            _ => {
                ranges.push(index..index + 1);
                filled = size;
            }
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_everything_once() {
        let sizes = [10, 2990, 1, 5000, 2, 2998, 1];
        assert_eq!(cut(sizes.into_iter()), [0..2, 2..3, 3..4, 4..6, 6..7]);
        assert!(cut(std::iter::empty()).is_empty());
    }
}
