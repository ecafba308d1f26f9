//! From a sentence to its text: fills slots, elides, capitalises, and records where the pronoun and
//! its antecedent are.

use std::ops::Range;

use super::lexicon::Gender;
use super::sentence::Sentence;
use super::{PracticeLanguage, english, french, german};

// Private use characters mark what must be found in the finished text.
const PRONOUN_START: char = '\u{E000}';
const PRONOUN_END: char = '\u{E001}';
const NOUN_START: char = '\u{E002}';
const NOUN_END: char = '\u{E003}';

/// A sentence in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rendered {
    pub text: String,
    /// The byte range of the pronoun for the topic.
    pub pronoun: Option<Range<usize>>,
    /// The byte range of the topic's noun.
    pub noun: Option<Range<usize>>,
}

/// The source text.
pub(super) fn source(sentence: &Sentence) -> Rendered {
    let mut text = String::new();
    if let Some(time) = sentence.time {
        text.push_str(time.english);
        text.push(' ');
    }
    text.push_str(sentence.template.english);
    finish(&fill(&text, |slot| english::slot(slot, sentence)))
}

/// The translation, in which the pronoun has the given gender: the topic's, or another one to
/// make a contrastive candidate.
pub(super) fn target(sentence: &Sentence, language: PracticeLanguage, gender: Gender) -> Rendered {
    match language {
        PracticeLanguage::German => {
            let text = german::order(sentence);
            finish(&fill(&text, |slot| german::slot(slot, sentence, gender)))
        }
        PracticeLanguage::French => {
            let mut text = String::new();
            if let Some(time) = sentence.time {
                text.push_str(time.french);
                text.push(' ');
            }
            text.push_str(sentence.template.french);
            let text = fill(&text, |slot| french::slot(slot, sentence, gender));
            finish(&french::elide(&text))
        }
    }
}

/// Marks the pronoun for the topic.
pub(super) fn mark_pronoun(text: &str) -> String {
    format!("{PRONOUN_START}{text}{PRONOUN_END}")
}

/// Marks the noun of the topic.
pub(super) fn mark_noun(text: &str) -> String {
    format!("{NOUN_START}{text}{NOUN_END}")
}

/// Whether the character is one of the marks.
pub(super) fn is_mark(character: char) -> bool {
    (PRONOUN_START..=NOUN_END).contains(&character)
}

/// Fills each `{slot}`. Unknown slots are left as they are, so that tests find them.
fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((slot, after)) = after.split_once('}') else {
            rest = after;
            break;
        };
        if let Some(value) = value(slot) {
            text.push_str(&value);
        } else {
            text.push('{');
            text.push_str(slot);
            text.push('}');
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Capitalises the first letter, removes the marks and records where they were.
fn finish(marked: &str) -> Rendered {
    let mut text = String::new();
    let mut start = 0;
    let mut rendered = Rendered { text: String::new(), pronoun: None, noun: None };
    let mut first = true;
    for character in marked.chars() {
        match character {
            PRONOUN_START | NOUN_START => start = text.len(),
            PRONOUN_END => rendered.pronoun = Some(start..text.len()),
            NOUN_END => rendered.noun = Some(start..text.len()),
            _ if first => {
                text.extend(character.to_uppercase());
                first = false;
            }
            _ => text.push(character),
        }
    }
    rendered.text = text;
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_ranges_in_the_capitalised_text() {
        let noun = mark_noun("Uhr");
        let pronoun = mark_pronoun("sie");
        let rendered = finish(&format!("über eine {noun}, weil {pronoun} alt war."));
        assert_eq!(rendered.text, "Über eine Uhr, weil sie alt war.");
        assert_eq!(rendered.noun.map(|range| rendered.text[range].to_owned()).unwrap(), "Uhr");
        assert_eq!(rendered.pronoun.map(|range| rendered.text[range].to_owned()).unwrap(), "sie");
    }

    #[test]
    fn unknown_slots_stay_visible() {
        let text = fill("{a} and {b}.", |slot| (slot == "a").then(|| "one".to_owned()));
        assert_eq!(text, "one and {b}.");
    }
}
