//! Whether a batch fits a model: checked before anything is computed.

use crate::{Batch, Error, ModelConfig, Packed, Result, SourceBatch};

impl ModelConfig {
    /// Rejects sources that do not fit the model.
    pub fn check_sources(&self, batch: &SourceBatch) -> Result<()> {
        self.check_sentences(&batch.sentences)?;
        self.check_translations(batch)?;
        let count = batch.sentences.len();
        for (index, example) in batch.examples.iter().enumerate() {
            let context = example.context.iter().flatten();
            if let Some(sentence) =
                std::iter::once(&example.source).chain(context).find(|&&s| s >= count)
            {
                return refuse(format!(
                    "example {index} names sentence {sentence}, but the batch has {count}"
                ));
            }
            if self.context_size > 0 && example.context.len() != self.context_size {
                return refuse(format!(
                    "example {index} has {} context slots, but the model has {}",
                    example.context.len(),
                    self.context_size
                ));
            }
        }
        Ok(())
    }

    /// Rejects source sentences that the model cannot read.
    pub(crate) fn check_sentences(&self, sentences: &Packed) -> Result<()> {
        check_sequences("source sentence", sentences.iter(), self.source_vocabulary)?;
        for (index, sentence) in sentences.iter().enumerate() {
            if sentence.len() > self.max_positions {
                return refuse(format!(
                    "source sentence {index} has {} tokens, but the model takes at most {}",
                    sentence.len(),
                    self.max_positions
                ));
            }
        }
        Ok(())
    }

    fn check_translations(&self, batch: &SourceBatch) -> Result<()> {
        let (count, expected) = (batch.translations.len(), batch.sentences.len());
        if count != 0 && count != expected {
            return refuse(format!("{count} translations of {expected} sentences"));
        }
        let known: Vec<&[u32]> =
            batch.translations.iter().filter(|translation| !translation.is_empty()).collect();
        for (index, translation) in known.iter().enumerate() {
            if translation.len() > self.max_positions {
                return refuse(format!(
                    "context translation {index} has {} tokens, but the model takes at most {}",
                    translation.len(),
                    self.max_positions
                ));
            }
        }
        check_sequences("context translation", known.into_iter(), self.target_vocabulary)
    }

    /// Rejects a batch that does not fit the model.
    pub fn check_batch(&self, batch: &Batch) -> Result<()> {
        self.check_sources(&batch.source)?;
        if batch.targets.len() != batch.source.examples.len() {
            return refuse(format!(
                "the batch has {} examples, but {} translations",
                batch.source.examples.len(),
                batch.targets.len()
            ));
        }
        check_sequences("translation", batch.targets.iter(), self.target_vocabulary)
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
