//! sacreBLEU's tokenisers for BLEU, and the one for TER.

mod chinese;
mod international;
mod rewrite;
pub(crate) mod tercom;
mod western;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use abridge_corpus::Error;
use serde::Serialize;

/// How BLEU splits a line into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Tokenizer {
    /// `13a`: that of mteval-v13a, for languages with spaces; the default.
    #[default]
    #[serde(rename = "13a")]
    Mteval13a,
    /// `intl`: that of mteval-v14 with international tokenisation: all Unicode punctuation and symbols.
    #[serde(rename = "intl")]
    International,
    /// `char`: every character is a word.
    #[serde(rename = "char")]
    Character,
    /// `zh`: every Chinese character is a word, the rest as in `13a`.
    #[serde(rename = "zh")]
    Chinese,
    /// `none`: the text is already tokenised.
    #[serde(rename = "none")]
    None,
}

impl Tokenizer {
    /// Every tokeniser.
    pub const ALL: [Self; 5] =
        [Self::Mteval13a, Self::International, Self::Character, Self::Chinese, Self::None];

    /// The name in signatures and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mteval13a => "13a",
            Self::International => "intl",
            Self::Character => "char",
            Self::Chinese => "zh",
            Self::None => "none",
        }
    }

    /// The line with white space between its words. Runs of white space are not collapsed: split
    /// the result with [`crate::whitespace::words`].
    pub fn tokenize(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Mteval13a => Cow::Owned(western::mteval13a(line)),
            Self::International => Cow::Owned(international::tokenize(line)),
            Self::Character => {
                let mut spaced = String::with_capacity(2 * line.len());
                for character in line.chars() {
                    spaced.push(character);
                    spaced.push(' ');
                }
                Cow::Owned(spaced)
            }
            Self::Chinese => Cow::Owned(chinese::tokenize(line)),
            Self::None => Cow::Borrowed(line),
        }
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tokenizer {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|tokenizer| tokenizer.name() == name).ok_or_else(|| {
            Error::new(format!("unknown BLEU tokeniser `{name}`"))
                .remedy("choose one of 13a, intl, char, zh, none")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whitespace::words;

    fn tokens(tokenizer: Tokenizer, line: &str) -> String {
        words(&tokenizer.tokenize(line)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn mteval13a_keeps_numbers_together() {
        let line = "It cost 1,234.50 (about 5-6%), \"no\"... &quot;yes&quot;.";
        assert_eq!(
            tokens(Tokenizer::Mteval13a, line),
            "It cost 1,234.50 ( about 5 - 6 % ) , \" no \" . . . \" yes \" ."
        );
    }

    #[test]
    fn international_cuts_unicode_punctuation_but_not_a_final_full_stop_after_a_number() {
        assert_eq!(tokens(Tokenizer::International, "„Ja“, um 1999."), "„ Ja “ , um 1999.");
        assert_eq!(tokens(Tokenizer::International, "5€ für 3,5"), "5 € für 3,5");
    }

    #[test]
    fn chinese_cuts_characters_and_leaves_words() {
        assert_eq!(tokens(Tokenizer::Chinese, "我有3.5个apple。"), "我 有 3.5 个 apple 。");
    }

    #[test]
    fn characters_are_words_and_none_changes_nothing() {
        assert_eq!(tokens(Tokenizer::Character, "a bc"), "a b c");
        assert_eq!(Tokenizer::None.tokenize("a , b."), "a , b.");
    }

    #[test]
    fn names_are_read_back() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(tokenizer.name().parse::<Tokenizer>().unwrap(), tokenizer);
        }
        assert!("moses".parse::<Tokenizer>().unwrap_err().to_string().contains("intl"));
    }
}
