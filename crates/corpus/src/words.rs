//! The words of a sentence, for rules that need no tokenizer.

use std::ops::Range;

/// A run of letters in a text.
pub(crate) struct Word {
    /// Its byte range.
    pub place: Range<usize>,
    /// In lower case.
    pub lower: String,
}

/// All runs of letters.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut start = None;
    for (place, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, c.is_alphabetic()) {
            (None, true) => start = Some(place),
            (Some(first), false) => {
                words.push(Word { place: first..place, lower: text[first..place].to_lowercase() });
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// With a capital at the beginning.
pub(crate) fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}
