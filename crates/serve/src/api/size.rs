//! Bounds the size of a response before any work begins.
//!
//! Texts are small. Attention is not: it has one weight per pair of a target word and a word that
//! it can attend to. Both can be bounded by the lengths of the sentences and of the longest
//! translation.

use abridge_translate::Translator;

use crate::engine::Order;
use crate::error::{ApiError, Code};
use crate::settings::Limits;

/// Bytes of a token's text, estimated generously.
const TOKEN: usize = 16;
/// Bytes of a weight in JSON: `0.1234,`.
const WEIGHT: usize = 8;

/// An upper bound on the size of the response for a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Bytes of all sentences together.
    whole: usize,
    /// Bytes of the largest sentence, including attention.
    largest: usize,
    /// The index of the largest.
    at: usize,
    /// Bytes needed to compute the largest.
    work: usize,
    sentences: usize,
}

impl Order {
    /// An upper bound on the size of its response.
    pub fn size(&self, translator: &Translator) -> Size {
        let Self { session, settings, lengths, .. } = self;
        let config = translator.model().config();
        let part = translator.longest_part(settings);
        // Includes the end token.
        let written = settings.max_length.min(config.longest_translation()) + 1;
        let remembered = session.remembered().map(|remembered| remembered.tokens.len());
        let read: Vec<usize> = remembered
            .chain(self.before_lengths.iter().chain(lengths).map(|length| length + 1))
            .map(|tokens| tokens.min(part))
            .collect();
        let first = read.len() - lengths.len();
        let mut size = Size { sentences: lengths.len(), ..Size::default() };
        for (place, &length) in lengths.iter().enumerate() {
            let parts = (length + 1).div_ceil(part);
            let text = TOKEN * (length + written.saturating_mul(parts));
            let mut own = text;
            if self.attention {
                let place = first + place;
                let from = place.saturating_sub(session.context_size());
                // The sentence, then its memory: sentences, itself, perhaps translations.
                let mut weights = written * read[place];
                let sentences = read[from..=place].iter().copied();
                let translations = config.target_context.then_some(written);
                for tokens in sentences.flat_map(|tokens| [Some(tokens), translations]).flatten() {
                    // With concatenated context there are no entries, only tokens.
                    let rows = match config.entry_rows(tokens) {
                        0 => tokens,
                        rows => rows,
                    };
                    weights += written * (tokens + rows) + rows * tokens;
                }
                own += WEIGHT * weights;
                let layers = config.decoder_layers + config.heads;
                size.work = size.work.max(weights * layers * size_of::<f32>());
            }
            size.whole = size.whole.saturating_add(own);
            if own > size.largest {
                (size.largest, size.at) = (own, place);
            }
        }
        size
    }
}

impl Size {
    /// An upper bound on the bytes needed by a request for these documents, or why it is rejected.
    pub fn admit(
        sizes: &[Self],
        is_streamed: bool,
        threads: usize,
        limits: &Limits,
    ) -> Result<usize, ApiError> {
        let refuse = |what: &str, bytes: usize, remedy: &str| {
            let problem = format!(
                "{what} could take {} MB, but the limit is {}; ask for {remedy}, a smaller \
                 max_length, or no attention",
                bytes.div_ceil(1_000_000),
                limits.answer / 1_000_000,
            );
            ApiError::new(Code::TooLarge, problem)
        };
        let whole = sizes.iter().fold(0usize, |sum, size| sum.saturating_add(size.whole));
        let largest = sizes.iter().max_by_key(|size| size.largest).copied().unwrap_or_default();
        if largest.largest > limits.answer {
            let what = format!("the response for sentence {}", largest.at);
            return Err(refuse(&what, largest.largest, "a shorter sentence").at(largest.at));
        }
        if !is_streamed && whole > limits.answer {
            return Err(refuse("the response", whole, "a stream, fewer sentences"));
        }
        let work = sizes.iter().map(|size| size.work).max().unwrap_or(0);
        // With attention, a stream is at most a few sentences per thread ahead of its reader.
        let is_bounded = is_streamed && work > 0;
        let ahead = largest.largest.saturating_mul(threads + 2);
        let kept = if is_bounded { whole.min(ahead) } else { whole };
        let sentences: usize = sizes.iter().map(|size| size.sentences).sum();
        let bytes = kept.saturating_add(work.saturating_mul(threads.min(sentences)));
        if bytes > limits.memory {
            let megabytes = limits.memory / 1_000_000;
            let problem = format!(
                "this could take {} MB of memory, but the limit is {megabytes}; ask for shorter \
                 sentences, a smaller max_length, or no attention",
                bytes.div_ceil(1_000_000)
            );
            return Err(ApiError::new(Code::TooLarge, problem));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_responses_are_rejected_before_the_work_begins() {
        let limits = Limits { answer: 1000, ..Limits::default() };
        let size = |whole, largest| Size { whole, largest, at: 3, work: 50, sentences: 9 };
        assert_eq!(Size::admit(&[size(900, 100)], false, 2, &limits), Ok(1000));
        let whole = Size::admit(&[size(900, 100), size(200, 10)], false, 2, &limits).unwrap_err();
        assert!(whole.code == Code::TooLarge && whole.message.contains("stream"), "{whole}");
        assert_eq!(Size::admit(&[size(9000, 100)], true, 2, &limits), Ok(500));
        let one = Size::admit(&[size(9000, 2000)], true, 2, &limits).unwrap_err();
        assert_eq!((one.code, one.index), (Code::TooLarge, Some(3)));
        let limits = Limits { memory: 400, ..limits };
        let much = Size::admit(&[size(900, 100)], true, 2, &limits).unwrap_err();
        assert!(much.message.contains("memory"), "{much}");
    }
}
