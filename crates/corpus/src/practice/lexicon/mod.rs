//! The words: nouns with the forms that the grammar needs, adjectives and people.
//!
//! German genders are balanced exactly within each class of nouns, so neither a class nor the verbs
//! used with it reveal a gender.

mod adjectives;
mod animals;
mod matters;
mod people;
mod places;
mod things;
mod works;

pub(super) use adjectives::{Adjective, attributive, predicative};
pub(super) use people::{Person, people};

/// The grammatical gender of a noun in the target language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gender {
    /// der Tisch, le miroir
    Masculine,
    /// die Lampe, la lampe
    Feminine,
    /// das Buch; French has none
    Neuter,
}

/// The rough meaning of a noun, which determines the verbs and adjectives that go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    /// Something to buy and own.
    Thing,
    Animal,
    /// Buildings and spots outdoors.
    Place,
    /// Something written, painted or performed.
    Work,
    /// Plans, problems, events: topics of conversation.
    Matter,
}

impl Class {
    /// All classes, in the order of the lexicon.
    pub const ALL: [Self; 5] = [Self::Thing, Self::Animal, Self::Place, Self::Work, Self::Matter];

    /// The nouns of the class.
    pub fn nouns(self) -> &'static [Noun] {
        match self {
            Self::Thing => things::NOUNS,
            Self::Animal => animals::NOUNS,
            Self::Place => places::NOUNS,
            Self::Work => works::NOUNS,
            Self::Matter => matters::NOUNS,
        }
    }

    /// Whether topics of this class also occur in the plural.
    pub fn has_plural_topics(self) -> bool {
        matches!(self, Self::Thing | Self::Animal)
    }
}

/// The role that a noun may have beside the topic, always with a definite article.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aside {
    /// Only ever a topic.
    Never,
    /// Where something happens: `near the bridge`.
    Landmark,
    /// The same, but not a place to go to or come from: `behind the statue`.
    Backdrop,
    /// Something that a person brings along: `without the umbrella`.
    Companion,
    /// When something happens: `before the concert`.
    Occasion,
    /// The same for something unexpected: `after the accident`, never `before`.
    Incident,
}

/// A noun in three languages.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Noun {
    pub singular: &'static str,
    pub plural: &'static str,
    pub german: GermanNoun,
    pub french: FrenchNoun,
    pub aside: Aside,
}

/// The German forms: article-less nominative, oblique (accusative and dative) and plural.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GermanNoun {
    pub gender: Gender,
    pub singular: &'static str,
    /// Differs from the nominative in nouns like *der Löwe, den Löwen*.
    pub oblique: &'static str,
    pub plural: &'static str,
}

/// The French forms.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrenchNoun {
    pub gender: Gender,
    pub singular: &'static str,
    pub plural: &'static str,
}

// The tables read like a dictionary: noun("key", "keys", der("Schlüssel", …), une("clé", …)).

const fn noun(
    singular: &'static str,
    plural: &'static str,
    german: GermanNoun,
    french: FrenchNoun,
) -> Noun {
    Noun { singular, plural, german, french, aside: Aside::Never }
}

impl Noun {
    const fn aside(self, aside: Aside) -> Self {
        let Self { singular, plural, german, french, aside: _ } = self;
        Self { singular, plural, german, french, aside }
    }

    const fn landmark(self) -> Self {
        self.aside(Aside::Landmark)
    }

    const fn backdrop(self) -> Self {
        self.aside(Aside::Backdrop)
    }

    const fn companion(self) -> Self {
        self.aside(Aside::Companion)
    }

    const fn incident(self) -> Self {
        self.aside(Aside::Incident)
    }

    const fn occasion(self) -> Self {
        self.aside(Aside::Occasion)
    }
}

const fn german(gender: Gender, singular: &'static str, plural: &'static str) -> GermanNoun {
    GermanNoun { gender, singular, oblique: singular, plural }
}

const fn der(singular: &'static str, plural: &'static str) -> GermanNoun {
    german(Gender::Masculine, singular, plural)
}

/// A masculine noun of the weak declension, whose oblique form equals its plural.
const fn der_weak(singular: &'static str, plural: &'static str) -> GermanNoun {
    GermanNoun { gender: Gender::Masculine, singular, oblique: plural, plural }
}

const fn die(singular: &'static str, plural: &'static str) -> GermanNoun {
    german(Gender::Feminine, singular, plural)
}

const fn das(singular: &'static str, plural: &'static str) -> GermanNoun {
    german(Gender::Neuter, singular, plural)
}

const fn un(singular: &'static str, plural: &'static str) -> FrenchNoun {
    FrenchNoun { gender: Gender::Masculine, singular, plural }
}

const fn une(singular: &'static str, plural: &'static str) -> FrenchNoun {
    FrenchNoun { gender: Gender::Feminine, singular, plural }
}
