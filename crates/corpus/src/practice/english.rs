//! English words for the slots of a template.

use super::Number;
use super::render::{mark_noun, mark_pronoun};
use super::sentence::{Sentence, Topic};

/// The content of a slot; `None` if the sentence has nothing for it.
pub(super) fn slot(slot: &str, sentence: &Sentence) -> Option<String> {
    let cast = sentence.cast;
    Some(match slot {
        "P" if sentence.protagonist_as_pronoun => {
            (if cast.protagonist.female { "she" } else { "he" }).to_owned()
        }
        "P" | "p" => cast.protagonist.name.to_owned(),
        "q" => cast.friend.name.to_owned(),
        "T" => introduced(sentence.topic?),
        "this" => demonstrative(sentence.topic?),
        "it" => mark_pronoun(match sentence.topic?.number {
            Number::Singular => "it",
            Number::Plural => "they",
        }),
        "it.acc" => mark_pronoun(match sentence.topic?.number {
            Number::Singular => "it",
            Number::Plural => "them",
        }),
        "adj" => sentence.adjective?.english.to_owned(),
        "country" | "land" => sentence.country?.english.to_owned(),
        _ => {
            if let Some((singular, plural)) = slot.split_once('/') {
                sentence.topic?.number.choose(singular, plural).to_owned()
            } else {
                let aside = sentence.aside(slot)?;
                format!("{} the {}", aside.preposition.english, aside.noun.singular)
            }
        }
    })
}

/// `an old lamp`, `some old lamps`.
fn introduced(topic: Topic) -> String {
    let adjective = topic.adjective.map_or(String::new(), |word| format!("{} ", word.english));
    match topic.number {
        Number::Plural => format!("some {adjective}{}", mark_noun(topic.noun.plural)),
        Number::Singular => {
            let next = if adjective.is_empty() { topic.noun.singular } else { &adjective };
            // Holds for every word of the lexicon: none starts like "hour" or "university".
            let article = if next.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            format!("{article} {adjective}{}", mark_noun(topic.noun.singular))
        }
    }
}

/// `this lamp`, `these lamps`.
fn demonstrative(topic: Topic) -> String {
    match topic.number {
        Number::Singular => format!("this {}", mark_noun(topic.noun.singular)),
        Number::Plural => format!("these {}", mark_noun(topic.noun.plural)),
    }
}
