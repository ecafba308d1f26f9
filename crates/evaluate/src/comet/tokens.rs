//! From text to the ids of XLM-RoBERTa.

use std::path::Path;

use abridge_corpus::tokenizer::sentencepiece::Imported;

/// The start of every input.
pub const START: u32 = 0;
/// The end of every input, and the separator between sentences.
pub const SEPARATOR: u32 = 2;
const UNKNOWN: u32 = 3;
/// XLM-RoBERTa's ids begin with four special tokens, SentencePiece's with three.
const OFFSET: u32 = 1;

/// An input of the encoder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input {
    /// The ids, from [`START`] to the last [`SEPARATOR`].
    pub ids: Vec<u32>,
    /// The number of ids before truncation.
    pub full_length: usize,
}

impl Input {
    /// The positions over which the embedding is the mean: all; with context, only the start and
    /// what follows the context.
    pub fn pooled(&self) -> impl Iterator<Item = usize> + '_ {
        let separators: Vec<usize> =
            (0..self.ids.len()).filter(|&place| self.ids[place] == SEPARATOR).collect();
        let skipped = match separators[..] {
            [.., before, _] => before,
            _ => 0,
        };
        (0..self.ids.len()).filter(move |&place| place == 0 || place > skipped)
    }
}

/// The SentencePiece model of XLM-RoBERTa.
#[derive(Debug)]
pub struct Tokens {
    pieces: Imported,
    longest: usize,
}

impl Tokens {
    /// Reads a `sentencepiece.bpe.model`; inputs have at most `longest` ids.
    pub fn open(file: &Path, longest: usize) -> abridge_corpus::Result<Self> {
        Ok(Self { pieces: Imported::read(file, None)?, longest })
    }

    /// The number of ids, including the mask.
    pub fn vocabulary_size(&self) -> usize {
        self.pieces.native_size() + OFFSET as usize + 1
    }

    /// A sentence after its context, oldest first. As in COMET, a long input is truncated at the
    /// end.
    pub fn encode(&self, context: &[String], sentence: &str) -> Input {
        let mut ids = vec![START];
        for text in context {
            self.append(text, &mut ids);
            ids.push(SEPARATOR);
        }
        self.append(sentence, &mut ids);
        let full_length = ids.len() + 1;
        ids.truncate(self.longest - 1);
        ids.push(SEPARATOR);
        Input { ids, full_length }
    }

    fn append(&self, text: &str, ids: &mut Vec<u32>) {
        let unknown = self.pieces.native_unknown();
        ids.extend(
            self.pieces
                .native(text)
                .iter()
                .map(|piece| if piece.id == unknown { UNKNOWN } else { piece.id as u32 + OFFSET }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_not_pooled() {
        let input = |ids: &[u32]| Input { ids: ids.to_vec(), full_length: ids.len() };
        assert_eq!(input(&[0, 7, 8, 2]).pooled().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(input(&[0, 7, 2, 8, 2, 9, 2]).pooled().collect::<Vec<_>>(), [0, 5, 6]);
    }
}
