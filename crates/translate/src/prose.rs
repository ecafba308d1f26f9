//! Running text: split into sentences for translation, and reassembled.

/// Running text as sentences, with everything between them.
///
/// Each line is a paragraph. The sentences of all paragraphs form one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prose {
    /// The sentences in reading order.
    pub sentences: Vec<String>,
    /// The text before each sentence, and after the last one.
    gaps: Vec<String>,
    /// The line of each sentence, from 1.
    lines: Vec<usize>,
}

impl Prose {
    /// Splits a text into sentences by the rules of a language (`en`, `de`, …; others are split at
    /// common punctuation).
    pub fn new(text: &str, language: &str) -> Self {
        let mut prose = Self { sentences: Vec::new(), gaps: Vec::new(), lines: Vec::new() };
        let mut gap = String::new();
        for (line, paragraph) in text.split_inclusive('\n').enumerate() {
            for sentence in sentencex::segment(language, paragraph) {
                let trimmed = sentence.trim();
                if trimmed.is_empty() {
                    gap.push_str(sentence);
                    continue;
                }
                let start = sentence.len() - sentence.trim_start().len();
                gap.push_str(&sentence[..start]);
                prose.gaps.push(std::mem::take(&mut gap));
                prose.sentences.push(trimmed.to_owned());
                prose.lines.push(line + 1);
                gap.push_str(&sentence[start + trimmed.len()..]);
            }
        }
        prose.gaps.push(gap);
        prose
    }

    /// A line as one sentence, or as none if it is blank.
    pub fn whole(line: &str) -> Self {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            return Self { sentences: Vec::new(), gaps: vec![line.to_owned()], lines: Vec::new() };
        }
        let start = line.len() - line.trim_start().len();
        let gaps = [&line[..start], &line[start + trimmed.len()..]].map(str::to_owned).to_vec();
        Self { sentences: vec![trimmed.to_owned()], gaps, lines: vec![1] }
    }

    /// The line of a sentence, from 1.
    pub fn line(&self, sentence: usize) -> Option<usize> {
        self.lines.get(sentence).copied()
    }

    /// The text with a translation in place of each sentence. Line ends inside translations become
    /// spaces, so that the number of lines stays the same.
    pub fn put_together<S: AsRef<str>>(&self, translations: &[S]) -> String {
        let mut text = String::new();
        for (place, gap) in self.gaps.iter().enumerate() {
            // The source script may need no space between sentences, but the target may.
            let is_inside = place > 0 && place < self.sentences.len();
            text.push_str(if is_inside && gap.is_empty() { " " } else { gap });
            if let Some(translation) = translations.get(place) {
                text.push_str(&translation.as_ref().replace(['\n', '\r'], " "));
            }
        }
        text
    }
}

/// Whether most lines of a text hold several sentences; only the first ones are looked at.
pub fn has_paragraphs<'a>(lines: impl Iterator<Item = &'a str>, language: &str) -> bool {
    const LOOKED_AT: usize = 200;
    let (mut filled, mut paragraphs) = (0, 0);
    for line in lines.filter(|line| !line.trim().is_empty()).take(LOOKED_AT) {
        filled += 1;
        paragraphs += usize::from(Prose::new(line, language).sentences.len() > 1);
    }
    2 * paragraphs > filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_has_paragraphs_and_a_talk_with_a_double_line_has_none() {
        let has = |text: &str| has_paragraphs(text.lines(), "en");
        assert!(has("The table is old. It is broken.\n\nCan you help me? I am Ann."));
        assert!(!has("The table is old.\nIt is broken. It is red.\nMr. Brown knows.\n"));
        assert!(!has(""));
    }

    #[test]
    fn paragraphs_are_split_and_reassembled() {
        let text = "Mr. Brown saw a cat. It slept.\n\n  He left!  Nobody knew why.\r\nEnd";
        let prose = Prose::new(text, "en");
        assert_eq!(
            prose.sentences,
            ["Mr. Brown saw a cat.", "It slept.", "He left!", "Nobody knew why.", "End"]
        );
        assert_eq!(prose.put_together(&prose.sentences), text);
        assert_eq!((prose.line(1), prose.line(2), prose.line(4)), (Some(1), Some(3), Some(4)));
        let upper: Vec<String> = prose.sentences.iter().map(|s| s.to_uppercase()).collect();
        assert_eq!(
            prose.put_together(&upper),
            "MR. BROWN SAW A CAT. IT SLEPT.\n\n  HE LEFT!  NOBODY KNEW WHY.\r\nEND"
        );
    }

    #[test]
    fn nothing_is_lost_whatever_the_text() {
        let random = |i: u64| abridge_model::random::value(5, i);
        let alphabet: Vec<char> = "aB .!?\n\r\t\u{200f}é你。\u{1F600}\"".chars().collect();
        for case in 0..500u64 {
            let text: String = (0..random(case) % 60)
                .map(|i| alphabet[(random(case * 100 + i) % alphabet.len() as u64) as usize])
                .collect();
            let prose = Prose::new(&text, "en");
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(bare(&prose.put_together(&prose.sentences)), bare(&text), "{text:?}");
            let lines = |text: &str| text.matches('\n').count();
            assert_eq!(lines(&prose.put_together(&prose.sentences)), lines(&text), "{text:?}");
        }
    }
}
