//! Running text into sentences and back.

/// A text in sentences: what is translated, and what stands between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segmented {
    /// The sentences, without white space around them.
    pub sentences: Vec<String>,
    /// What stands before each sentence, and at last what stands after all.
    between: Vec<String>,
}

impl Segmented {
    /// Splits a text; of many languages (a code) the abbreviations are known.
    pub fn new(text: &str, language: &str) -> Self {
        let mut sentences = Vec::new();
        let mut between = Vec::new();
        let mut rest = text;
        // A line end is the end of a sentence, whatever stands before it.
        for line in text.split_inclusive('\n') {
            for piece in sentencex::segment(language, line) {
                let sentence = piece.trim();
                // Everything of the text is in its pieces, in order; what were not stays as it is.
                let Some(at) = rest.find(sentence).filter(|_| !sentence.is_empty()) else {
                    continue;
                };
                between.push(rest[..at].to_owned());
                sentences.push(sentence.to_owned());
                rest = &rest[at + sentence.len()..];
            }
        }
        between.push(rest.to_owned());
        Self { sentences, between }
    }

    /// The text with its sentences replaced.
    pub fn put_together<S: AsRef<str>>(&self, translations: &[S]) -> String {
        let mut text = String::new();
        for (gap, translation) in self.between.iter().zip(translations) {
            text.push_str(gap);
            text.push_str(translation.as_ref());
        }
        text.push_str(self.between.last().map_or("", String::as_str));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_translated_stays() {
        let text = "\n  The lamp is old. It is broken.\r\n\nDr. Smith saw it.\n";
        let segmented = Segmented::new(text, "en");
        let expected = ["The lamp is old.", "It is broken.", "Dr. Smith saw it."];
        assert_eq!(segmented.sentences, expected);
        assert_eq!(segmented.put_together(&["A.", "B.", "C."]), "\n  A. B.\r\n\nC.\n");
        assert_eq!(segmented.put_together(&segmented.sentences), text);
    }

    #[test]
    fn any_text_comes_back_whole() {
        let random = |i: u64| abridge_model::random::value(5, i);
        let alphabet: Vec<char> = "ab .!?\n\r\t\u{a0}é你。\"'(\u{1F600}".chars().collect();
        for case in 0..500u64 {
            let text: String = (0..random(case) % 80)
                .map(|i| alphabet[(random(case * 1000 + i) % alphabet.len() as u64) as usize])
                .collect();
            for language in ["en", "de", "und"] {
                let segmented = Segmented::new(&text, language);
                assert_eq!(segmented.put_together(&segmented.sentences), text);
                assert!(segmented.sentences.iter().all(|s| !s.trim().is_empty()));
                let bare = |text: &str| text.split_whitespace().collect::<String>();
                assert_eq!(bare(&segmented.sentences.concat()), bare(&text), "{text:?}");
            }
        }
        assert_eq!(Segmented::new("", "en").sentences.len(), 0);
    }
}
