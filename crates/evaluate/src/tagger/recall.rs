//! The recall of the rules, measured on sets in which context-dependent words are annotated.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{Tag, TagLanguage, tag_document};

/// A sentence pair with its annotated word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedWord {
    /// The kind of example: a rule of ctxPro, or the pronoun.
    pub kind: String,
    /// The English sentence.
    pub source: String,
    /// Its translation.
    pub reference: String,
    /// The word of the translation that depends on context.
    pub word: String,
}

/// How many annotated words of a kind the rules find.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecallRow {
    /// The kind.
    pub kind: String,
    /// Annotated words.
    pub words: usize,
    /// Those with each tag, in the order of [`Tag::ALL`]; a word may have several.
    pub tagged: [usize; Tag::ALL.len()],
    /// Those with any tag.
    pub found: usize,
}

/// The recall of the rules on a set's annotated words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TagRecall {
    /// One row per kind of example.
    pub kinds: Vec<RecallRow>,
    /// All of them.
    pub all: RecallRow,
    /// Words with each tag that are not the annotated ones; not necessarily wrong, because a set
    /// annotates only one word per sentence.
    pub others: [usize; Tag::ALL.len()],
}

impl TagRecall {
    /// Tags each sentence separately and looks for its annotated word.
    pub fn new(examples: &[AnnotatedWord], language: TagLanguage) -> Self {
        let mut kinds: BTreeMap<&str, RecallRow> = BTreeMap::new();
        let all = RecallRow { kind: "all".to_owned(), ..RecallRow::default() };
        let mut recall = Self { all, ..Self::default() };
        for example in examples {
            let tagged = tag_document(&[&example.source], &[&example.reference], language);
            let expected = plain(&example.word);
            let is_expected = |word: &str| plain(word) == expected;
            let mut row = RecallRow { words: 1, ..RecallRow::default() };
            for word in &tagged[0] {
                let place = word.tag as usize;
                if is_expected(&word.word) {
                    row.tagged[place] = 1;
                    row.found = 1;
                } else {
                    recall.others[place] += 1;
                }
            }
            recall.all.add(&row);
            kinds.entry(&example.kind).or_default().add(&row);
        }
        recall.kinds = kinds
            .into_iter()
            .map(|(kind, row)| RecallRow { kind: kind.to_owned(), ..row })
            .collect();
        recall
    }
}

impl RecallRow {
    fn add(&mut self, other: &Self) {
        self.words += other.words;
        self.found += other.found;
        for (sum, count) in self.tagged.iter_mut().zip(other.tagged) {
            *sum += count;
        }
    }
}

/// A word in lower case, without the apostrophe of an elision.
fn plain(word: &str) -> String {
    word.trim_end_matches(['\'', '’']).to_lowercase()
}

impl fmt::Display for TagRecall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<Tag> = Tag::ALL
            .into_iter()
            .filter(|tag| self.all.tagged[*tag as usize] + self.others[*tag as usize] > 0)
            .collect();
        let width = self.kinds.iter().map(|row| row.kind.chars().count()).max().unwrap_or(0);
        let width = width.max("other words tagged".len());
        write!(f, "{:<width$} {:>7}", "found with the tag", "words")?;
        for tag in &shown {
            write!(f, " {:>16}", tag.to_string())?;
        }
        writeln!(f, " {:>8} {:>8}", "any tag", "missed")?;
        let one = [&self.all];
        // A single kind would repeat the total.
        let kinds = self.kinds.iter().filter(|_| self.kinds.len() > 1);
        for row in kinds.chain(one) {
            let share = |count: usize| format!("{:.1} %", 100.0 * count as f64 / row.words as f64);
            write!(f, "{:<width$} {:>7}", row.kind, row.words)?;
            for tag in &shown {
                write!(f, " {:>16}", share(row.tagged[*tag as usize]))?;
            }
            writeln!(f, " {:>8} {:>8}", share(row.found), share(row.words - row.found))?;
        }
        write!(f, "{:<width$} {:>7}", "other words tagged", "")?;
        for tag in &shown {
            write!(f, " {:>16}", self.others[*tag as usize])?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_elided_word_is_found_and_each_kind_has_its_row() {
        let example = |kind: &str, source: &str, reference: &str, word: &str| AnnotatedWord {
            kind: kind.into(),
            source: source.into(),
            reference: reference.into(),
            word: word.into(),
        };
        let examples = [
            example("b", "I love you.", "Je t'aime.", "t'"),
            example("b", "After you, your honour.", "Après vous, votre honneur.", "vous"),
            example("a", "I do.", "Je sais.", "ai"),
        ];
        let recall = TagRecall::new(&examples, TagLanguage::French);
        let rows: Vec<_> =
            recall.kinds.iter().map(|row| (row.kind.as_str(), row.words, row.found)).collect();
        assert_eq!(rows, [("a", 1, 0), ("b", 2, 2)]);
        assert_eq!(recall.all.found, 2);
        // `votre` and `sais` are tagged, but not annotated.
        assert_eq!(recall.others, [0, 1, 0, 0, 1]);
        let text = recall.to_string();
        assert!(text.contains("any tag   missed\n"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("all") && line.ends_with("33.3 %")));
    }
}
