//! French words for the slots of a template: articles, agreement, contraction, elision.

use super::adverbials::Adverbial;
use super::lexicon::{Gender, Person};
use super::render::{is_mark, mark_noun, mark_pronoun};
use super::sentence::{Sentence, Topic};
use super::{Case, Number};

/// The content of a slot, before elision; `None` if the sentence has nothing for it.
pub(super) fn slot(slot: &str, sentence: &Sentence, gender: Gender) -> Option<String> {
    let cast = sentence.cast;
    Some(match slot {
        "P" if sentence.protagonist_as_pronoun => {
            (if cast.protagonist.female { "elle" } else { "il" }).to_owned()
        }
        "P" | "p" => cast.protagonist.name.to_owned(),
        "q" => cast.friend.name.to_owned(),
        "T" => introduced(sentence.topic?),
        "this" => demonstrative(sentence.topic?),
        "it" => mark_pronoun(pronoun(sentence.topic?.number, gender, Case::Subject)),
        "it.acc" => mark_pronoun(pronoun(sentence.topic?.number, gender, Case::Object)),
        "adj" => {
            let plural = sentence.topic?.number == Number::Plural;
            sentence.adjective?.french.form(gender, plural)
        }
        "country" => sentence.country?.french_from.to_owned(),
        "land" => sentence.country?.french.to_owned(),
        _ => {
            if let Some((singular, plural)) = slot.split_once('/') {
                sentence.topic?.number.choose(singular, plural).to_owned()
            } else if let Some((with, participle)) = slot.split_once(':') {
                match with {
                    "p" => person_participle(participle, cast.protagonist),
                    "q" => person_participle(participle, cast.friend),
                    "agr" => participle_of(participle, gender, sentence.topic?.number),
                    _ => return None,
                }
            } else {
                prepositional(sentence.aside(slot)?)
            }
        }
    })
}

/// The personal pronoun of the third person, before elision.
pub(super) fn pronoun(number: Number, gender: Gender, case: Case) -> &'static str {
    match (case, number, gender) {
        (Case::Subject, Number::Singular, Gender::Feminine) => "elle",
        (Case::Subject, Number::Singular, _) => "il",
        (Case::Subject, Number::Plural, Gender::Feminine) => "elles",
        (Case::Subject, Number::Plural, _) => "ils",
        (Case::Object, Number::Singular, Gender::Feminine) => "la",
        (Case::Object, Number::Singular, _) => "le",
        (Case::Object, Number::Plural, _) => "les",
    }
}

fn participle_of(participle: &str, gender: Gender, number: Number) -> String {
    let feminine = if gender == Gender::Feminine { "e" } else { "" };
    format!("{participle}{feminine}{}", number.choose("", "s"))
}

fn person_participle(participle: &str, person: &Person) -> String {
    format!("{participle}{}", if person.female { "e" } else { "" })
}

/// `une vieille lampe`, `un vieil âne`, `quelques lampes rouges`.
fn introduced(topic: Topic) -> String {
    let noun = &topic.noun.french;
    let plural = topic.number == Number::Plural;
    let article = match (plural, noun.gender) {
        (true, _) => "quelques",
        (false, Gender::Feminine) => "une",
        (false, _) => "un",
    };
    let word = mark_noun(if plural { noun.plural } else { noun.singular });
    match topic.adjective.map(|adjective| &adjective.french) {
        None => format!("{article} {word}"),
        Some(adjective) if adjective.precedes => {
            let special = !plural && noun.gender == Gender::Masculine && elides(noun.singular);
            let form = if special {
                adjective.before_vowel.to_owned()
            } else {
                adjective.form(noun.gender, plural)
            };
            format!("{article} {form} {word}")
        }
        Some(adjective) => format!("{article} {word} {}", adjective.form(noun.gender, plural)),
    }
}

/// `cette lampe`, `cet âne`, `ces lampes`.
fn demonstrative(topic: Topic) -> String {
    let noun = &topic.noun.french;
    match (topic.number, noun.gender) {
        (Number::Plural, _) => format!("ces {}", mark_noun(noun.plural)),
        (_, Gender::Feminine) => format!("cette {}", mark_noun(noun.singular)),
        _ if elides(noun.singular) => format!("cet {}", mark_noun(noun.singular)),
        _ => format!("ce {}", mark_noun(noun.singular)),
    }
}

/// `près du pont`, `à la gare`, `derrière l'église` (the last elided later).
fn prepositional(adverbial: Adverbial) -> String {
    let Adverbial { preposition, noun } = adverbial;
    let noun = &noun.french;
    if noun.gender == Gender::Feminine {
        return format!("{} la {}", preposition.french, noun.singular);
    }
    let contracted = (!elides(noun.singular)).then_some(preposition.french).and_then(|head| {
        head.strip_suffix("de")
            .map(|head| format!("{head}du"))
            .or_else(|| head.strip_suffix('à').map(|head| format!("{head}au")))
    });
    match contracted {
        Some(head) => format!("{head} {}", noun.singular),
        None => format!("{} le {}", preposition.french, noun.singular),
    }
}

/// Words that lose their last vowel before another one.
const ELIDING: [&str; 7] = ["le", "la", "de", "ne", "se", "que", "jusque"];

/// Words with an aspirated h.
const ASPIRATED: [&str; 2] = ["hérisson", "hérissons"];

/// Whether a word before this one is elided.
fn elides(word: &str) -> bool {
    const VOWELS: &str = "aeiouhàâéèêëîïôùû";
    !ASPIRATED.contains(&word)
        && word.chars().next().is_some_and(|first| {
            first.to_lowercase().next().is_some_and(|first| VOWELS.contains(first))
        })
}

/// Applies elision to a text that may still contain marks: `le a` becomes `l'a`.
pub(super) fn elide(text: &str) -> String {
    let bare = |word: &str| word.chars().filter(|c| !is_mark(*c)).collect::<String>();
    let mut elided = String::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let plain = bare(word);
        let followed_by_vowel =
            words.peek().is_some_and(|next| elides(bare(next).trim_end_matches(['.', ','])));
        if followed_by_vowel && ELIDING.contains(&plain.as_str()) {
            elided.extend(word.chars().map(|c| if matches!(c, 'e' | 'a') { '\'' } else { c }));
        } else {
            elided.push_str(word);
            if words.peek().is_some() {
                elided.push(' ');
            }
        }
    }
    elided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elides_before_vowels_and_mute_h_only() {
        for (before, after) in [
            ("derrière le église.", "derrière l'église."),
            ("près de le hôtel", "près de l'hôtel"),
            ("de le hérisson", "de le hérisson"),
            ("parce que il est", "parce qu'il est"),
            ("jusque au pont", "jusqu'au pont"),
            ("de Emma, ne le a pas", "d'Emma, ne l'a pas"),
            ("ne le oublie", "ne l'oublie"),
        ] {
            assert_eq!(elide(before), after);
        }
    }

    #[test]
    fn elision_keeps_marks() {
        let text = format!("{} a vue", mark_pronoun("la"));
        assert_eq!(elide(&text), format!("{}a vue", mark_pronoun("l'")));
    }
}
