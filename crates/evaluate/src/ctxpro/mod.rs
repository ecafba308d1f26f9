//! ctxPro: does a translation contain the word that depends on the context?
//!
//! Scored as in the package `ctxpro`: the expected word must occur as a word in the translation's
//! last sentence, in lower case and without ASCII punctuation.

mod last_sentence;
mod report;
mod translate;

pub use report::{CtxProReport, CtxProRow, ctxpro_tests};
pub use translate::{CtxProContext, CtxProTask, ctxpro_hash};

/// Removes ASCII punctuation, including inside words.
fn without_punctuation(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_punctuation()).collect()
}

/// Whether a translation contains the expected word in its last sentence.
pub fn has_expected(translation: &str, expected: &str, language: &str) -> bool {
    let last = last_sentence::last_sentence(translation, language).to_lowercase();
    // Spaces on both sides, so that only whole words are found.
    format!(" {} ", without_punctuation(&last)).contains(&format!(" {} ", expected.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_of_the_last_sentence_count() {
        let right = |text, expected| has_expected(text, expected, "de");
        assert!(right("Kommst du?", "du"));
        assert!(right("Ich sehe Sie.", "sie"));
        assert!(!right("Komm, Dudu.", "du"));
        assert!(!right("Kommst du? Ja.", "du"));
        // Removing punctuation inside a word joins its parts; non-ASCII quotation marks stay.
        assert!(!right("„du", "du"));
        assert!(!right("sie-du", "du"));
    }
}
