//! Nouns beside the topic: landmarks, companions and occasions, times and countries.

use super::lexicon::{Aside, Noun};

/// A preposition in three languages, with the German case that it governs.
#[derive(Debug)]
pub(super) struct Preposition {
    pub english: &'static str,
    pub german: &'static str,
    pub governs: Governs,
    /// What follows the German noun: `am Bahnhof vorbei`.
    pub german_after: &'static str,
    pub french: &'static str,
}

/// The case after a German preposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Governs {
    Accusative,
    Dative,
}

const fn dative(english: &'static str, german: &'static str, french: &'static str) -> Preposition {
    Preposition { english, german, governs: Governs::Dative, german_after: "", french }
}

static NEAR: [Preposition; 2] =
    [dative("near", "bei", "près de"), dative("behind", "hinter", "derrière")];

static AT: [Preposition; 4] = [
    dative("near", "bei", "près de"),
    dative("behind", "hinter", "derrière"),
    dative("next to", "neben", "à côté de"),
    dative("in front of", "vor", "devant"),
];

static TO: [Preposition; 1] = [dative("to", "zu", "à")];

static UP_TO: [Preposition; 1] = [dative("to", "bis zu", "jusque à")];

static FROM: [Preposition; 1] = [dative("from", "von", "de")];

static PAST: [Preposition; 1] = [Preposition {
    english: "past",
    german: "an",
    governs: Governs::Dative,
    german_after: " vorbei",
    french: "devant",
}];

static WITH: [Preposition; 2] = [
    dative("with", "mit", "avec"),
    Preposition {
        english: "without",
        german: "ohne",
        governs: Governs::Accusative,
        german_after: "",
        french: "sans",
    },
];

static WHEN: [Preposition; 2] =
    [dative("after", "nach", "après"), dative("before", "vor", "avant")];

static AFTER: [Preposition; 1] = [dative("after", "nach", "après")];

/// A slot of a template for a noun other than the topic.
#[derive(Debug)]
pub(super) struct AsideSlot {
    pub name: &'static str,
    roles: &'static [Aside],
    prepositions: &'static [Preposition],
}

impl AsideSlot {
    /// Whether the noun may fill the slot.
    pub fn takes(&self, noun: &Noun) -> bool {
        self.roles.contains(&noun.aside)
    }

    /// The prepositions that go with the noun.
    pub fn prepositions(&self, noun: &Noun) -> &'static [Preposition] {
        if noun.aside == Aside::Incident { &AFTER } else { self.prepositions }
    }
}

const fn slot(
    name: &'static str,
    roles: &'static [Aside],
    prepositions: &'static [Preposition],
) -> AsideSlot {
    AsideSlot { name, roles, prepositions }
}

/// All such slots.
pub(super) static ASIDE_SLOTS: [AsideSlot; 8] = [
    slot("at", &[Aside::Landmark, Aside::Backdrop], &AT),
    slot("near", &[Aside::Landmark, Aside::Backdrop], &NEAR),
    slot("to", &[Aside::Landmark], &TO),
    slot("up_to", &[Aside::Landmark, Aside::Backdrop], &UP_TO),
    slot("from", &[Aside::Landmark], &FROM),
    slot("past", &[Aside::Landmark, Aside::Backdrop], &PAST),
    slot("with", &[Aside::Companion], &WITH),
    slot("when", &[Aside::Occasion, Aside::Incident], &WHEN),
];

/// A preposition and a noun with its definite article: never an antecedent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adverbial {
    pub preposition: &'static Preposition,
    pub noun: &'static Noun,
}

/// A time that opens a sentence.
#[derive(Debug)]
pub(super) struct Time {
    pub english: &'static str,
    pub german: &'static str,
    pub french: &'static str,
}

const fn time(english: &'static str, german: &'static str, french: &'static str) -> Time {
    Time { english, german, french }
}

/// When a story begins.
pub(super) static BEGINNINGS: [Time; 9] = [
    time("on Monday,", "am Montag", "lundi,"),
    time("on Tuesday,", "am Dienstag", "mardi,"),
    time("on Wednesday,", "am Mittwoch", "mercredi,"),
    time("on Thursday,", "am Donnerstag", "jeudi,"),
    time("on Friday,", "am Freitag", "vendredi,"),
    time("on Saturday,", "am Samstag", "samedi,"),
    time("on Sunday,", "am Sonntag", "dimanche,"),
    time("yesterday,", "gestern", "hier,"),
    time("last week,", "letzte Woche", "la semaine dernière,"),
];

/// How it continues. Each may follow any other.
pub(super) static CONTINUATIONS: [Time; 6] = [
    time("later,", "später", "plus tard,"),
    time("then", "dann", "puis"),
    time("shortly afterwards,", "kurz darauf", "peu après,"),
    time("the next day,", "am nächsten Tag", "le lendemain,"),
    time("in the evening,", "am Abend", "le soir,"),
    time("finally,", "schließlich", "finalement,"),
];

/// A country; in French with its article and with *de*.
#[derive(Debug)]
pub(super) struct Country {
    pub english: &'static str,
    pub german: &'static str,
    pub french: &'static str,
    pub french_from: &'static str,
}

/// Countries that things come from and remind people of.
pub(super) static COUNTRIES: [Country; 6] = [
    Country { english: "Italy", german: "Italien", french: "l'Italie", french_from: "d'Italie" },
    Country { english: "Spain", german: "Spanien", french: "l'Espagne", french_from: "d'Espagne" },
    Country { english: "Japan", german: "Japan", french: "le Japon", french_from: "du Japon" },
    Country {
        english: "Norway",
        german: "Norwegen",
        french: "la Norvège",
        french_from: "de Norvège",
    },
    Country { english: "Poland", german: "Polen", french: "la Pologne", french_from: "de Pologne" },
    Country { english: "Canada", german: "Kanada", french: "le Canada", french_from: "du Canada" },
];
