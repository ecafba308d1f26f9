//! Folds texts for comparisons that ignore case, punctuation, spaces and digits.

use std::hash::{Hash, Hasher};

use abridge_base::random::mix;
use rustc_hash::FxHasher;

use crate::tokenizer::normalise::normalise;

/// The folded words of a text: NFKC, lower case, every digit replaced with 0, and everything that
/// is neither a letter nor a digit treated as a word boundary.
pub fn folded_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in normalise(text).chars() {
        if character.is_numeric() {
            word.push('0');
        } else if character.is_alphabetic() {
            word.extend(character.to_lowercase());
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A hash that is the same in every run.
pub fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    // The map's hash function mixes only the high bits well.
    mix(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_texts_fold_to_the_same_words() {
        let folded = |text: &str| folded_words(text).join(" ");
        assert_eq!(folded("  The ﬁrst\u{a0}of May, 1999!"), "the first of may 0000");
        assert_eq!(folded("THE “First” of May – 2024"), folded("the first of may 1999."));
        assert_eq!(folded("…"), "");
        assert_ne!(hash(folded_words("a b")), hash(folded_words("ab")));
    }
}
