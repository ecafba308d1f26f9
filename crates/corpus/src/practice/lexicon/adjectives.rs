//! Adjectives: those that introduce a noun, and those that describe it later.
//!
//! The two lists of a class have no word in common and no contradictions, so that any later
//! description of a topic is consistent with its introduction.

use super::{Class, Gender};

/// An adjective in three languages.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::practice) struct Adjective {
    pub english: &'static str,
    /// The predicative form, `teuer`.
    pub german: &'static str,
    /// The stem that endings are added to, `teur`.
    pub german_stem: &'static str,
    pub french: FrenchAdjective,
}

/// The forms of a French adjective.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::practice) struct FrenchAdjective {
    masculine: &'static str,
    feminine: &'static str,
    masculine_plural: &'static str,
    /// Before a masculine noun that starts with a vowel: `un vieil âne`.
    pub before_vowel: &'static str,
    /// Whether it precedes its noun.
    pub precedes: bool,
}

impl FrenchAdjective {
    /// The form that agrees; the feminine plural is always regular.
    pub fn form(&self, gender: Gender, plural: bool) -> String {
        match (gender, plural) {
            (Gender::Feminine, false) => self.feminine.to_owned(),
            (Gender::Feminine, true) => format!("{}s", self.feminine),
            (_, false) => self.masculine.to_owned(),
            (_, true) => self.masculine_plural.to_owned(),
        }
    }
}

/// Masculine, feminine and masculine plural of an adjective that follows its noun.
const fn after(forms: [&'static str; 3]) -> FrenchAdjective {
    let [masculine, feminine, masculine_plural] = forms;
    FrenchAdjective {
        masculine,
        feminine,
        masculine_plural,
        before_vowel: masculine,
        precedes: false,
    }
}

/// Masculine, feminine, masculine plural and the form before a vowel of one that precedes it.
const fn before(forms: [&'static str; 4]) -> FrenchAdjective {
    let [masculine, feminine, masculine_plural, before_vowel] = forms;
    FrenchAdjective { masculine, feminine, masculine_plural, before_vowel, precedes: true }
}

const fn adjective(
    english: &'static str,
    german: &'static str,
    french: FrenchAdjective,
) -> Adjective {
    Adjective { english, german, german_stem: german, french }
}

const OLD: Adjective = adjective("old", "alt", before(["vieux", "vieille", "vieux", "vieil"]));
const NEW: Adjective =
    adjective("new", "neu", before(["nouveau", "nouvelle", "nouveaux", "nouvel"]));
const SMALL: Adjective =
    adjective("small", "klein", before(["petit", "petite", "petits", "petit"]));
const BIG: Adjective = adjective("big", "groß", before(["grand", "grande", "grands", "grand"]));
const YOUNG: Adjective = adjective("young", "jung", before(["jeune", "jeune", "jeunes", "jeune"]));
const UNKNOWN: Adjective =
    adjective("unknown", "unbekannt", after(["inconnu", "inconnue", "inconnus"]));
const RED: Adjective = adjective("red", "rot", after(["rouge", "rouge", "rouges"]));
const BLUE: Adjective = adjective("blue", "blau", after(["bleu", "bleue", "bleus"]));
const GREEN: Adjective = adjective("green", "grün", after(["vert", "verte", "verts"]));
const BLACK: Adjective = adjective("black", "schwarz", after(["noir", "noire", "noirs"]));
const WHITE: Adjective = adjective("white", "weiß", after(["blanc", "blanche", "blancs"]));
const GREY: Adjective = adjective("grey", "grau", after(["gris", "grise", "gris"]));
const FAMOUS: Adjective = adjective("famous", "berühmt", after(["célèbre", "célèbre", "célèbres"]));
const MODERN: Adjective = adjective("modern", "modern", after(["moderne", "moderne", "modernes"]));
const STRANGE: Adjective =
    adjective("strange", "seltsam", after(["étrange", "étrange", "étranges"]));
const UNUSUAL: Adjective =
    adjective("unusual", "ungewöhnlich", after(["inhabituel", "inhabituelle", "inhabituels"]));
const SURPRISING: Adjective =
    adjective("surprising", "überraschend", after(["surprenant", "surprenante", "surprenants"]));
const BEAUTIFUL: Adjective =
    adjective("beautiful", "schön", before(["beau", "belle", "beaux", "bel"]));
const EXPENSIVE: Adjective = Adjective {
    english: "expensive",
    german: "teuer",
    german_stem: "teur",
    french: after(["cher", "chère", "chers"]),
};
const HEAVY: Adjective = adjective("heavy", "schwer", after(["lourd", "lourde", "lourds"]));
const VALUABLE: Adjective =
    adjective("valuable", "wertvoll", after(["précieux", "précieuse", "précieux"]));
const ELEGANT: Adjective =
    adjective("elegant", "elegant", after(["élégant", "élégante", "élégants"]));
const HUNGRY: Adjective = adjective("hungry", "hungrig", after(["affamé", "affamée", "affamés"]));
const SHY: Adjective = adjective("shy", "scheu", after(["craintif", "craintive", "craintifs"]));
const TIRED: Adjective = adjective("tired", "müde", after(["fatigué", "fatiguée", "fatigués"]));
const CURIOUS: Adjective =
    adjective("curious", "neugierig", after(["curieux", "curieuse", "curieux"]));
const QUIET: Adjective = adjective("quiet", "ruhig", after(["calme", "calme", "calmes"]));
const NERVOUS: Adjective =
    adjective("nervous", "nervös", after(["nerveux", "nerveuse", "nerveux"]));
const IMPRESSIVE: Adjective = adjective(
    "impressive",
    "beeindruckend",
    after(["impressionnant", "impressionnante", "impressionnants"]),
);
const INTERESTING: Adjective =
    adjective("interesting", "interessant", after(["intéressant", "intéressante", "intéressants"]));
const SAD: Adjective = adjective("sad", "traurig", after(["triste", "triste", "tristes"]));
const EXCITING: Adjective =
    adjective("exciting", "spannend", after(["passionnant", "passionnante", "passionnants"]));
const COMPLICATED: Adjective =
    adjective("complicated", "kompliziert", after(["compliqué", "compliquée", "compliqués"]));
const REMARKABLE: Adjective =
    adjective("remarkable", "bemerkenswert", after(["remarquable", "remarquable", "remarquables"]));
const UNEXPECTED: Adjective =
    adjective("unexpected", "unerwartet", after(["inattendu", "inattendue", "inattendus"]));

/// Adjectives that may introduce a noun of the class.
pub(in crate::practice) fn attributive(class: Class) -> &'static [&'static Adjective] {
    match class {
        Class::Thing => &[&OLD, &NEW, &SMALL, &BIG, &RED, &BLUE, &GREEN, &BLACK, &WHITE],
        Class::Animal => &[&OLD, &YOUNG, &SMALL, &BIG, &BLACK, &WHITE, &GREY],
        Class::Place => &[&OLD, &NEW, &SMALL, &BIG, &FAMOUS, &MODERN],
        Class::Work => &[&OLD, &NEW, &MODERN, &UNKNOWN, &FAMOUS, &STRANGE],
        Class::Matter => &[&NEW, &STRANGE, &SMALL, &UNUSUAL, &SURPRISING],
    }
}

/// Adjectives that may describe it later.
pub(in crate::practice) fn predicative(class: Class) -> &'static [&'static Adjective] {
    match class {
        Class::Thing => &[&BEAUTIFUL, &EXPENSIVE, &HEAVY, &UNUSUAL, &VALUABLE, &ELEGANT],
        Class::Animal => &[&BEAUTIFUL, &HUNGRY, &SHY, &TIRED, &CURIOUS, &QUIET, &NERVOUS],
        Class::Place => &[&BEAUTIFUL, &QUIET, &UNUSUAL, &IMPRESSIVE, &INTERESTING],
        Class::Work => &[&BEAUTIFUL, &UNUSUAL, &INTERESTING, &SAD, &EXCITING],
        Class::Matter => &[&INTERESTING, &COMPLICATED, &REMARKABLE, &UNEXPECTED],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn introducing_and_describing_adjectives_do_not_overlap() {
        for class in Class::ALL {
            for adjective in attributive(class) {
                assert!(!predicative(class).contains(adjective), "{}", adjective.english);
            }
        }
    }
}
