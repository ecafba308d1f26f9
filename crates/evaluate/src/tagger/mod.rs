//! A tagger of words that depend on context, after MuDA (Fernandes et al., 2023).
//!
//! MuDA uses a parser, a coreference resolver and a word aligner; this tagger uses only rules, so
//! that it runs anywhere. It tags words of a translation, given its source and the previous
//! sentences: pronouns, formality, lexical cohesion, verb form and ellipsis, in German, French and
//! Portuguese. Its recall is measured on sets with annotated words ([`TagRecall`],
//! `docs/controls.md`).

mod cohesion;
mod ellipsis;
mod formality;
mod gains;
mod pronouns;
mod recall;
mod report;
mod significance;
mod verb_form;
mod words;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use abridge_corpus::{Error, Result};
use serde::Serialize;

pub use gains::{TagGain, tag_gains};
pub use recall::{AnnotatedWord, RecallRow, TagRecall};
pub use report::{TagCounts, TagReport, tag_report};
pub use significance::tag_test;
use words::{Word, english, words};

/// Why a word depends on context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tag {
    /// A pronoun whose gender depends on its antecedent.
    Pronoun,
    /// A word that shows how people address each other.
    Formality,
    /// A word that the document has used before for the same thing.
    Cohesion,
    /// A form of a verb that English does not distinguish.
    VerbForm,
    /// A word that the source leaves out.
    Ellipsis,
}

impl Tag {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pronoun, Self::Formality, Self::Cohesion, Self::VerbForm, Self::Ellipsis];
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pronoun => "pronoun",
            Self::Formality => "formality",
            Self::Cohesion => "lexical cohesion",
            Self::VerbForm => "verb form",
            Self::Ellipsis => "ellipsis",
        })
    }
}

/// A target language that the rules are written for. The source is English.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagLanguage {
    /// German.
    German,
    /// French.
    French,
    /// Portuguese.
    Portuguese,
}

impl FromStr for TagLanguage {
    type Err = Error;

    fn from_str(code: &str) -> Result<Self> {
        match code {
            "de" => Ok(Self::German),
            "fr" => Ok(Self::French),
            "pt" => Ok(Self::Portuguese),
            _ => Err(Error::new(format!("no tagging rules for `{code}`"))
                .remedy("choose one of de, fr, pt")),
        }
    }
}

/// A tagged word of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedWord {
    /// Why it depends on context.
    pub tag: Tag,
    /// The word in lower case.
    pub word: String,
    /// Its bytes in the sentence.
    pub place: Range<usize>,
}

/// A tokenized sentence pair.
struct Pair {
    source: Vec<Word>,
    target: Vec<Word>,
}

/// Tags the translations of a document's sentences: a list of words per sentence, in order.
pub fn tag_document<S: AsRef<str>>(
    sources: &[S],
    targets: &[S],
    language: TagLanguage,
) -> Vec<Vec<TaggedWord>> {
    let pairs: Vec<Pair> = sources
        .iter()
        .zip(targets)
        .map(|(source, target)| Pair {
            source: english(source.as_ref()),
            target: words(target.as_ref()),
        })
        .collect();
    let mut cohesion = cohesion::Cohesion::default();
    pairs
        .iter()
        .map(|pair| {
            let by_rule = [
                (Tag::Pronoun, pronouns::find(pair, language)),
                (Tag::Formality, formality::find(pair, language)),
                (Tag::Cohesion, cohesion.find(pair, language)),
                (Tag::VerbForm, verb_form::find(pair, language)),
                (Tag::Ellipsis, ellipsis::find(pair, language)),
            ];
            let mut tagged: Vec<TaggedWord> = by_rule
                .into_iter()
                .flat_map(|(tag, found)| found.into_iter().map(move |place| (tag, place)))
                .map(|(tag, place)| TaggedWord {
                    tag,
                    word: pair.target[place].lower.clone(),
                    place: pair.target[place].place.clone(),
                })
                .collect();
            tagged.sort_by_key(|word| (word.place.start, word.tag));
            tagged
        })
        .collect()
}

impl Pair {
    fn source_has(&self, words: &[&str]) -> bool {
        self.source.iter().any(|word| words.contains(&word.lower.as_str()))
    }

    /// The indices of target words for which a rule holds.
    fn places(&self, rule: impl Fn(&Word) -> bool) -> Vec<usize> {
        (0..self.target.len()).filter(|&place| rule(&self.target[place])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(language: TagLanguage, source: &str, target: &str) -> Vec<(Tag, String)> {
        let tagged = tag_document(&[source], &[target], language);
        tagged[0].iter().map(|word| (word.tag, word.word.clone())).collect()
    }

    fn has(language: TagLanguage, source: &str, target: &str, tag: Tag, word: &str) -> bool {
        tags(language, source, target).contains(&(tag, word.to_owned()))
    }

    #[test]
    fn pronouns_need_an_ambiguous_source() {
        use TagLanguage::{French, German, Portuguese};
        assert!(has(German, "I saw it.", "Ich sah ihn.", Tag::Pronoun, "ihn"));
        assert!(!has(German, "I saw him.", "Ich sah ihn.", Tag::Pronoun, "ihn"));
        assert!(!has(German, "Do you want it?", "Wollen Sie das?", Tag::Pronoun, "sie"));
        // If the source also has *she*, *sie* may refer to it.
        assert!(!has(German, "She saw it.", "Sie sah es.", Tag::Pronoun, "sie"));
        assert!(has(German, "She saw it.", "Sie sah ihn.", Tag::Pronoun, "ihn"));
        assert!(!has(French, "He saw it.", "Il la vit.", Tag::Pronoun, "il"));
        assert!(has(French, "They sleep.", "Elles dorment.", Tag::Pronoun, "elles"));
        assert!(has(Portuguese, "I saw it.", "Eu vi-a.", Tag::Pronoun, "a"));
        assert!(!has(Portuguese, "It hit a car.", "Bateu a porta.", Tag::Pronoun, "a"));
    }

    #[test]
    fn formality_needs_you() {
        use TagLanguage::{French, German, Portuguese};
        assert!(has(German, "Do you come?", "Kommen Sie?", Tag::Formality, "sie"));
        assert!(has(German, "Do you come?", "Kommst du?", Tag::Formality, "du"));
        assert!(!has(German, "They come.", "Sie kommen.", Tag::Formality, "sie"));
        assert!(has(French, "I love you.", "Je t'aime.", Tag::Formality, "t'"));
        assert!(has(Portuguese, "Did you see?", "Você viu?", Tag::Formality, "você"));
    }

    #[test]
    fn what_english_leaves_out_is_ellipsis() {
        use TagLanguage::{French, German};
        assert!(has(German, "I do.", "Ich glaube es.", Tag::Ellipsis, "glaube"));
        assert!(has(French, "You will.", "Tu verras.", Tag::Ellipsis, "verras"));
        assert!(!has(German, "I do believe it.", "Ich glaube es.", Tag::Ellipsis, "glaube"));
        // A form of *be* without a complement is not ellipsis.
        assert!(!has(
            German,
            "This is really, really useful.",
            "Das ist nützlich.",
            Tag::Ellipsis,
            "nützlich"
        ));
    }

    #[test]
    fn repeated_words_are_cohesion() {
        let sources = ["The lamp is old.", "He sold a lamp.", "That lamp was mine."];
        let targets = ["Die Lampe ist alt.", "Er verkaufte eine Lampe.", "Die Lampe war meine."];
        let tagged = tag_document(&sources, &targets, TagLanguage::German);
        assert!(tagged[0].is_empty() && tagged[1].is_empty());
        assert_eq!(tagged[2].len(), 1);
        assert_eq!((tagged[2][0].tag, tagged[2][0].word.as_str()), (Tag::Cohesion, "lampe"));
        // Another word for it is not a repetition.
        let others = ["Die Lampe ist alt.", "Er verkaufte eine Leuchte.", "Die Lampe war meine."];
        assert!(tag_document(&sources, &others, TagLanguage::German)[2].is_empty());
    }

    #[test]
    fn imperfects_are_verb_forms() {
        assert!(has(TagLanguage::French, "He slept.", "Il dormait.", Tag::VerbForm, "dormait"));
        assert!(!has(TagLanguage::French, "Never.", "Jamais.", Tag::VerbForm, "jamais"));
        assert!(has(TagLanguage::Portuguese, "He sang.", "Ele cantava.", Tag::VerbForm, "cantava"));
    }
}
