//! Nouns of English sentences: subjects that a pronoun can replace, and mentions of them elsewhere.
//! By rules, without a parser.

use crate::words::{Word, words};

const SINGULAR_VERBS: [&str; 8] = ["is", "was", "has", "does", "isn", "wasn", "hasn", "doesn"];
const PLURAL_VERBS: [&str; 8] = ["are", "were", "have", "do", "aren", "weren", "haven", "don"];
/// Verbs that do not tell one from many.
const MODAL_VERBS: [&str; 12] = [
    "will", "would", "must", "should", "can", "could", "may", "might", "did", "cannot", "won",
    "didn",
];
const DETERMINERS: [&str; 17] = [
    "the", "a", "an", "this", "that", "these", "those", "my", "your", "our", "his", "her", "their",
    "no", "some", "every", "new",
];
/// Determiners of a thing that was spoken of before.
const DEFINITE: [&str; 11] =
    ["the", "this", "that", "these", "those", "my", "your", "our", "his", "her", "their"];
/// What may follow a noun. After anything else it may be part of a longer one (*report item*).
const AFTER_NOUNS: [&str; 17] = [
    "of", "in", "on", "for", "to", "that", "which", "and", "or", "from", "with", "by", "at", "as",
    "here", "there", "today",
];
/// Other pronouns need an antecedent of their own.
const PRONOUNS: [&str; 7] = ["it", "its", "they", "them", "their", "theirs", "itself"];
/// One person is *he* or *she*; and words that are no nouns.
const NOT_IT: [&str; 58] = [
    "man",
    "woman",
    "boy",
    "girl",
    "mother",
    "father",
    "brother",
    "sister",
    "son",
    "daughter",
    "wife",
    "husband",
    "king",
    "queen",
    "doctor",
    "president",
    "minister",
    "chairman",
    "rapporteur",
    "commissioner",
    "user",
    "person",
    "guy",
    "lady",
    "kid",
    "child",
    "baby",
    "teacher",
    "customer",
    "administrator",
    "speaker",
    "gentleman",
    "employee",
    "manager",
    "driver",
    "author",
    "professor",
    "captain",
    "general",
    "officer",
    "judge",
    "patient",
    "worker",
    "other",
    "rest",
    "same",
    "former",
    "latter",
    "first",
    "second",
    "third",
    "last",
    "next",
    "one",
    "two",
    "only",
    "mom",
    "dad",
];

/// The subject with which a sentence begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// The noun.
    pub noun: String,
    /// Whether the verb or the noun's ending shows a plural.
    pub plural: bool,
    /// Where it ends: the byte after the noun.
    pub end: usize,
}

/// The subject of a sentence such as *The (old) house was built in 1900*: a determiner, at most one
/// word more, a noun and a verb.
pub(super) fn subject(sentence: &str) -> Option<Subject> {
    let words = words(sentence);
    let begins = words.first().is_some_and(|w| w.place.start == 0 && is(&w.lower, &DEFINITE));
    if !begins || words.iter().any(|word| is(&word.lower, &PRONOUNS) && word.place.start > 0) {
        return None;
    }
    let is_verb = |word: &Word| {
        [&SINGULAR_VERBS[..], &PLURAL_VERBS, &MODAL_VERBS]
            .iter()
            .any(|verbs| is(&word.lower, verbs))
    };
    let verb = (2..=3).find(|&place| words.get(place).is_some_and(is_verb))?;
    let noun = &words[verb - 1];
    let is_plain = (1..=verb).all(|place| {
        &sentence[words[place - 1].place.end..words[place].place.start] == " "
            && is_lower(sentence, &words[place])
    });
    let plural = is(&words[verb].lower, &PLURAL_VERBS)
        || (is(&words[verb].lower, &MODAL_VERBS)
            && noun.lower.ends_with('s')
            && !noun.lower.ends_with("ss"));
    let is_noun = noun.lower.len() >= 3 && (plural || !is(&noun.lower, &NOT_IT));
    (is_plain && is_noun).then(|| Subject { noun: noun.lower.clone(), plural, end: noun.place.end })
}

/// The nouns that a sentence mentions by themselves: after a determiner, and not as part of a longer
/// noun.
pub(super) fn mentioned(sentence: &str) -> Vec<String> {
    let words = words(sentence);
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate().skip(1) {
        let near = &words[place.saturating_sub(2)..place];
        if word.lower.len() < 3
            || !is_lower(sentence, word)
            || is(&word.lower, &DETERMINERS)
            || !near.iter().any(|before| is(&before.lower, &DETERMINERS))
        {
            continue;
        }
        let is_last = words.get(place + 1).is_none_or(|next| {
            &sentence[word.place.end..next.place.start] != " "
                || [&SINGULAR_VERBS[..], &PLURAL_VERBS, &MODAL_VERBS, &AFTER_NOUNS]
                    .iter()
                    .any(|some| is(&next.lower, some))
        });
        if is_last && !found.contains(&word.lower) {
            found.push(word.lower.clone());
        }
    }
    found
}

fn is(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}

fn is_lower(sentence: &str, word: &Word) -> bool {
    sentence[word.place.clone()] == *word.lower
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sentence: &str) -> Option<(String, bool, &str)> {
        subject(sentence).map(|found| (found.noun, found.plural, &sentence[found.end..]))
    }

    #[test]
    fn subjects_are_short_and_have_a_verb() {
        let expected = Some(("house".to_owned(), false, " was built in 1900."));
        assert_eq!(found("The house was built in 1900."), expected);
        assert_eq!(found("The old house was built in 1900."), expected);
        assert_eq!(found("Those lamps are new."), Some(("lamps".to_owned(), true, " are new.")));
        assert_eq!(found("Our plans must wait."), Some(("plans".to_owned(), true, " must wait.")));
        assert_eq!(
            found("The glass isn't full."),
            Some(("glass".to_owned(), false, " isn't full."))
        );
    }

    #[test]
    fn other_sentences_have_none() {
        for sentence in [
            "",
            "He was built in 1900.",
            "The house, too, was old.",
            "The house of my aunt was old.",
            "The Bank is open.",
            "The woman is old.",
            "The house is older than it looks.",
            "A house was built.",
            "Suddenly the house was gone.",
            "Das Haus ist alt.",
        ] {
            assert_eq!(found(sentence), None, "{sentence}");
        }
    }

    #[test]
    fn mentions_are_not_parts_of_other_nouns() {
        assert_eq!(mentioned("She bought a new lamp and the old table."), ["lamp", "table"]);
        assert_eq!(mentioned("The report item is in the table."), ["item", "table"]);
        assert_eq!(mentioned("Lamp oil is dear."), Vec::<String>::new());
        assert_eq!(mentioned(""), Vec::<String>::new());
    }
}
