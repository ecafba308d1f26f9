//! Finds a swap in a sentence pair.

use std::ops::Range;

use super::table::Swap;
use crate::words::{Word, capitalised, words};

/// How many words after a pronoun are checked.
const NEAR: usize = 3;

/// English words after which a clause begins, and with it a subject.
const BEFORE_SUBJECTS: [&str; 24] = [
    "and", "but", "or", "that", "if", "when", "because", "so", "then", "while", "since", "as",
    "though", "although", "until", "after", "before", "where", "how", "why", "what", "which",
    "whether", "once",
];

/// A target word that may be swapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its byte range in the target sentence.
    pub place: Range<usize>,
    /// Which of the swap's words it is.
    pub word: usize,
    /// The word of the source.
    pub source: String,
}

impl Swap {
    /// The swap in a sentence pair, if nothing rules it out.
    pub(super) fn find(&self, source: &str, target: &str) -> Option<Found> {
        let source_word = self.in_source(source)?;
        let words = words(target);
        let is_swapped = |word: &&Word| self.words.contains(&word.lower);
        let mut swapped = words.iter().filter(is_swapped);
        let (found, None) = (swapped.next()?, swapped.next()) else { return None };
        let index = words.iter().position(|word| word.place == found.place)?;
        let text = &target[found.place.clone()];
        let capital = text.starts_with(char::is_uppercase);
        let is_ruled_out = words.iter().any(|word| self.without.contains(&word.lower))
            || after(&words, index).any(|word| self.not_before.contains(word))
            // A capital inside a sentence is another word: German Sie.
            || (capital && !begins(target, found.place.start))
            || text.chars().skip(1).any(char::is_uppercase);
        let word = self.words.iter().position(|word| *word == found.lower)?;
        (!is_ruled_out).then(|| Found { place: found.place.clone(), word, source: source_word })
    }

    /// The ambiguous word of a source sentence, unless something rules it out.
    fn in_source(&self, source: &str) -> Option<String> {
        let words = words(source);
        let mut ambiguous =
            words.iter().enumerate().filter(|(_, word)| self.source.contains(&word.lower));
        let (Some((index, word)), None) = (ambiguous.next(), ambiguous.next()) else { return None };
        let is_subject = begins(source, word.place.start)
            || source[..word.place.start].trim_end().ends_with([',', ';', ':', '-', '–'])
            || index
                .checked_sub(1)
                .is_some_and(|before| BEFORE_SUBJECTS.contains(&words[before].lower.as_str()));
        let is_ruled_out = words.iter().any(|word| self.source_without.contains(&word.lower))
            || after(&words, index).any(|word| self.source_not_before.contains(word));
        (is_subject && !is_ruled_out).then(|| word.lower.clone())
    }

    /// The target with the found word replaced by each of the others.
    pub(super) fn swapped(&self, target: &str, found: &Found) -> Vec<String> {
        let capital = target[found.place.clone()].starts_with(char::is_uppercase);
        let others = self.words.iter().enumerate().filter(|(word, _)| *word != found.word);
        others
            .map(|(_, word)| {
                let word = if capital { capitalised(word) } else { word.clone() };
                [&target[..found.place.start], &word, &target[found.place.end..]].concat()
            })
            .collect()
    }
}

fn after(words: &[Word], index: usize) -> impl Iterator<Item = &String> {
    words[index + 1..].iter().take(NEAR).map(|word| &word.lower)
}

/// Whether a sentence begins at a place: nothing before it, or the end of another sentence.
fn begins(text: &str, place: usize) -> bool {
    let before = text[..place].trim_end_matches(|c: char| !c.is_alphanumeric() && !is_end(c));
    before.is_empty() || before.ends_with(is_end)
}

fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ':' | '…')
}

#[cfg(test)]
mod tests {
    use super::super::table::SwapTable;

    fn swapped(language: &str, source: &str, target: &str) -> Vec<String> {
        let table = SwapTable::built_in(language).unwrap();
        let found = table
            .swap
            .iter()
            .find_map(|swap| swap.find(source, target).map(|found| swap.swapped(target, &found)));
        found.unwrap_or_default()
    }

    #[test]
    fn german_subjects_are_swapped() {
        assert_eq!(
            swapped("de", "It shines at night.", "Sie leuchtet nachts."),
            ["Er leuchtet nachts.", "Es leuchtet nachts."]
        );
        assert_eq!(
            swapped("de", "I know that it works.", "Ich weiß, dass er funktioniert."),
            ["Ich weiß, dass sie funktioniert.", "Ich weiß, dass es funktioniert."]
        );
    }

    #[test]
    fn sentences_that_reveal_the_gender_are_ruled_out() {
        for (source, target) in [
            ("It lost its value.", "Er verlor seinen Wert."),
            ("It is the best.", "Er ist der beste."),
            ("It works, he says.", "Er sagt, es geht."),
            ("I saw it.", "Ich sah es."),
            ("It works.", "Es funktioniert, wenn es warm ist."),
            ("It said you came.", "Es hieß, dass Sie kamen."),
            ("It rains.", "Es regnet."),
            ("It works.", "Da kommt Sie."),
        ] {
            assert!(swapped("de", source, target).is_empty(), "{source} {target}");
        }
    }

    #[test]
    fn romance_sentences_with_agreement_are_ruled_out() {
        assert_eq!(
            swapped("fr", "They work at night.", "Elles travaillent la nuit."),
            ["Ils travaillent la nuit."]
        );
        assert_eq!(
            swapped("fr", "It works.", "Je crois qu'il marche."),
            ["Je crois qu'elle marche."]
        );
        assert!(swapped("fr", "They were green.", "Elles étaient vertes.").is_empty());
        assert_eq!(swapped("pt", "It works.", "Ela funciona."), ["Ele funciona."]);
        assert!(swapped("pt", "They are green.", "Elas são verdes.").is_empty());
    }
}
