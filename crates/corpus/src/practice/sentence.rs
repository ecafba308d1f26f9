//! An abstract sentence: a template and the content of its slots.

use super::adverbials::{Adverbial, Country, Time};
use super::lexicon::{Adjective, Class, Gender, Noun, Person};
use super::templates::Template;
use super::{Case, Number, PracticeLanguage};

/// What part of a document is about: the antecedent of its pronouns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Topic {
    pub noun: &'static Noun,
    pub class: Class,
    pub number: Number,
    /// The adjective of its introduction.
    pub adjective: Option<&'static Adjective>,
}

/// The two people of a story, a woman and a man, so that *he* and *she* are never ambiguous.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cast {
    pub protagonist: &'static Person,
    pub friend: &'static Person,
}

/// How a sentence mentions the topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    /// Not at all.
    None,
    /// By its noun.
    Noun,
    /// By a pronoun, with its case in the target language.
    Pronoun(Case),
    /// By its noun and then by a pronoun.
    Both(Case),
}

impl Mention {
    /// The case of the pronoun, if there is one.
    pub fn pronoun(self) -> Option<Case> {
        match self {
            Self::Pronoun(case) | Self::Both(case) => Some(case),
            Self::None | Self::Noun => None,
        }
    }
}

/// Everything that determines the words of a sentence, in each language.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    pub template: &'static Template,
    pub mention: Mention,
    pub cast: Cast,
    /// Whether the protagonist is *he* or *she* where the template allows it.
    pub protagonist_as_pronoun: bool,
    pub time: Option<&'static Time>,
    pub topic: Option<Topic>,
    pub adjective: Option<&'static Adjective>,
    pub country: Option<&'static Country>,
    /// The nouns beside the topic, by the name of their slot.
    pub asides: Vec<(&'static str, Adverbial)>,
}

impl Sentence {
    pub fn aside(&self, slot: &str) -> Option<Adverbial> {
        self.asides.iter().find(|(name, _)| *name == slot).map(|(_, adverbial)| *adverbial)
    }
}

impl Noun {
    /// The gender in the target language.
    pub fn gender(&self, language: PracticeLanguage) -> Gender {
        match language {
            PracticeLanguage::German => self.german.gender,
            PracticeLanguage::French => self.french.gender,
        }
    }
}
