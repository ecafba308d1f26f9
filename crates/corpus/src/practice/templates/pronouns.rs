//! Sentences with a pronoun whose antecedent is in an earlier sentence.
//!
//! They are divided by the role of the pronoun in the target language. German and French may
//! choose another one than English: *Paul liked it* is *er gefiel Paul*, *il plaisait à Paul*.

use super::{Class, Template, event, state};

use Class::{Animal, Matter, Place, Thing, Work};

const ANY: &[Class] = &[Thing, Animal, Place, Work, Matter];

/// The pronoun is the subject of the translation.
pub(in crate::practice) static SUBJECTS: &[Template] = &[
    state(
        [
            "{it} {was/were} very {adj}.",
            "{it}|{war/waren}|sehr {adj}.",
            "{it} {était/étaient} très {adj}.",
        ],
        ANY,
    ),
    state(
        [
            "{it} seemed very {adj} to {q}.",
            "{it}|{wirkte/wirkten}|auf {q} sehr {adj}.",
            "{it} {semblait/semblaient} très {adj} à {q}.",
        ],
        ANY,
    ),
    state(
        [
            "{it} had once belonged to {q}.",
            "{it}|{hatte/hatten}|früher {q} gehört.",
            "{it} {avait/avaient} autrefois appartenu à {q}.",
        ],
        &[Thing],
    ),
    state(
        [
            "{it} came from {country}.",
            "{it}|{stammte/stammten}|aus {country}.",
            "{it} {venait/venaient} {country}.",
        ],
        &[Thing, Animal],
    ),
    state(
        [
            "{q} liked {it.acc} very much.",
            "{it}|{gefiel/gefielen}|{q} sehr.",
            "{it} {plaisait/plaisaient} beaucoup à {q}.",
        ],
        &[Thing, Animal, Place, Work],
    ),
    state(
        [
            "{it} surprised {q} very much.",
            "{it}|{überraschte/überraschten}|{q} sehr.",
            "{it} {a/ont} beaucoup surpris {q}.",
        ],
        &[Place, Work, Matter],
    ),
    state(
        [
            "{it} changed everything for {q}.",
            "{it}|{veränderte/veränderten}|für {q} alles.",
            "{it} {a/ont} tout changé pour {q}.",
        ],
        &[Matter],
    ),
    state(
        [
            "{it} worried {q} very much.",
            "{it}|{beunruhigte/beunruhigten}|{q} sehr.",
            "{it} {inquiétait/inquiétaient} beaucoup {q}.",
        ],
        &[Matter],
    ),
    event(
        [
            "{it} became very popular.",
            "{it}|{wurde/wurden}|sehr beliebt.",
            "{it} {est/sont} {agr:devenu} très {populaire/populaires}.",
        ],
        &[Work],
    ),
    event(
        [
            "{it} {was/were} sleeping {at}.",
            "{it}|{schlief/schliefen}|{at}.",
            "{it} {dormait/dormaient} {at}.",
        ],
        &[Animal],
    ),
    event(
        [
            "{it} followed {q} {up_to}.",
            "{it}|{folgte/folgten}|{q} {up_to}.",
            "{it} {a/ont} suivi {q} {up_to}.",
        ],
        &[Animal],
    ),
    state(
        [
            "{it} attracted many visitors.",
            "{it}|{zog/zogen}|viele Besucher an.",
            "{it} {attirait/attiraient} beaucoup de visiteurs.",
        ],
        &[Place],
    ),
    state(
        [
            "{it} reminded {q} of {land}.",
            "{it}|{erinnerte/erinnerten}|{q} an {land}.",
            "{it} {rappelait/rappelaient} {land} à {q}.",
        ],
        &[Thing, Place, Work],
    ),
];

/// The pronoun is the direct object of the translation.
pub(in crate::practice) static OBJECTS: &[Template] = &[
    state(
        [
            "{q} knew {it.acc} already.",
            "{q}|kannte|{it.acc} schon.",
            "{q} {it.acc} connaissait déjà.",
        ],
        &[Animal, Place, Work, Matter],
    ),
    state(
        [
            "{p} absolutely wanted to take {it.acc} home.",
            "{p}|wollte|{it.acc} unbedingt mit nach Hause nehmen.",
            "{p} voulait absolument {it.acc} rapporter à la maison.",
        ],
        &[Thing],
    ),
    event(
        [
            "{p} showed {it.acc} to {q} {at}.",
            "{p}|zeigte|{it.acc} {q} {at}.",
            "{p} {it.acc} a {agr:montré} à {q} {at}.",
        ],
        &[Thing, Work],
    ),
    state(
        [
            "{q} wanted to look at {it.acc} closely.",
            "{q}|wollte|{it.acc} genau betrachten.",
            "{q} voulait {it.acc} regarder de près.",
        ],
        &[Thing, Animal, Place],
    ),
    state(
        [
            "{q} photographed {it.acc} {when}.",
            "{q}|fotografierte|{it.acc} {when}.",
            "{q} {it.acc} a {agr:photographié} {when}.",
        ],
        &[Thing, Animal, Place],
    ),
    state(
        [
            "{p} wanted to clean {it.acc} thoroughly.",
            "{p}|wollte|{it.acc} gründlich reinigen.",
            "{p} voulait {it.acc} nettoyer à fond.",
        ],
        &[Thing],
    ),
    state(
        [
            "{p} did not want to touch {it.acc}.",
            "{p}|wollte|{it.acc} nicht berühren.",
            "{p} ne voulait pas {it.acc} toucher.",
        ],
        &[Thing, Animal],
    ),
    event(
        [
            "{p} forgot {it.acc} {at}.",
            "{p}|vergaß|{it.acc} {at}.",
            "{p} {it.acc} a {agr:oublié} {at}.",
        ],
        &[Thing],
    ),
    state(
        [
            "{p} had been looking for {it.acc} for years.",
            "{p}|suchte|{it.acc} schon seit Jahren.",
            "{p} {it.acc} cherchait depuis des années.",
        ],
        &[Thing],
    ),
    state(
        [
            "{q} found {it.acc} rather strange.",
            "{q}|fand|{it.acc} ziemlich merkwürdig.",
            "{q} {it.acc} trouvait plutôt {bizarre/bizarres}.",
        ],
        ANY,
    ),
    state(
        [
            "{q} did not understand {it.acc}.",
            "{q}|verstand|{it.acc} nicht.",
            "{q} ne {it.acc} comprenait pas.",
        ],
        &[Work, Matter],
    ),
    state(
        [
            "{q} took {it.acc} very seriously.",
            "{q}|nahm|{it.acc} sehr ernst.",
            "{q} {it.acc} prenait très au sérieux.",
        ],
        &[Matter],
    ),
    state(
        [
            "{p} could not forget {it.acc}.",
            "{p}|konnte|{it.acc} nicht vergessen.",
            "{p} ne pouvait pas {it.acc} oublier.",
        ],
        &[Animal, Place, Work, Matter],
    ),
    state(
        [
            "{p} described {it.acc} to {q} {when}.",
            "{p}|beschrieb|{it.acc} {q} {when}.",
            "{p} {it.acc} a {agr:décrit} à {q} {when}.",
        ],
        &[Animal, Place, Work, Matter],
    ),
    state(
        [
            "{p} wanted to feed {it.acc} {when}.",
            "{p}|wollte|{it.acc} {when} füttern.",
            "{p} voulait {it.acc} nourrir {when}.",
        ],
        &[Animal],
    ),
    event(
        [
            "{q} was watching {it.acc} {at}.",
            "{q}|beobachtete|{it.acc} {at}.",
            "{q} {it.acc} observait {at}.",
        ],
        &[Animal],
    ),
    state(
        [
            "{p} wanted to see {it.acc} again.",
            "{p}|wollte|{it.acc} wiedersehen.",
            "{p} voulait {it.acc} revoir.",
        ],
        &[Animal, Place],
    ),
    state(
        [
            "{p} drew {it.acc} {when}.",
            "{p}|zeichnete|{it.acc} {when}.",
            "{p} {it.acc} a {agr:dessiné} {when}.",
        ],
        &[Thing, Animal, Place],
    ),
    event(
        [
            "{p} explained {it.acc} to {q} {at}.",
            "{p}|erklärte|{it.acc} {q} {at}.",
            "{p} {it.acc} a {agr:expliqué} à {q} {at}.",
        ],
        &[Work, Matter],
    ),
    state(
        [
            "{q} mentioned {it.acc} again {when}.",
            "{q}|erwähnte|{it.acc} {when} noch einmal.",
            "{q} {it.acc} a encore {agr:mentionné} {when}.",
        ],
        &[Work, Matter],
    ),
    state(
        [
            "{p} wanted to recommend {it.acc} to {q}.",
            "{p}|wollte|{it.acc} {q} empfehlen.",
            "{p} voulait {it.acc} recommander à {q}.",
        ],
        &[Work],
    ),
];
