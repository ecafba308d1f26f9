//! Several target languages in one model: a token in front of the source sentence, such as
//! `>>de<<`, selects the target language, as in the OPUS-MT models.

use super::special::UNKNOWN;
use crate::{Error, Result};

/// The target languages of a vocabulary, and the selected one.
#[derive(Clone, Debug, Default)]
pub struct TargetLanguages {
    /// Codes without their brackets, with their ids, in the order of the ids.
    codes: Vec<(String, u32)>,
    /// The token for sentences that do not name a language themselves.
    chosen: Option<u32>,
}

impl TargetLanguages {
    /// Finds the codes among pieces; `chosen` is one of them, including its brackets.
    pub(super) fn of_pieces(pieces: &[String], chosen: Option<&str>) -> Self {
        let numbered = pieces.iter().zip(0u32..);
        let codes = numbered.filter(|(piece, _)| is_language_code(piece));
        let codes = codes.map(|(piece, id)| (bare(piece).to_owned(), id)).collect();
        let mut languages = Self { codes, chosen: None };
        languages.chosen = chosen.and_then(|code| languages.find(bare(code)));
        languages
    }

    /// The language codes, such as `de`; none in a vocabulary for one language.
    pub fn codes(&self) -> impl ExactSizeIterator<Item = &str> + '_ {
        self.codes.iter().map(|(code, _)| code.as_str())
    }

    /// Their tokens, in the same order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.codes.iter().map(|(_, id)| *id)
    }

    /// Whether the vocabulary is for one language, so that there is no choice.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The token in front of sentences that do not name a language themselves.
    pub fn chosen(&self) -> Option<u32> {
        self.chosen
    }

    /// The code of a token.
    pub fn code(&self, id: u32) -> Option<&str> {
        let found = self.codes.iter().find(|(_, known)| *known == id);
        found.map(|(code, _)| code.as_str())
    }

    /// The token of a language, given as `de` or `>>de<<`.
    pub fn id(&self, language: &str) -> Result<u32> {
        let language = bare(language);
        self.find(language).ok_or_else(|| {
            if self.codes.is_empty() {
                let problem = format!(
                    "the vocabulary has no `{}`: the model translates into one language",
                    language_code(language)
                );
                return Error::usage(problem).remedy("leave the target language out");
            }
            Error::usage(format!("`{language}` is not among the target languages"))
                .remedy(format!("choose one of {}", self.list()))
        })
    }

    /// All codes in one line.
    pub fn list(&self) -> String {
        self.codes().collect::<Vec<_>>().join(", ")
    }

    /// Selects the language of sentences that do not name one.
    pub(super) fn choose(&mut self, language: &str) -> Result<()> {
        self.chosen = Some(self.id(language)?);
        Ok(())
    }

    /// Splits off the code that a text begins with: its token, or the unknown token, and the rest.
    pub fn take<'a>(&self, text: &'a str) -> Option<(u32, &'a str)> {
        if self.codes.is_empty() {
            return None;
        }
        let trimmed = text.trim_start();
        let code = &trimmed[..trimmed.find("<<")? + 2];
        is_language_code(code)
            .then(|| (self.find(bare(code)).unwrap_or(UNKNOWN), &trimmed[code.len()..]))
    }

    fn find(&self, language: &str) -> Option<u32> {
        self.codes.iter().find(|(code, _)| code == language).map(|(_, id)| *id)
    }
}

/// The piece of a language: `>>de<<` for `de`.
pub fn language_code(language: &str) -> String {
    format!(">>{}<<", bare(language))
}

/// Whether a piece is the code of a target language, `>>fra<<`.
pub fn is_language_code(piece: &str) -> bool {
    let code = piece.strip_prefix(">>").and_then(|rest| rest.strip_suffix("<<"));
    code.is_some_and(|code| !code.is_empty() && !code.contains(['<', '>', ' ']))
}

fn bare(code: &str) -> &str {
    code.trim_matches(['<', '>'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn languages(chosen: Option<&str>) -> TargetLanguages {
        let pieces = ["<s>", "<unk>", ">>fra<<", "a", ">>deu<<", ">><<"].map(str::to_owned);
        TargetLanguages::of_pieces(&pieces, chosen)
    }

    #[test]
    fn a_sentence_may_name_its_language() {
        let known = languages(None);
        assert_eq!(known.take(">>fra<< Hello"), Some((2, " Hello")));
        assert_eq!(known.take("  >>deu<<Hello"), Some((4, "Hello")));
        assert_eq!(known.take(">>xxx<< Hello"), Some((UNKNOWN, " Hello")));
        for text in ["Hello", "a >>fra<< b", ">> a <<", ">><< a", "<<", ""] {
            assert_eq!(known.take(text), None, "{text:?}");
        }
        assert_eq!(TargetLanguages::default().take(">>fra<< Hello"), None);
    }

    #[test]
    fn errors_list_the_languages() {
        let mut known = languages(Some(">>deu<<"));
        assert_eq!((known.chosen(), known.code(2)), (Some(4), Some("fra")));
        known.choose("fra").unwrap();
        assert_eq!(known.chosen(), Some(2));
        let error = known.choose("rus").unwrap_err().to_string();
        assert!(error.contains("`rus`") && error.contains("fra, deu"), "{error}");
        let error = TargetLanguages::default().id("fra").unwrap_err().to_string();
        assert!(error.contains("into one language"), "{error}");
    }
}
