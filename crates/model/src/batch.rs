//! What a network is given: each distinct source sentence once, and who sees whom.

use crate::packed::Packed;
use crate::{Error, ModelConfig, Result};

/// Source sentences, and which of them are translated with which context.
///
/// A sentence that is translated and is context of the next ones, too, stands here once and is
/// encoded once. Several examples may share a source and its context: candidate translations of
/// the same sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceBatch {
    /// The distinct sentences, each ending with [`END`](crate::tokens::END).
    pub sentences: Packed,
    /// In models whose memory holds translations, that of each sentence, or no token where it is
    /// not known; otherwise empty.
    pub translations: Packed,
    /// What is translated.
    pub examples: Vec<Example>,
}

/// A sentence to be translated, by its place among the sentences of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The source sentence.
    pub source: usize,
    /// For each slot the sentence in it, in the order of [`ModelConfig::slots`]; as many as the
    /// context size. Models without context ignore it.
    pub context: Vec<Option<usize>>,
}

/// A [`SourceBatch`] with the translation of each of its examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The sources.
    pub source: SourceBatch,
    /// One translation per example, each ending with [`END`](crate::tokens::END).
    pub targets: Packed,
}

impl SourceBatch {
    /// Refuses what does not fit the model.
    pub fn check(&self, config: &ModelConfig) -> Result<()> {
        check_sequences("source sentence", self.sentences.iter(), config.source_vocabulary)?;
        for (index, sentence) in self.sentences.iter().enumerate() {
            if sentence.len() > config.max_positions {
                return refuse(format!(
                    "source sentence {index} has {} tokens, but the model takes at most {}",
                    sentence.len(),
                    config.max_positions
                ));
            }
        }
        self.check_translations(config)?;
        let count = self.sentences.len();
        for (index, example) in self.examples.iter().enumerate() {
            let context = example.context.iter().flatten();
            if let Some(sentence) =
                std::iter::once(&example.source).chain(context).find(|&&s| s >= count)
            {
                return refuse(format!(
                    "example {index} names sentence {sentence}, but the batch has {count}"
                ));
            }
            if config.context_size > 0 && example.context.len() != config.context_size {
                return refuse(format!(
                    "example {index} has {} context slots, but the model has {}",
                    example.context.len(),
                    config.context_size
                ));
            }
        }
        Ok(())
    }

    fn check_translations(&self, config: &ModelConfig) -> Result<()> {
        let (count, expected) = (self.translations.len(), self.sentences.len());
        if count != 0 && count != expected {
            return refuse(format!("{count} translations of {expected} sentences"));
        }
        let known: Vec<&[u32]> =
            self.translations.iter().filter(|translation| !translation.is_empty()).collect();
        for (index, translation) in known.iter().enumerate() {
            if translation.len() > config.max_positions {
                return refuse(format!(
                    "context translation {index} has {} tokens, but the model takes at most {}",
                    translation.len(),
                    config.max_positions
                ));
            }
        }
        check_sequences("context translation", known.into_iter(), config.target_vocabulary)
    }
}

impl Batch {
    /// Refuses what does not fit the model.
    pub fn check(&self, config: &ModelConfig) -> Result<()> {
        self.source.check(config)?;
        if self.targets.len() != self.source.examples.len() {
            return refuse(format!(
                "the batch has {} examples, but {} translations",
                self.source.examples.len(),
                self.targets.len()
            ));
        }
        check_sequences("translation", self.targets.iter(), config.target_vocabulary)
    }
}

pub(crate) fn check_sequences<'a>(
    what: &str,
    sequences: impl Iterator<Item = &'a [u32]>,
    vocabulary: usize,
) -> Result<()> {
    for (index, sequence) in sequences.enumerate() {
        if sequence.is_empty() {
            return refuse(format!("{what} {index} has no tokens, not even the end"));
        }
        if let Some(token) = sequence.iter().find(|&&token| token as usize >= vocabulary) {
            return refuse(format!(
                "{what} {index} has token {token}, but the vocabulary ends at {}",
                vocabulary - 1
            ));
        }
    }
    Ok(())
}

fn refuse(problem: String) -> Result<()> {
    Err(Error::Input(problem))
}
