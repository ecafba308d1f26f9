//! Words of a sentence with their positions.

use std::ops::Range;

/// A run of letters, with the apostrophe if it is elided (`l'`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// In lower case, with a plain apostrophe.
    pub lower: String,
    /// Its bytes in the sentence.
    pub place: Range<usize>,
    /// Whether it begins with a capital.
    pub capital: bool,
    /// Whether it begins a sentence, so that a capital means nothing.
    pub begins: bool,
    /// Whether a hyphen directly precedes it: French and Portuguese pronouns after verbs.
    pub hyphen: bool,
    /// The clause it belongs to, counted from 0.
    pub clause: usize,
}

pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut begins, mut clause) = (true, 0);
    let mut characters = text.char_indices().peekable();
    while let Some((start, c)) = characters.next() {
        if !c.is_alphanumeric() {
            let ends_sentence =
                matches!(c, '.' | '!' | '?' | ':' | '…' | '–' | '—' | '„' | '"' | '«' | '“');
            if (ends_sentence || matches!(c, ',' | ';'))
                && words.last().is_some_and(|w| w.clause == clause)
            {
                clause += 1;
            }
            begins |= ends_sentence;
            continue;
        }
        let mut end = start + c.len_utf8();
        while let Some(&(place, next)) = characters.peek() {
            let elided = matches!(next, '\'' | '’');
            if !next.is_alphanumeric() && !elided {
                break;
            }
            characters.next();
            end = place + next.len_utf8();
            if elided {
                break;
            }
        }
        words.push(Word {
            lower: text[start..end].to_lowercase().replace('’', "'"),
            place: start..end,
            capital: c.is_uppercase(),
            begins,
            hyphen: text[..start].ends_with('-'),
            clause,
        });
        begins = false;
    }
    words
}

/// The words of an English sentence in lower case, with contractions split.
pub(super) fn english(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    for mut word in words(text) {
        // `don'` + `t`, `it'` + `s`
        let part = word.lower.trim_end_matches('\'').to_owned();
        let last = found.last_mut().filter(|last| last.place.end == word.place.start);
        word.lower = match (last, part.as_str()) {
            (Some(last), "t") if last.lower.ends_with('n') => {
                let whole = match last.lower.as_str() {
                    "won" => "will",
                    "can" => "can",
                    "shan" => "shall",
                    other => other.strip_suffix('n').unwrap_or(other),
                };
                last.lower = whole.to_owned();
                "not".to_owned()
            }
            (Some(_), "s") => "is".to_owned(),
            (Some(_), "ll") => "will".to_owned(),
            (Some(_), "re") => "are".to_owned(),
            (Some(_), "ve") => "have".to_owned(),
            (Some(_), "d") => "would".to_owned(),
            (Some(_), "m") => "am".to_owned(),
            _ => part,
        };
        found.push(word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_positions_and_clauses() {
        let text = "C’est l'été, dit-il. Oui!";
        let found = words(text);
        let lower: Vec<&str> = found.iter().map(|word| word.lower.as_str()).collect();
        assert_eq!(lower, ["c'", "est", "l'", "été", "dit", "il", "oui"]);
        assert_eq!(&text[found[3].place.clone()], "été");
        assert!(found[5].hyphen && !found[4].hyphen);
        assert!(found[0].begins && !found[1].begins && found[6].begins);
        let clauses: Vec<usize> = found.iter().map(|word| word.clause).collect();
        assert_eq!(clauses, [0, 0, 0, 0, 1, 1, 2]);
    }

    #[test]
    fn english_contractions_are_split() {
        let found = english("I don't, it's; he won't.");
        let lower: Vec<&str> = found.iter().map(|word| word.lower.as_str()).collect();
        assert_eq!(lower, ["i", "do", "not", "it", "is", "he", "will", "not"]);
    }
}
