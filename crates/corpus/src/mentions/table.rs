//! How a language shows gender: a table, built in or from a TOML file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The genders of a language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenderTable {
    /// Two or more.
    pub gender: Vec<Gender>,
}

/// One gender. All words are in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gender {
    /// Words before a noun that have this gender and no other when they begin a sentence.
    pub articles: Vec<String>,
    /// Its pronoun as a subject: for one thing, and for several if that differs between genders.
    pub pronouns: Vec<String>,
    /// An English noun whose translation has this gender, in the same numbers. With it in place of
    /// another noun the model shows whether a translation depends on the gender at all.
    pub nouns: Vec<String>,
}

const GERMAN: &str = include_str!("tables/de.toml");
const FRENCH: &str = include_str!("tables/fr.toml");
const PORTUGUESE: &str = include_str!("tables/pt.toml");

impl GenderTable {
    /// The table of a language.
    pub fn built_in(language: &str) -> Result<Self> {
        let text = match language {
            "de" => GERMAN,
            "fr" => FRENCH,
            "pt" => PORTUGUESE,
            _ => {
                return Err(Error::new(format!(
                    "there is no built-in gender table for `{language}`"
                ))
                .remedy("give one with --genders, or choose de, fr or pt"));
            }
        };
        Self::parse(text).map_err(|error| error.in_file(Path::new(language)))
    }

    /// Reads a table.
    pub fn read(path: &Path) -> Result<Self> {
        crate::table::read(path, Self::parse)
    }

    fn parse(text: &str) -> Result<Self> {
        let table: Self = crate::table::parse(text)?;
        let numbers = table.gender.first().map_or(0, |gender| gender.pronouns.len());
        let fits = |words: &Vec<String>| words.len() == numbers && (1..=2).contains(&numbers);
        if table.gender.len() < 2
            || table
                .gender
                .iter()
                .any(|g| !fits(&g.pronouns) || !fits(&g.nouns) || g.articles.is_empty())
        {
            return Err(Error::new(
                "a table needs two genders, each with articles, and with one pronoun and one noun \
                 for the singular, or two of both for singular and plural",
            ));
        }
        let lists = table.gender.iter().flat_map(|g| [&g.articles, &g.pronouns, &g.nouns]);
        if let Some(word) = lists.flatten().find(|word| **word != word.to_lowercase()) {
            return Err(Error::new(format!("`{word}` is not in lower case")));
        }
        Ok(table)
    }

    /// Whether the plural shows a gender, too.
    pub fn has_plural(&self) -> bool {
        self.gender.iter().all(|gender| gender.pronouns.len() == 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_tables_are_sound() {
        for (language, genders, plural) in [("de", 3, false), ("fr", 2, false), ("pt", 2, true)] {
            let table = GenderTable::built_in(language).unwrap();
            assert_eq!((table.gender.len(), table.has_plural()), (genders, plural), "{language}");
        }
        assert!(GenderTable::built_in("xx").unwrap_err().to_string().contains("--genders"));
    }

    #[test]
    fn errors_name_the_problem() {
        let message = |text: &str| GenderTable::parse(text).unwrap_err().to_string();
        let gender = "[[gender]]\narticles = [\"o\"]\npronouns = [\"ele\"]\nnouns = [\"book\"]\n";
        assert!(message(gender).contains("two genders"));
        assert!(
            message(&gender.repeat(2).replace("\"ele\"", "\"ele\", \"eles\""))
                .contains("two of both")
        );
        assert!(message(&gender.repeat(2).replace("ele", "Ele")).contains("`Ele`"));
        assert!(message("[[gender]]\narticle = []").contains("line 2"));
    }
}
