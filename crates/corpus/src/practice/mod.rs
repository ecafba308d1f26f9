//! The practice corpus: short documents written by a small grammar, in which only the sentences
//! before tell how a pronoun is translated.
//!
//! It gives the software something real to do on a machine without data: a tiny model learns it in
//! minutes, and a contrastive set shows whether it uses the context. [`generate`] writes
//! English-German or English-French documents from a seed; nothing is read from files.
//!
//! # The rule
//! A document has one or more **topics**, one after another. A topic enters with an indefinite
//! article (*a lamp*, *some lamps*) and may be named again with a demonstrative (*this lamp*). The
//! words *a*, *an*, *some*, *this* and *these* are used for nothing else. **Each *it*, *they* and
//! *them* stands for the topic that was named last**, and nothing else is ever called so. Its
//! translation has the gender of the topic's translation: *er*, *sie*, *es*, or *ihn* as a direct
//! object; *il*, *elle*, *ils*, *elles*, or *le*, *la*, *l'*, *les*, with French adjectives and
//! participles that agree.
//!
//! Other nouns, the **distractors**, always have the definite article and stand in adverbials: where
//! (*near the bridge*), with what (*without the umbrella*), when (*after the concert*). Most nouns
//! occur in both roles, so it is the role that tells, not the noun.
//!
//! # Why a sentence alone cannot tell
//! A topic's class (thing, animal, place, work, matter) is drawn first, then its gender, each gender
//! equally likely, then a noun. Everything else in a sentence depends on the class alone. The gender
//! of each distractor differs from that of the distractor before it and does not depend on the
//! topic: of two in a row at least one has another gender than the topic, and together they say
//! nothing about it. Only at distance 0, where the antecedent stands in the same sentence, does that
//! sentence suffice.
//!
//! # Distance
//! The distance of a pronoun is the number of sentences since its antecedent was last named by its
//! noun; pronouns in between do not count. It is at most [`LONGEST_DISTANCE`].
//!
//! # The contrastive set
//! Items come in groups of documents that are equal but for the topic's noun, one for each gender.
//! The last sentence, which holds the pronoun, is therefore the same in the whole group, and a model
//! that sees only this sentence is right exactly once per group, whatever it prefers. Between the
//! antecedent and the last sentence nothing refers to the topic.

mod adverbials;
mod annotated;
mod contrastive;
mod english;
mod french;
mod german;
mod lexicon;
mod plan;
mod render;
mod sentence;
mod show;
mod split;
mod story;
mod templates;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use annotated::{AnnotatedDocument, PronounLink};
pub use lexicon::Gender;

use crate::{ContrastiveSet, Document, Error, Result};

/// The most sentences between a pronoun and the noun that it stands for.
pub const LONGEST_DISTANCE: usize = 5;

/// The language into which the English of the practice corpus is translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PracticeLanguage {
    /// English to German: three genders.
    #[default]
    #[serde(rename = "en-de")]
    German,
    /// English to French: two genders, also in the plural.
    #[serde(rename = "en-fr")]
    French,
}

impl PracticeLanguage {
    /// The ending of target files.
    pub fn code(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::French => "fr",
        }
    }

    /// The genders of its nouns.
    pub fn genders(self) -> &'static [Gender] {
        match self {
            Self::German => &[Gender::Masculine, Gender::Feminine, Gender::Neuter],
            Self::French => &[Gender::Masculine, Gender::Feminine],
        }
    }

    /// The pronoun for a noun, before any elision.
    pub fn pronoun(self, gender: Gender, number: Number, case: Case) -> &'static str {
        match self {
            Self::German => german::pronoun(number, gender, case),
            Self::French => french::pronoun(number, gender, case),
        }
    }
}

impl fmt::Display for PracticeLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "en-{}", self.code())
    }
}

impl FromStr for PracticeLanguage {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "en-de" => Ok(Self::German),
            "en-fr" => Ok(Self::French),
            _ => Err(Error::new(format!("no practice corpus for `{name}`"))
                .remedy("choose en-de or en-fr")),
        }
    }
}

/// The role of a pronoun in the translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Case {
    /// The subject: *er*, *sie*, *es*; *il*, *elle*, *ils*, *elles*.
    Subject,
    /// The direct object: *ihn*, *sie*, *es*; *le*, *la*, *l'*, *les*.
    Object,
}

/// Grammatical number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Number {
    /// One: *it*.
    Singular,
    /// More than one: *they*, *them*.
    Plural,
}

impl Number {
    fn choose<'a>(self, singular: &'a str, plural: &'a str) -> &'a str {
        match self {
            Self::Singular => singular,
            Self::Plural => plural,
        }
    }
}

/// What to generate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PracticeConfig {
    /// The pair of languages.
    pub language: PracticeLanguage,
    /// The same seed gives the same corpus. Validation, test and contrastive sets do not depend on
    /// the number of training documents.
    pub seed: u64,
    /// Documents for training.
    pub train_documents: usize,
    /// Documents for validation.
    pub valid_documents: usize,
    /// Documents for testing.
    pub test_documents: usize,
    /// Contrastive groups for each kind of pronoun and each distance. A group has one item for each
    /// gender; there are two kinds in German (subject, object) and three in French (subject in the
    /// singular and in the plural, object).
    pub contrastive_groups: usize,
    /// The fewest sentences of a document, at least 3.
    pub shortest_document: usize,
    /// The most sentences of a document, at most 12.
    pub longest_document: usize,
    /// How many topics in a hundred are plural. When not given: 15 in German, which has one pronoun
    /// for all plurals, and 30 in French, where they matter more.
    pub plural_percent: Option<usize>,
}

impl Default for PracticeConfig {
    fn default() -> Self {
        Self {
            language: PracticeLanguage::German,
            seed: 1,
            train_documents: 6_000,
            valid_documents: 300,
            test_documents: 300,
            contrastive_groups: 20,
            shortest_document: 4,
            longest_document: 10,
            plural_percent: None,
        }
    }
}

impl PracticeConfig {
    /// The default corpus of a pair of languages.
    pub fn new(language: PracticeLanguage) -> Self {
        Self { language, ..Self::default() }
    }

    fn plural_percent(&self) -> usize {
        self.plural_percent.unwrap_or(match self.language {
            PracticeLanguage::German => 15,
            PracticeLanguage::French => 30,
        })
    }

    fn check(&self) -> Result<()> {
        let (shortest, longest) = (self.shortest_document, self.longest_document);
        if shortest < 3 || longest > 12 || shortest > longest {
            return Err(Error::new(format!(
                "practice documents of {shortest} to {longest} sentences are not possible"
            ))
            .remedy("choose a shortest and a longest length between 3 and 12"));
        }
        let percent = self.plural_percent();
        if percent > 100 {
            return Err(Error::new(format!("{percent} % of topics cannot be plural"))
                .remedy("choose a number between 0 and 100"));
        }
        Ok(())
    }
}

/// The practice corpus: vocabulary is shared between the splits; no document, and no two sentences
/// in a row, occur in more than one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Practice {
    /// Documents for training.
    pub train: Vec<Document>,
    /// Documents for validation.
    pub valid: Vec<Document>,
    /// Documents for testing.
    pub test: Vec<Document>,
    /// Pronouns to choose, balanced over genders, cases and distances.
    pub contrastive: ContrastiveSet,
}

/// The practice corpus with what is known about each pronoun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotatedPractice {
    /// Documents for training.
    pub train: Vec<AnnotatedDocument>,
    /// Documents for validation.
    pub valid: Vec<AnnotatedDocument>,
    /// Documents for testing.
    pub test: Vec<AnnotatedDocument>,
    /// Pronouns to choose, balanced over genders, cases and distances.
    pub contrastive: ContrastiveSet,
}

impl AnnotatedPractice {
    /// The corpus without the annotation.
    pub fn into_practice(self) -> Practice {
        let plain = |documents: Vec<AnnotatedDocument>| {
            documents.into_iter().map(|annotated| annotated.document).collect()
        };
        Practice {
            train: plain(self.train),
            valid: plain(self.valid),
            test: plain(self.test),
            contrastive: self.contrastive,
        }
    }
}

/// Writes the practice corpus.
pub fn generate(config: &PracticeConfig) -> Result<Practice> {
    generate_annotated(config).map(AnnotatedPractice::into_practice)
}

/// Writes the practice corpus and says for each pronoun what it stands for.
pub fn generate_annotated(config: &PracticeConfig) -> Result<AnnotatedPractice> {
    config.check()?;
    // Held-out sets first: what they hold is kept out of the training documents, and not the
    // other way round, so that they stay the same when more training documents are asked for.
    let mut owners = split::SplitOwners::default();
    let contrastive = contrastive::generate(config, &mut owners)?;
    let test = split::generate(config, split::Split::Test, config.test_documents, &mut owners)?;
    let valid = split::generate(config, split::Split::Valid, config.valid_documents, &mut owners)?;
    let train = split::generate(config, split::Split::Train, config.train_documents, &mut owners)?;
    Ok(AnnotatedPractice { train, valid, test, contrastive })
}
