//! Tables of swaps, built in or from a TOML file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The swaps of a language pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwapTable {
    /// The swaps, each with a group of words.
    pub swap: Vec<Swap>,
}

/// Words of the target language that a word of the source may mean. All words are in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Swap {
    /// The words that are swapped. A translation must have exactly one of them, once.
    pub words: Vec<String>,
    /// The ambiguous words of the source. A source sentence must have exactly one of them, once, at
    /// the beginning of a clause, so that it is a subject.
    pub source: Vec<String>,
    /// Words that rule a source sentence out: others that the translated word could refer to.
    pub source_without: Vec<String>,
    /// Words that rule a sentence out if one of the three words after the source word is among them.
    pub source_not_before: Vec<String>,
    /// Words that rule a translation out: those that would also have to change.
    pub without: Vec<String>,
    /// Words that rule a sentence out if one of the three words after the swapped word is among
    /// them.
    pub not_before: Vec<String>,
}

const GERMAN: &str = include_str!("tables/de.toml");
const FRENCH: &str = include_str!("tables/fr.toml");
const PORTUGUESE: &str = include_str!("tables/pt.toml");

impl SwapTable {
    /// The table for translations from English into a language.
    pub fn built_in(target: &str) -> Result<Self> {
        let text = match target {
            "de" => GERMAN,
            "fr" => FRENCH,
            "pt" => PORTUGUESE,
            _ => {
                return Err(Error::new(format!("there is no built-in swap table for `{target}`"))
                    .remedy("give one with --swaps, or choose de, fr or pt"));
            }
        };
        Self::parse(text).map_err(|error| error.in_file(Path::new(target)))
    }

    /// Reads a table.
    pub fn read(path: &Path) -> Result<Self> {
        crate::table::read(path, Self::parse)
    }

    fn parse(text: &str) -> Result<Self> {
        let table: Self = crate::table::parse(text)?;
        if table.swap.is_empty() {
            return Err(Error::new("no swap").remedy("begin one with [[swap]]"));
        }
        for swap in &table.swap {
            let lists = [
                &swap.words,
                &swap.source,
                &swap.source_without,
                &swap.source_not_before,
                &swap.without,
                &swap.not_before,
            ];
            if swap.words.len() < 2 || swap.source.is_empty() {
                return Err(Error::new("a swap needs two `words` and one word in `source`"));
            }
            let is_word = |word: &String| {
                !word.is_empty()
                    && word.chars().all(char::is_alphabetic)
                    && *word == word.to_lowercase()
            };
            if let Some(word) = lists.into_iter().flatten().find(|word| !is_word(word)) {
                return Err(Error::new(format!("`{word}` is not a word in lower case"))
                    .remedy("write words without spaces, hyphens and apostrophes"));
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_tables_are_sound() {
        for language in ["de", "fr", "pt"] {
            assert!(!SwapTable::built_in(language).unwrap().swap.is_empty());
        }
        assert!(SwapTable::built_in("xx").unwrap_err().to_string().contains("--swaps"));
    }

    #[test]
    fn errors_name_the_problem() {
        let message = |text: &str| SwapTable::parse(text).unwrap_err().to_string();
        assert!(message("swap = []").contains("no swap"));
        assert!(message("[[swap]]\nwords = [\"a\"]\nsource = [\"it\"]").contains("two `words`"));
        let upper = "[[swap]]\nwords = [\"a\", \"B\"]\nsource = [\"it\"]";
        assert!(message(upper).contains("`B` is not a word in lower case"));
        assert!(
            message("[[swap]]\nword = []").contains("line 2"),
            "{}",
            message("[[swap]]\nword = []")
        );
    }
}
