//! Sentences without a pronoun for the topic: openings, fillers and reminders.

use super::{Class, Template, event, state};

use Class::{Animal, Matter, Place, Thing, Work};

const ANY: &[Class] = &[Thing, Animal, Place, Work, Matter];

/// The first sentence of a document, before there is a topic.
pub(in crate::practice) static OPENINGS: &[Template] = &[
    event(
        ["{p} went {to} with {q}.", "{p}|ging|mit {q} {to}.", "{p} est {p:allé} {to} avec {q}."],
        ANY,
    ),
    event(["{p} met {q} {at}.", "{p}|traf|{q} {at}.", "{p} a retrouvé {q} {at}."], ANY),
    event(
        ["{p} was waiting for {q} {at}.", "{p}|wartete|{at} auf {q}.", "{p} attendait {q} {at}."],
        ANY,
    ),
    event(
        [
            "{p} walked {past} with {q}.",
            "{p}|ging|mit {q} {past}.",
            "{p} est {p:passé} {past} avec {q}.",
        ],
        ANY,
    ),
    event(
        [
            "{p} came back {from} with {q}.",
            "{p}|kam|mit {q} {from} zurück.",
            "{p} est {p:revenu} {from} avec {q}.",
        ],
        ANY,
    ),
    event(
        ["{p} visited {q} {when}.", "{p}|besuchte|{q} {when}.", "{p} a rendu visite à {q} {when}."],
        ANY,
    ),
];

/// Sentences without the topic, nearly all with a noun that might be mistaken for it.
pub(in crate::practice) static FILLERS: &[Template] = &[
    event(["{P} went {to}.", "{P}|ging|{to}.", "{P} est {p:allé} {to}."], ANY),
    event(["{P} came back {from}.", "{P}|kam|{from} zurück.", "{P} est {p:revenu} {from}."], ANY),
    state(["{q} was waiting {at}.", "{q}|wartete|{at}.", "{q} attendait {at}."], ANY),
    event(["{P} met {q} {at}.", "{P}|traf|{q} {at}.", "{P} a retrouvé {q} {at}."], ANY),
    event(["{q} arrived {with}.", "{q}|kam|{with} an.", "{q} est {q:arrivé} {with}."], ANY),
    event(
        ["{P} went home {with}.", "{P}|ging|{with} nach Hause.", "{P} est {p:rentré} {with}."],
        ANY,
    ),
    event(
        [
            "{p} and {q} had dinner {at}.",
            "{p} und {q}|aßen|{at} zu Abend.",
            "{p} et {q} ont dîné {at}.",
        ],
        ANY,
    ),
    event(
        ["{P} talked to {q} {when}.", "{P}|sprach|{when} mit {q}.", "{P} a parlé à {q} {when}."],
        ANY,
    ),
    state(
        [
            "{P} was very tired {when}.",
            "{P}|war|{when} sehr müde.",
            "{P} était très {p:fatigué} {when}.",
        ],
        ANY,
    ),
    state(["{q} had to leave {when}.", "{q}|musste|{when} gehen.", "{q} a dû partir {when}."], ANY),
    state(["{P} called {q} {when}.", "{P}|rief|{q} {when} an.", "{P} a appelé {q} {when}."], ANY),
    event(["{P} walked {past}.", "{P}|ging|{past}.", "{P} est {p:passé} {past}."], ANY),
    state(
        [
            "{P} was sitting {at} with {q}.",
            "{P}|saß|mit {q} {at}.",
            "{P} était {p:assis} {at} avec {q}.",
        ],
        ANY,
    ),
    state(
        ["{q} was waiting {at} {with}.", "{q}|wartete|{with} {at}.", "{q} attendait {at} {with}."],
        ANY,
    ),
    event(["{P} went {to} {with}.", "{P}|ging|{with} {to}.", "{P} est {p:allé} {to} {with}."], ANY),
    state(
        [
            "{q} was in good spirits {when}.",
            "{q}|war|{when} gut gelaunt.",
            "{q} était de bonne humeur {when}.",
        ],
        ANY,
    ),
    event(["nobody said anything at all.", "niemand|sagte|etwas.", "personne n'a rien dit."], ANY),
    event(
        [
            "{q} laughed and said nothing.",
            "{q}|lachte|und sagte nichts.",
            "{q} a ri et n'a rien dit.",
        ],
        ANY,
    ),
    event(
        [
            "{P} stayed at home with {q}.",
            "{P}|blieb|mit {q} zu Hause.",
            "{P} est {p:resté} à la maison avec {q}.",
        ],
        ANY,
    ),
];

/// The topic is named again, so that distances are counted from here.
pub(in crate::practice) static REMINDERS: &[Template] = &[
    state(
        [
            "{q} was very interested in {this}.",
            "{q}|interessierte|sich sehr für {this.acc}.",
            "{q} s'intéressait beaucoup à {this}.",
        ],
        ANY,
    ),
    state(
        [
            "{p} really liked {this}.",
            "{this}|{gefiel/gefielen}|{p} wirklich gut.",
            "{this} {plaisait/plaisaient} vraiment à {p}.",
        ],
        &[Thing, Animal, Place, Work],
    ),
    event(
        [
            "{p} talked about {this} {at}.",
            "{p}|sprach|{at} über {this.acc}.",
            "{p} a parlé de {this} {at}.",
        ],
        ANY,
    ),
    state(
        [
            "{q} wanted to see {this} right away.",
            "{q}|wollte|{this.acc} sofort sehen.",
            "{q} voulait tout de suite voir {this}.",
        ],
        &[Thing, Animal, Place],
    ),
    state(
        [
            "{p} often thought of {this}.",
            "{p}|dachte|oft an {this.acc}.",
            "{p} pensait souvent à {this}.",
        ],
        ANY,
    ),
];
