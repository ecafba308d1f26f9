//! Sentences that introduce a topic, with and without a pronoun for it in the same sentence.

use super::{Class, Template, event, state};

use Class::{Animal, Matter, Place, Thing, Work};

/// The topic enters with an indefinite article.
pub(in crate::practice) static INTRODUCTIONS: &[Template] = &[
    event(["{P} bought {T} {at}.", "{P}|kaufte|{at} {T.acc}.", "{P} a acheté {T} {at}."], &[Thing]),
    event(["{P} found {T} {at}.", "{P}|fand|{at} {T.acc}.", "{P} a trouvé {T} {at}."], &[Thing]),
    event(["{P} saw {T} {at}.", "{P}|sah|{at} {T.acc}.", "{P} a vu {T} {at}."], &[Thing, Animal]),
    event(
        ["{P} noticed {T} {at}.", "{P}|bemerkte|{at} {T.acc}.", "{P} a remarqué {T} {at}."],
        &[Thing, Animal],
    ),
    event(
        ["{P} discovered {T} {at}.", "{P}|entdeckte|{at} {T.acc}.", "{P} a découvert {T} {at}."],
        &[Animal, Place],
    ),
    state(
        [
            "{T} {was/were} sleeping {at}.",
            "{at}|{schlief/schliefen}|{T}.",
            "{T} {dormait/dormaient} {at}.",
        ],
        &[Animal],
    ),
    event(
        [
            "{P} photographed {T} {at}.",
            "{P}|fotografierte|{at} {T.acc}.",
            "{P} a photographié {T} {at}.",
        ],
        &[Animal, Place],
    ),
    state(["there was {T} {at}.", "{at}|gab es|{T.acc}.", "il y avait {T} {at}."], &[Place]),
    event(
        [
            "{P} showed {q} {T} {at}.",
            "{P}|zeigte|{q} {at} {T.acc}.",
            "{P} a montré {T} à {q} {at}.",
        ],
        &[Thing, Animal, Place],
    ),
    event(
        [
            "{P} recommended {T} to {q} {when}.",
            "{P}|empfahl|{q} {when} {T.acc}.",
            "{P} a conseillé {T} à {q} {when}.",
        ],
        &[Work],
    ),
    event(
        [
            "{P} presented {T} {when}.",
            "{P}|stellte|{when} {T.acc} vor.",
            "{P} a présenté {T} {when}.",
        ],
        &[Work],
    ),
    event(
        [
            "{P} described {T} to {q} {near}.",
            "{P}|beschrieb|{q} {near} {T.acc}.",
            "{P} a décrit {T} à {q} {near}.",
        ],
        &[Place, Work, Matter],
    ),
    event(
        [
            "{P} mentioned {T} {when}.",
            "{P}|erwähnte|{when} {T.acc}.",
            "{P} a mentionné {T} {when}.",
        ],
        &[Work, Matter],
    ),
    event(
        [
            "{P} talked to {q} about {T} {near}.",
            "{P}|sprach|{near} mit {q} über {T.acc}.",
            "{P} a parlé de {T} à {q} {near}.",
        ],
        &[Work, Matter],
    ),
    state(
        [
            "{P} remembered {T} {when}.",
            "{P}|erinnerte|sich {when} an {T.acc}.",
            "{P} s'est {p:souvenu} de {T} {when}.",
        ],
        &[Work, Matter],
    ),
];

/// The topic enters, and a pronoun for it follows in the same sentence: distance 0.
pub(in crate::practice) static SAME_SENTENCE: &[Template] = &[
    state(
        [
            "{P} showed {q} {T} {near} because {it} {was/were} so {adj}.",
            "{P}|zeigte|{q} {near} {T.acc}, weil {it} so {adj} {war/waren}.",
            "{P} a montré {T} à {q} {near} parce que {it} {était/étaient} si {adj}.",
        ],
        &[Thing, Place],
    ),
    state(
        [
            "{P} saw {T} {near}, and {it} {was/were} very {adj}.",
            "{P}|sah|{near} {T.acc}, und {it} {war/waren} sehr {adj}.",
            "{P} a vu {T} {near}, et {it} {était/étaient} très {adj}.",
        ],
        &[Thing, Animal, Place],
    ),
    state(
        [
            "{P} presented {T} {when} because {it} {was/were} so {adj}.",
            "{P}|stellte|{when} {T.acc} vor, weil {it} so {adj} {war/waren}.",
            "{P} a présenté {T} {when} parce que {it} {était/étaient} si {adj}.",
        ],
        &[Work],
    ),
    state(
        [
            "{P} mentioned {T} {when} because {it} {was/were} very {adj}.",
            "{P}|erwähnte|{when} {T.acc}, weil {it} sehr {adj} {war/waren}.",
            "{P} a mentionné {T} {when} parce que {it} {était/étaient} très {adj}.",
        ],
        &[Work, Matter],
    ),
    state(
        [
            "{P} found {T} {near} and wanted to keep {it.acc}.",
            "{P}|fand|{near} {T.acc} und wollte {it.acc} behalten.",
            "{P} a trouvé {T} {near} et voulait {it.acc} garder.",
        ],
        &[Thing],
    ),
    state(
        [
            "{P} saw {T} {near} and photographed {it.acc}.",
            "{P}|sah|{near} {T.acc} und fotografierte {it.acc}.",
            "{P} a vu {T} {near} et {it.acc} a {agr:photographié}.",
        ],
        &[Thing, Animal, Place],
    ),
    state(
        [
            "{P} saw {T} {near} and wanted to feed {it.acc}.",
            "{P}|sah|{near} {T.acc} und wollte {it.acc} füttern.",
            "{P} a vu {T} {near} et voulait {it.acc} nourrir.",
        ],
        &[Animal],
    ),
    state(
        [
            "{P} discovered {T} {near} and wanted to draw {it.acc}.",
            "{P}|entdeckte|{near} {T.acc} und wollte {it.acc} zeichnen.",
            "{P} a découvert {T} {near} et voulait {it.acc} dessiner.",
        ],
        &[Thing, Animal, Place],
    ),
    state(
        [
            "{P} mentioned {T} {when}, and {q} knew {it.acc} already.",
            "{P}|erwähnte|{when} {T.acc}, und {q} kannte {it.acc} schon.",
            "{P} a mentionné {T} {when}, et {q} {it.acc} connaissait déjà.",
        ],
        &[Work, Matter],
    ),
    state(
        [
            "{P} mentioned {T} {when}, but {q} did not understand {it.acc}.",
            "{P}|erwähnte|{when} {T.acc}, aber {q} verstand {it.acc} nicht.",
            "{P} a mentionné {T} {when}, mais {q} ne {it.acc} comprenait pas.",
        ],
        &[Work, Matter],
    ),
];
