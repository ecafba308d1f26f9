//! Splits normalised text into words, within which pieces are learned.
//!
//! As in SentencePiece, a piece never crosses a space, and letters are never joined with digits or
//! punctuation (there by Unicode script, here by "alphabetic or mark", which a regular expression
//! in `tokenizer.json` can express too). The space belongs to the word after it.

use std::sync::LazyLock;

use regex::Regex;

/// Matches the words of a text that starts with a space; every character is in exactly one match.
pub const WORD_PATTERN: &str = r" ?[\p{Alphabetic}\p{M}]+| ?[^ \p{Alphabetic}\p{M}]+| ";

static WORDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(WORD_PATTERN).expect("the pattern is a constant"));

/// Calls `each` with every word of normalised `text`, after the dummy prefix that makes a word at
/// the start of a line equal to the same word inside it. `buffer` is scratch space.
pub fn for_each_word(text: &str, buffer: &mut String, mut each: impl FnMut(&str)) {
    if text.is_empty() {
        return;
    }
    buffer.clear();
    buffer.push(' ');
    buffer.push_str(text);
    for word in WORDS.find_iter(buffer) {
        each(word.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_word(text, &mut String::new(), |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn letters_are_separated_from_digits_and_punctuation() {
        assert_eq!(
            words("Ja, 3,5 Äpfel (rot)."),
            [" Ja", ",", " 3,5", " Äpfel", " (", "rot", ")."]
        );
        assert_eq!(words("don't"), [" don", "'", "t"]);
        assert!(words("").is_empty());
    }
}
