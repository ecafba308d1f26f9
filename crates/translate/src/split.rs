//! Splits sentences that are too long for the model, without losing text.
//!
//! Splits are made after punctuation if that is enough, else between words, else between any two
//! characters.

use abridge_corpus::tokenizer::Encoder;
use abridge_model::tokens::END;

use crate::settings::BeamSettings;
use crate::translator::{Translator, sentence_tokens};

/// A part of a sentence, and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitPart<'a> {
    pub text: &'a str,
    /// What joins its translation to the next: a space if the source has one.
    pub joint: &'static str,
}

/// Where a text may be split, from the best places to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Sentences,
    Clauses,
    Words,
    Characters,
}

/// Splits a text into parts for which `size` is at most `most`.
///
/// `size` is the number of tokens. It need not be additive; every part is measured.
pub(crate) fn split<'a>(
    text: &'a str,
    most: usize,
    size: &mut dyn FnMut(&str) -> usize,
) -> Vec<SplitPart<'a>> {
    let mut parts = Vec::new();
    divide(text, most, size, Cut::Sentences, &mut parts);
    parts
}

fn divide<'a>(
    text: &'a str,
    most: usize,
    size: &mut dyn FnMut(&str) -> usize,
    cut: Cut,
    parts: &mut Vec<SplitPart<'a>>,
) {
    let trimmed = text.trim();
    if size(trimmed) <= most || trimmed.chars().nth(1).is_none() {
        let joint = if text.ends_with(char::is_whitespace) { " " } else { "" };
        parts.push(SplitPart { text: trimmed, joint });
        return;
    }
    let (pieces, next) = match cut {
        Cut::Sentences => (pieces(text, ends_sentence), Cut::Clauses),
        Cut::Clauses => (pieces(text, ends_clause), Cut::Words),
        Cut::Words => (pieces(text, |_| true), Cut::Characters),
        Cut::Characters => (halves(text), Cut::Characters),
    };
    // Packs as many pieces as fit, so that parts are few and long.
    let mut start = 0;
    let mut end = 0;
    let mut filled = 0;
    for piece in pieces {
        let tokens = size(piece.trim());
        if end > start && filled + tokens > most {
            divide(&text[start..end], most, size, next, parts);
            start = end;
            filled = 0;
        }
        end += piece.len();
        filled += tokens;
    }
    divide(&text[start..end], most, size, next, parts);
}

/// Splits after the white space that follows a word for which `ends` holds.
fn pieces(text: &str, ends: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut word = 0;
    let mut was_space = false;
    for (place, character) in text.char_indices() {
        let is_space = character.is_whitespace();
        if was_space && !is_space {
            if ends(text[word..place].trim_end()) {
                pieces.push(&text[start..place]);
                start = place;
            }
            word = place;
        }
        // Scripts without spaces still have full stops.
        if !is_space && !was_space && place > word && ends_wide(&text[word..place]) {
            pieces.push(&text[start..place]);
            (start, word) = (place, place);
        }
        was_space = is_space;
    }
    pieces.push(&text[start..]);
    pieces
}

fn ends_sentence(word: &str) -> bool {
    let word = word.trim_end_matches(['"', '\'', '”', '’', '»', ')', ']']);
    word.ends_with(['.', '!', '?', '…', ';', '؟', '۔', '।'])
}

fn ends_clause(word: &str) -> bool {
    word.ends_with([',', ':', '–', '—', '،', '؛', ')'])
}

fn ends_wide(word: &str) -> bool {
    word.ends_with(['。', '！', '？', '；', '，', '、'])
}

fn halves(text: &str) -> Vec<&str> {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    if middle == text.len() {
        middle = text.char_indices().nth(1).map_or(text.len(), |(place, _)| place);
    }
    vec![&text[..middle], &text[middle..]]
}

impl Translator {
    /// The tokens of a sentence in parts that fit the model and the longest translation, each with
    /// what joins it to the next.
    pub(crate) fn parts(
        &self,
        sentence: &str,
        settings: &BeamSettings,
        encoder: &mut Encoder<'_>,
    ) -> Vec<(Vec<u32>, &'static str)> {
        let most = self.longest_part(settings);
        let whole = sentence_tokens(encoder, sentence);
        if whole.len() <= most {
            return vec![(whole, "")];
        }
        // A language named by the sentence applies to all its parts.
        let (named, sentence) = match self.target_languages().take(sentence) {
            Some((named, rest)) => (Some(named), rest),
            None => (None, sentence),
        };
        let chosen = encoder.language();
        encoder.set_language(named.or(chosen));
        let mut size = |text: &str| sentence_tokens(encoder, text).len();
        let parts = split(sentence, most, &mut size);
        let parts = parts
            .into_iter()
            .map(|SplitPart { text, joint }| {
                let mut tokens = sentence_tokens(encoder, text);
                // A single character exceeds the limit only if the limit is tiny.
                tokens.truncate(most.saturating_sub(1).max(1));
                if tokens.last() != Some(&END) {
                    tokens.push(END);
                }
                (tokens, joint)
            })
            .collect();
        encoder.set_language(chosen);
        parts
    }

    /// The most source tokens, including the end token, that are translated at once; a longer
    /// sentence is translated in parts. It is the model's number of positions, or the longest
    /// translation if that is less, so that translations are not truncated.
    pub fn longest_part(&self, settings: &BeamSettings) -> usize {
        // A low limit asks for short translations, not for short parts.
        let room = settings.max_length.max(100) + 1;
        self.model().config().max_positions.min(room).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One token per four bytes of a word, at least one.
    fn size(text: &str) -> usize {
        text.split_whitespace().map(|word| word.len().div_ceil(4)).sum()
    }

    fn texts(text: &str, most: usize) -> Vec<&str> {
        split(text, most, &mut size).into_iter().map(|part| part.text).collect()
    }

    #[test]
    fn text_that_fits_is_not_split() {
        assert_eq!(texts("One. Two.", 5), ["One. Two."]);
        assert_eq!(texts("", 5), [""]);
    }

    #[test]
    fn the_best_places_are_used_first() {
        assert_eq!(texts("a b. c d, e f.", 4), ["a b.", "c d, e f."]);
        assert_eq!(texts("a b, c d e f", 4), ["a b,", "c d e f"]);
        assert_eq!(texts("a b c d e f", 4), ["a b c d", "e f"]);
        assert_eq!(texts("aaaabbbbccccdddd", 2), ["aaaabbbb", "ccccdddd"]);
        assert_eq!(texts("你好吗。我很好。", 3), ["你好吗。", "我很好。"]);
    }

    #[test]
    fn nothing_is_lost_and_everything_fits() {
        let random = |i: u64| abridge_model::random::value(3, i);
        let alphabet: Vec<char> = "ab .,é你。\u{1F600}".chars().collect();
        for case in 0..300u64 {
            let length = random(case) % 200;
            let text: String = (0..length)
                .map(|i| alphabet[(random(case * 1000 + i) % alphabet.len() as u64) as usize])
                .collect();
            let parts = split(&text, 6, &mut size);
            let rejoined: String = parts.iter().flat_map(|part| [part.text, part.joint]).collect();
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(bare(&rejoined), bare(&text));
            assert!(parts.iter().all(|part| size(part.text) <= 6), "{parts:?}");
        }
    }

    #[test]
    fn a_line_of_a_million_bytes_is_split() {
        let line = "x".repeat(1_000_000);
        let parts = split(&line, 100, &mut size);
        assert!(parts.len() >= 2_500 && parts.iter().all(|part| size(part.text) <= 100));
        let words = "word ".repeat(200_000);
        assert_eq!(split(&words, 100, &mut size).len(), 2_000);
    }
}
