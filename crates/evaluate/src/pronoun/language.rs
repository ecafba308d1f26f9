//! The pronouns of the supported languages, and how they are found in a line.

use std::fmt;
use std::str::FromStr;

use abridge_corpus::{Error, Result};

/// A language with a list of pronouns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PronounLanguage {
    /// German.
    German,
    /// French.
    French,
    /// English.
    English,
}

/// Pronouns of one gender.
pub(super) struct Gender {
    pub(super) name: &'static str,
    pub(super) forms: &'static [&'static str],
}

const GERMAN: &[Gender] = &[
    Gender { name: "masculine", forms: &["er", "ihn", "ihm"] },
    Gender { name: "feminine or plural", forms: &["sie", "ihr"] },
    Gender { name: "neuter", forms: &["es"] },
    Gender { name: "plural", forms: &["ihnen"] },
    Gender { name: "polite", forms: &["Sie", "Ihnen", "Ihr"] },
];

const FRENCH: &[Gender] = &[
    Gender { name: "masculine", forms: &["il"] },
    Gender { name: "feminine", forms: &["elle"] },
    Gender { name: "masculine plural", forms: &["ils", "eux"] },
    Gender { name: "feminine plural", forms: &["elles"] },
    Gender { name: "neutral", forms: &["ce", "c'", "ça", "cela"] },
];

const ENGLISH: &[Gender] = &[
    Gender { name: "masculine", forms: &["he", "him"] },
    Gender { name: "feminine", forms: &["she", "her"] },
    Gender { name: "neuter", forms: &["it"] },
    Gender { name: "plural", forms: &["they", "them"] },
];

impl PronounLanguage {
    /// The language code.
    pub fn code(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::French => "fr",
            Self::English => "en",
        }
    }

    /// Whether a word in lower case is one of the pronouns.
    pub(crate) fn has(self, word: &str) -> bool {
        self.genders().iter().any(|gender| gender.forms.contains(&word))
    }

    pub(super) fn genders(self) -> &'static [Gender] {
        match self {
            Self::German => GERMAN,
            Self::French => FRENCH,
            Self::English => ENGLISH,
        }
    }

    /// The pronouns of a line as (gender, form) indices into the lists above.
    pub(super) fn find(self, line: &str) -> Vec<(usize, usize)> {
        words(line).filter_map(|word| self.classify(&word)).collect()
    }

    fn classify(self, word: &Word<'_>) -> Option<(usize, usize)> {
        let mut form = word.text.to_lowercase();
        if self == Self::German && !word.starts_sentence && word.text != form {
            // Inside a sentence, a capital marks the polite form, but `SIE` in all capitals does
            // not.
            word.text.clone_into(&mut form);
        }
        if self == Self::French && word.elided {
            form.push('\'');
        }
        self.genders().iter().enumerate().find_map(|(gender, pronouns)| {
            let place = pronouns.forms.iter().position(|known| *known == form)?;
            Some((gender, place))
        })
    }
}

impl fmt::Display for PronounLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for PronounLanguage {
    type Err = Error;

    fn from_str(code: &str) -> Result<Self> {
        [Self::German, Self::French, Self::English]
            .into_iter()
            .find(|language| language.code() == code)
            .ok_or_else(|| {
                Error::new(format!("there is no list of pronouns for language `{code}`"))
                    .remedy("choose one of de, fr, en")
            })
    }
}

/// A run of letters.
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// Whether it may start a sentence, so that a capital means nothing.
    starts_sentence: bool,
    /// Whether an apostrophe follows directly.
    elided: bool,
}

pub(super) fn words(line: &str) -> impl Iterator<Item = Word<'_>> {
    let mut rest = line;
    let mut starts_sentence = true;
    std::iter::from_fn(move || {
        let start = rest.find(char::is_alphabetic)?;
        let between = &rest[..start];
        // After the end of a sentence, a colon, a dash or an opening quotation mark.
        starts_sentence |= between.contains(|mark| {
            matches!(
                mark,
                '.' | '!' | '?' | ':' | '…' | '–' | '—' | '„' | '“' | '"' | '«' | '»' | '‚'
            )
        }) || between.contains("- ");
        let length = rest[start..]
            .find(|character: char| !character.is_alphabetic())
            .unwrap_or(rest.len() - start);
        let text = &rest[start..start + length];
        rest = &rest[start + length..];
        let elided = rest.starts_with(['\'', '’']);
        let starts = std::mem::replace(&mut starts_sentence, false);
        Some(Word { text, starts_sentence: starts, elided })
    })
}
