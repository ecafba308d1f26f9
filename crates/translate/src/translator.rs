//! A translator: a model directory, ready to translate and to score documents.

use std::path::Path;

use abridge_corpus::Tokenizer;
use abridge_model::tokens::END;
use abridge_model::weights::ModelDirectory;
use abridge_model::{Batch, Dropout, Example, Model, Packed, Purpose, SourceBatch};
use burn::tensor::Device;
use burn::tensor::activation::log_softmax;

use crate::beam::{BeamSettings, Hypothesis, beam_search};
use crate::{Error, Result};

/// Tokens of a batch, source and candidates together.
const BATCH_TOKENS: usize = 3000;

/// A network with its tokenizers.
#[derive(Debug)]
pub struct Translator {
    model: Model,
    source: Tokenizer,
    target: Tokenizer,
    hash: String,
}

/// A sentence with the sentences before it and candidate translations.
#[derive(Clone, Copy, Debug)]
pub struct ScoreRequest<'a> {
    /// The sentence.
    pub source: &'a str,
    /// The sentences before it, oldest first; only the last ones are used.
    pub context: &'a [String],
    /// What is scored.
    pub candidates: &'a [String],
}

/// How probable a translation is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The log-probability of all tokens, the end included.
    pub sum: f64,
    /// The number of tokens, the end included.
    pub tokens: usize,
}

/// How probable the single tokens of a translation are.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenScores {
    /// The tokens, the end included.
    pub tokens: Vec<u32>,
    /// The log-probability of each.
    pub log_probabilities: Vec<f64>,
}

impl TokenScores {
    /// The score of the whole.
    pub fn total(&self) -> Score {
        Score { sum: self.log_probabilities.iter().sum(), tokens: self.tokens.len() }
    }
}

impl Score {
    /// The log-probability per token: what candidates are ranked by.
    pub fn mean(&self) -> f64 {
        self.sum / self.tokens as f64
    }
}

impl Translator {
    /// Opens a model directory with its tokenizers.
    pub fn open(path: &Path, device: &Device) -> Result<Self> {
        let directory = ModelDirectory::open(path)?;
        Ok(Self {
            source: Tokenizer::load(path, "source")?,
            target: Tokenizer::load(path, "target")?,
            hash: directory.weights_hash().to_owned(),
            model: directory.load(device)?,
        })
    }

    /// The network.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The tokenizer of the target language.
    pub fn target(&self) -> &Tokenizer {
        &self.target
    }

    /// The hash of the weights, for signatures of results.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Translates the sentences of documents, each with the memory of those before it.
    ///
    /// With context of the source side nothing waits for a translation, so the sentences of a
    /// document are encoded and decoded together. `done` hears how many sentences are finished.
    pub fn translate_documents(
        &self,
        documents: &[Vec<String>],
        settings: &BeamSettings,
        done: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<String>>> {
        let mut translations = Vec::with_capacity(documents.len());
        for document in documents {
            let sentences: Vec<Vec<u32>> =
                document.iter().map(|sentence| self.encode(sentence)).collect();
            for (index, tokens) in sentences.iter().enumerate() {
                let most = self.model.config().max_positions;
                if tokens.len() > most {
                    return Err(Error::TooLong { sentence: index + 1, tokens: tokens.len(), most });
                }
            }
            let mut translated = Vec::with_capacity(sentences.len());
            for range in cut(sentences.iter().map(Vec::len)) {
                let batch = self.window(&sentences, range.clone());
                let found = beam_search(&self.model, &self.model.sources(&batch)?, settings);
                translated.extend(found.iter().map(|hypotheses| self.decode(hypotheses)));
                done(range.len());
            }
            translations.push(translated);
        }
        Ok(translations)
    }

    /// Scores candidates; those of one request share the encoding of its source.
    pub fn score(
        &self,
        requests: &[ScoreRequest<'_>],
        done: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Score>>> {
        let scores = self.score_tokens(requests, done)?;
        Ok(scores.iter().map(|item| item.iter().map(TokenScores::total).collect()).collect())
    }

    /// Scores the single tokens of candidates.
    pub fn score_tokens(
        &self,
        requests: &[ScoreRequest<'_>],
        done: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<TokenScores>>> {
        let mut scores = Vec::with_capacity(requests.len());
        let size = |request: &ScoreRequest<'_>| {
            // A rough measure in characters is enough to keep batches of a similar size.
            let texts = request.candidates.iter().map(String::len).sum::<usize>();
            (texts + request.source.len()) / 4
        };
        for range in cut(requests.iter().map(size)) {
            scores.extend(self.score_batch(&requests[range.clone()])?);
            done(range.len());
        }
        Ok(scores)
    }

    fn score_batch(&self, requests: &[ScoreRequest<'_>]) -> Result<Vec<Vec<TokenScores>>> {
        let config = self.model.config();
        let mut sentences = Vec::new();
        let mut examples = Vec::new();
        let mut targets = Vec::new();
        for request in requests {
            let first = sentences.len();
            let past = request.context.len().min(config.context_size);
            let context = &request.context[request.context.len() - past..];
            sentences.extend(context.iter().map(|sentence| self.encode(sentence)));
            sentences.push(self.encode(request.source));
            let slots = config.slots(past, Purpose::Inference);
            let example = Example {
                source: first + past,
                context: slots.iter().map(|slot| slot.map(|slot| first + slot)).collect(),
            };
            for candidate in request.candidates {
                examples.push(example.clone());
                let mut tokens = self.target.encode(candidate);
                tokens.push(END);
                targets.push(tokens);
            }
        }
        let source = SourceBatch { sentences: Packed::new(sentences), examples };
        let batch = Batch { source, targets: Packed::new(&targets) };
        let logits = self.model.forward(&batch, &mut Dropout::off())?;
        let [_, vocabulary] = logits.dims();
        let all: Vec<f32> = log_softmax(logits, 1).into_data().iter::<f32>().collect();
        let tokens = batch.targets.tokens();
        let mut ranges = batch.targets.segments().ranges();
        let scored = requests.iter().map(|request| {
            let own = ranges.by_ref().take(request.candidates.len());
            own.map(|range| TokenScores {
                tokens: tokens[range.clone()].to_vec(),
                log_probabilities: range
                    .map(|row| f64::from(all[row * vocabulary + tokens[row] as usize]))
                    .collect(),
            })
            .collect()
        });
        Ok(scored.collect())
    }

    /// The sentences of a range, with those before it that they look back at.
    fn window(&self, sentences: &[Vec<u32>], range: std::ops::Range<usize>) -> SourceBatch {
        let config = self.model.config();
        let first = range.start.saturating_sub(config.context_size);
        let examples = range.clone().map(|position| Example {
            source: position - first,
            context: config
                .slots(position, Purpose::Inference)
                .into_iter()
                .map(|slot| slot.map(|slot| slot - first))
                .collect(),
        });
        let examples = examples.collect();
        SourceBatch { sentences: Packed::new(&sentences[first..range.end]), examples }
    }

    fn encode(&self, sentence: &str) -> Vec<u32> {
        let mut tokens = self.source.encode(sentence);
        tokens.push(END);
        tokens
    }

    fn decode(&self, hypotheses: &[Hypothesis]) -> String {
        hypotheses.first().map(|best| self.target.decode(&best.tokens)).unwrap_or_default()
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
