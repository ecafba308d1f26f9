//! Verb forms that English does not distinguish: French and Portuguese imperfects, as opposed to
//! another past tense.

use super::{Pair, TagLanguage};

/// French words in -ais, -ait and -aient that are not imperfects.
const FRENCH_OTHERS: &[&str] = &[
    "mais",
    "jamais",
    "désormais",
    "français",
    "anglais",
    "portugais",
    "irlandais",
    "japonais",
    "hollandais",
    "écossais",
    "palais",
    "relais",
    "marais",
    "frais",
    "vrais",
    "mauvais",
    "épais",
    "lait",
    "fait",
    "trait",
    "extrait",
    "portrait",
    "parfait",
    "souhait",
    "attrait",
    "retrait",
    "satisfait",
    "plaît",
    "paient",
    "essaient",
    "sais",
    "fais",
    "vais",
    "hait",
    "soient",
    "aient",
    "ait",
    "aurait",
    "serait",
    "pourrait",
    "devrait",
    "voudrait",
    "ferait",
    "irait",
];
/// Portuguese imperfects whose endings also occur in nouns.
const PORTUGUESE_OTHERS: &[&str] = &[
    "era", "eram", "tinha", "tinham", "vinha", "vinham", "podia", "podiam", "fazia", "faziam",
    "havia", "queria", "queriam", "dizia", "diziam", "sabia", "sabiam", "devia", "deviam", "ia",
    "iam", "punha", "parecia", "vivia", "conhecia",
];

/// Indices of such forms. Conditionals (-rait, -ria) correspond to English *would* and are left
/// out.
pub(super) fn find(pair: &Pair, language: TagLanguage) -> Vec<usize> {
    match language {
        TagLanguage::German => Vec::new(),
        TagLanguage::French => pair.places(|word| {
            let lower = word.lower.as_str();
            let ending = ["ais", "ait", "aient"].into_iter().find(|end| lower.ends_with(end));
            ending.is_some_and(|ending| {
                let stem = &lower[..lower.len() - ending.len()];
                let is_conditional =
                    stem.ends_with('r') && pair.source_has(&["would", "could", "should"]);
                let is_name = word.capital && !word.begins;
                let is_other = FRENCH_OTHERS.contains(&lower) || is_conditional || is_name;
                stem.chars().count() >= 2 && !is_other
            })
        }),
        TagLanguage::Portuguese => pair.places(|word| {
            let lower = word.lower.as_str();
            let regular = ["ava", "avam", "ávamos"]
                .iter()
                .any(|end| lower.strip_suffix(end).is_some_and(|stem| stem.chars().count() >= 2));
            regular || PORTUGUESE_OTHERS.contains(&lower)
        }),
    }
}
