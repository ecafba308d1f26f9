//! The translation of a sentence with a pronoun, with the gender of the sentence with the noun.

use std::collections::BTreeMap;

use abridge_base::random::Random;

use super::table::GenderTable;
use crate::words::{Word, capitalised, words};

/// The most words of a translated noun with its article.
const LONGEST_NOUN: usize = 5;

/// A translation that has the right gender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrected {
    /// The translation.
    pub text: String,
    /// Which gender of the table it is.
    pub gender: usize,
    /// Whether it begins with a pronoun, so that it shows the gender for certain. Otherwise
    /// [`GenderTable::differs`] tells.
    pub has_pronoun: bool,
    /// The word after the pronoun or the noun, where both translations become the same.
    verb: String,
}

impl GenderTable {
    /// Corrects the translation of a sentence with a pronoun by that of the same sentence with its
    /// noun: *Foi construído em 1900* by *A casa foi construída em 1900*. `None` if the two differ in
    /// more than the subject and endings, or if the gender cannot be told.
    pub fn corrected(&self, named: &str, pronominal: &str, plural: bool) -> Option<Corrected> {
        let (whole, short) = (words(named), words(pronominal));
        let article = &whole.first().filter(|word| word.place.start == 0)?.lower;
        let gender = self.gender.iter().position(|gender| gender.articles.contains(article))?;
        let first = short.first().filter(|word| word.place.start == 0)?;
        let has_pronoun = self.gender.iter().any(|gender| gender.pronouns.contains(&first.lower));
        let short = &short[usize::from(has_pronoun)..];
        let verb = short.first()?.lower.clone();
        let tail = after_noun(&whole, &verb)?;
        let is_same = tail.len() == short.len()
            && tail.iter().zip(short).all(|(one, other)| same_but_ending(&one.lower, &other.lower));
        if !is_same {
            return None;
        }
        let rest = &named[tail[0].place.start..];
        let text = if has_pronoun {
            let pronoun = self.gender[gender].pronouns.get(usize::from(plural))?;
            format!("{} {rest}", capitalised(pronoun))
        } else {
            capitalised(rest)
        };
        Some(Corrected { text, gender, has_pronoun, verb })
    }

    /// An English noun of another gender than `corrected`'s. If the translation of the sentence with
    /// that noun [differs](Self::differs), it shows the gender.
    pub fn other_noun(&self, corrected: &Corrected, plural: bool) -> Option<&str> {
        let other = &self.gender[(corrected.gender + 1) % self.gender.len()];
        other.nouns.get(usize::from(plural)).map(String::as_str)
    }

    /// Whether the translation with a noun of another gender differs from `corrected` in endings.
    pub fn differs(&self, corrected: &Corrected, other: &str) -> bool {
        let (whole, short) = (words(other), words(&corrected.text));
        let short = &short[usize::from(corrected.has_pronoun)..];
        let Some(tail) = after_noun(&whole, &corrected.verb) else { return false };
        let mut pairs = tail.iter().zip(short).map(|(one, other)| (&one.lower, &other.lower));
        tail.len() == short.len()
            && pairs.clone().all(|(one, other)| same_but_ending(one, other))
            && pairs.any(|(one, other)| one != other)
    }
}

/// The words after the noun with which a translation begins: from the given verb on.
fn after_noun<'a>(words: &'a [Word], verb: &str) -> Option<&'a [Word]> {
    let place = (2..words.len().min(LONGEST_NOUN + 1)).find(|&place| words[place].lower == verb)?;
    Some(&words[place..])
}

/// Whether two words are the same up to their last two letters: *construído* and *construída*,
/// *grand* and *grande*.
fn same_but_ending(one: &str, other: &str) -> bool {
    let shared = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let longest = one.chars().count().max(other.chars().count());
    one == other || (shared >= 2 && longest - shared <= 2)
}

/// As many items of each gender, for each number in which all genders occur. `kind` tells whether an
/// item is a plural, and its gender. Also returns how many there were: singular and plural, by gender.
pub fn balanced<T>(
    items: Vec<T>,
    genders: usize,
    seed: u64,
    kind: impl Fn(&T) -> (bool, usize),
) -> (Vec<T>, [Vec<usize>; 2]) {
    let mut by_kind: BTreeMap<(bool, usize), Vec<T>> = BTreeMap::new();
    for item in items {
        by_kind.entry(kind(&item)).or_default().push(item);
    }
    let found = [false, true].map(|plural| -> Vec<usize> {
        (0..genders).map(|gender| by_kind.get(&(plural, gender)).map_or(0, Vec::len)).collect()
    });
    let fewest = found.each_ref().map(|counts| counts.iter().copied().min().unwrap_or(0));
    let mut random = Random::keyed(&[seed, 2]);
    let mut kept = Vec::new();
    for ((plural, _), mut items) in by_kind {
        random.shuffle(&mut items);
        items.truncate(fewest[usize::from(plural)]);
        kept.append(&mut items);
    }
    random.shuffle(&mut kept);
    (kept, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrected(language: &str, named: &str, pronominal: &str) -> Option<(String, usize, bool)> {
        let table = GenderTable::built_in(language).unwrap();
        table.corrected(named, pronominal, false).map(|c| (c.text, c.gender, c.has_pronoun))
    }

    #[test]
    fn a_dropped_subject_shows_its_gender_in_endings() {
        let expected = Some(("Foi construída em 1900.".to_owned(), 1, false));
        assert_eq!(
            corrected("pt", "A casa velha foi construída em 1900.", "Foi construído em 1900."),
            expected
        );
        let expected = Some(("Ela é muito bonita.".to_owned(), 1, true));
        assert_eq!(corrected("pt", "A lâmpada é muito bonita.", "Ele é muito bonito."), expected);
    }

    #[test]
    fn pronouns_are_replaced() {
        let expected = Some(("Er ist alt.".to_owned(), 0, true));
        assert_eq!(corrected("de", "Der Tisch ist alt.", "Es ist alt."), expected);
        let expected = Some(("Elle est grande.".to_owned(), 1, true));
        assert_eq!(corrected("fr", "La maison est grande.", "Il est grand."), expected);
    }

    #[test]
    fn other_translations_are_not_guessed_at() {
        for (language, named, pronominal) in [
            ("pt", "Construíram a casa em 1900.", "Foi construído em 1900."),
            ("pt", "A casa foi construída em 1900.", "Foi feito em 1900."),
            ("pt", "A casa foi construída.", "Foi construído em 1900."),
            ("pt", "A casa foi construída.", "Isso foi construído."),
            ("fr", "L'église est grande.", "Il est grand."),
            ("de", "Das Haus ist alt.", "Das ist alt."),
            ("de", "", "Es ist alt."),
            ("de", "Das Haus ist alt.", ""),
        ] {
            assert_eq!(corrected(language, named, pronominal), None, "{named} / {pronominal}");
        }
    }

    #[test]
    fn a_noun_of_another_gender_tells_whether_gender_shows() {
        let table = GenderTable::built_in("pt").unwrap();
        let shown = table.corrected("A casa é antiga.", "É antiga.", false).unwrap();
        assert_eq!(table.other_noun(&shown, false), Some("book"));
        assert!(table.differs(&shown, "O livro é antigo."));
        let hidden = table.corrected("A casa é grande.", "É grande.", false).unwrap();
        assert!(!table.differs(&hidden, "O livro é grande."));
        assert!(!table.differs(&hidden, "Grande é o livro."));
    }

    #[test]
    fn genders_are_equally_frequent() {
        let items = vec![("a", false, 0), ("b", false, 0), ("c", false, 1), ("d", true, 0)];
        let (kept, found) = balanced(items, 2, 1, |&(_, plural, gender)| (plural, gender));
        assert_eq!(found, [vec![2, 1], vec![1, 0]]);
        assert_eq!(kept.len(), 2, "one of each in the singular, none in the plural");
        assert!(kept.contains(&("c", false, 1)));
    }
}
