//! German words for the slots of a template: articles, endings, contractions, word order.

use super::adverbials::{Adverbial, Governs};
use super::lexicon::Gender;
use super::render::{mark_noun, mark_pronoun};
use super::sentence::{Sentence, Topic};
use super::{Case, Number};

/// The template with its parts in order: the finite verb is always second.
pub(super) fn order(sentence: &Sentence) -> String {
    let mut parts = sentence.template.german.splitn(3, '|');
    let first = parts.next().unwrap_or_default();
    let verb = parts.next().unwrap_or_default();
    let rest = parts.next().unwrap_or_default();
    match sentence.time {
        Some(time) => format!("{} {verb} {first} {rest}", time.german),
        None => format!("{first} {verb} {rest}"),
    }
}

/// The content of a slot; `None` if the sentence has nothing for it.
pub(super) fn slot(slot: &str, sentence: &Sentence, gender: Gender) -> Option<String> {
    let cast = sentence.cast;
    Some(match slot {
        "P" if sentence.protagonist_as_pronoun => {
            (if cast.protagonist.female { "sie" } else { "er" }).to_owned()
        }
        "P" | "p" => cast.protagonist.name.to_owned(),
        "q" => cast.friend.name.to_owned(),
        "T" => introduced(sentence.topic?, Case::Subject),
        "T.acc" => introduced(sentence.topic?, Case::Object),
        "this" => demonstrative(sentence.topic?, Case::Subject),
        "this.acc" => demonstrative(sentence.topic?, Case::Object),
        "it" => mark_pronoun(pronoun(sentence.topic?.number, gender, Case::Subject)),
        "it.acc" => mark_pronoun(pronoun(sentence.topic?.number, gender, Case::Object)),
        "adj" => sentence.adjective?.german.to_owned(),
        "country" | "land" => sentence.country?.german.to_owned(),
        _ => {
            if let Some((singular, plural)) = slot.split_once('/') {
                sentence.topic?.number.choose(singular, plural).to_owned()
            } else {
                prepositional(sentence.aside(slot)?)
            }
        }
    })
}

/// The personal pronoun of the third person.
pub(super) fn pronoun(number: Number, gender: Gender, case: Case) -> &'static str {
    match (number, gender, case) {
        (Number::Plural, ..) | (_, Gender::Feminine, _) => "sie",
        (_, Gender::Masculine, Case::Subject) => "er",
        (_, Gender::Masculine, Case::Object) => "ihn",
        (_, Gender::Neuter, _) => "es",
    }
}

/// The strong ending of adjectives and of `dies-`; in the feminine, neuter and plural, nominative
/// and accusative are the same.
fn strong_ending(number: Number, gender: Gender, case: Case) -> &'static str {
    match (number, gender, case) {
        (Number::Plural, ..) | (_, Gender::Feminine, _) => "e",
        (_, Gender::Masculine, Case::Subject) => "er",
        (_, Gender::Masculine, Case::Object) => "en",
        (_, Gender::Neuter, _) => "es",
    }
}

fn noun_form(topic: Topic, case: Case) -> &'static str {
    match (topic.number, case) {
        (Number::Plural, _) => topic.noun.german.plural,
        (Number::Singular, Case::Subject) => topic.noun.german.singular,
        (Number::Singular, Case::Object) => topic.noun.german.oblique,
    }
}

/// `ein alter Hut`, `einen alten Hut`, `einige alte Hüte`.
fn introduced(topic: Topic, case: Case) -> String {
    let gender = topic.noun.german.gender;
    let article = match (topic.number, gender, case) {
        (Number::Plural, ..) => "einige",
        (_, Gender::Feminine, _) => "eine",
        (_, Gender::Masculine, Case::Object) => "einen",
        (_, Gender::Masculine | Gender::Neuter, _) => "ein",
    };
    // After "ein", which has no ending, the adjective takes the strong one; after "eine" and
    // "einen" the strong and the weak endings are the same in these two cases.
    let adjective = topic.adjective.map_or(String::new(), |word| {
        format!("{}{} ", word.german_stem, strong_ending(topic.number, gender, case))
    });
    format!("{article} {adjective}{}", mark_noun(noun_form(topic, case)))
}

/// `dieser Hut`, `diesen Hut`, `diese Hüte`.
fn demonstrative(topic: Topic, case: Case) -> String {
    let ending = strong_ending(topic.number, topic.noun.german.gender, case);
    format!("dies{ending} {}", mark_noun(noun_form(topic, case)))
}

/// `beim Bahnhof`, `hinter der Brücke`, `ohne den Hund`, `am Park vorbei`.
fn prepositional(adverbial: Adverbial) -> String {
    let Adverbial { preposition, noun } = adverbial;
    let article = match (preposition.governs, noun.german.gender) {
        (Governs::Dative, Gender::Feminine) => "der",
        (Governs::Dative, Gender::Masculine | Gender::Neuter) => "dem",
        (Governs::Accusative, Gender::Masculine) => "den",
        (Governs::Accusative, Gender::Feminine) => "die",
        (Governs::Accusative, Gender::Neuter) => "das",
    };
    let head = match (preposition.german, article) {
        ("bei", "dem") => "beim".to_owned(),
        ("zu", "dem") => "zum".to_owned(),
        ("zu", "der") => "zur".to_owned(),
        ("bis zu", "dem") => "bis zum".to_owned(),
        ("bis zu", "der") => "bis zur".to_owned(),
        ("von", "dem") => "vom".to_owned(),
        ("an", "dem") => "am".to_owned(),
        (preposition, article) => format!("{preposition} {article}"),
    };
    format!("{head} {}{}", noun.german.oblique, preposition.german_after)
}
