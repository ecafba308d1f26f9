//! Sentences with slots, in three languages.
//!
//! | slot | filled with |
//! | --- | --- |
//! | `{P}` | the protagonist, by name or as *he* or *she*; only as a subject |
//! | `{p}`, `{q}` | the name of the protagonist, of the friend |
//! | `{p:allé}`, `{q:arrivé}` | a French participle that agrees with that person |
//! | `{T}`, `{T.acc}` | the topic with an indefinite article and maybe an adjective |
//! | `{this}`, `{this.acc}` | the topic with a demonstrative |
//! | `{it}`, `{it.acc}` | the pronoun for the topic |
//! | `{was/were}` | singular or plural, like the topic |
//! | `{adj}` | an adjective that describes the topic |
//! | `{agr:montré}` | a French participle that agrees with the pronoun |
//! | `{at}`, `{near}`, `{to}`, `{up_to}`, `{from}`, `{past}` | a landmark: `behind the bridge` |
//! | `{with}` | a companion: `without the umbrella` |
//! | `{when}` | an occasion: `after the concert` |
//! | `{country}`, `{land}` | a country, in French with *de* or with its article |
//!
//! A German sentence is divided by `|` into what comes before the verb, the verb, and the rest: if
//! a time opens the sentence, it takes the first place, and what was there follows the verb.

mod introductions;
mod others;
mod pronouns;

use super::lexicon::Class;

pub(super) use introductions::{INTRODUCTIONS, SAME_SENTENCE};
pub(super) use others::{FILLERS, OPENINGS, REMINDERS};
pub(super) use pronouns::{OBJECTS, SUBJECTS};

/// A sentence with slots.
#[derive(Debug)]
pub(super) struct Template {
    pub english: &'static str,
    pub german: &'static str,
    pub french: &'static str,
    /// The classes of topics that it goes with; irrelevant without a topic.
    pub classes: &'static [Class],
    /// Whether it describes an event, which may begin with a time, rather than a state.
    pub event: bool,
}

const fn event(texts: [&'static str; 3], classes: &'static [Class]) -> Template {
    let [english, german, french] = texts;
    Template { english, german, french, classes, event: true }
}

const fn state(texts: [&'static str; 3], classes: &'static [Class]) -> Template {
    let [english, german, french] = texts;
    Template { english, german, french, classes, event: false }
}
