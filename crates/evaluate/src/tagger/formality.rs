//! Formality: words that show how people address each other.

use super::{Pair, TagLanguage};

const GERMAN: &[&str] = &[
    "du", "dich", "dir", "dein", "deine", "deinen", "deinem", "deiner", "deines", "euch", "euer",
    "eure", "euren", "eurem", "eurer", "eures",
];
/// Polite only if capitalised, which is ambiguous at the start of a sentence.
const GERMAN_POLITE: &[&str] = &["sie", "ihnen", "ihr", "ihre", "ihren", "ihrem", "ihrer", "ihres"];
const FRENCH: &[&str] = &[
    "tu", "te", "t'", "toi", "ton", "ta", "tes", "tien", "tienne", "vous", "votre", "vos", "vôtre",
];
const PORTUGUESE: &[&str] = &[
    "tu", "te", "ti", "si", "contigo", "teu", "tua", "teus", "tuas", "você", "vocês", "vos",
    "vosso", "vossa", "vossos", "vossas", "convosco", "consigo", "senhor", "senhora", "senhores",
    "senhoras",
];

/// Indices of such words; the source must have *you*.
pub(super) fn find(pair: &Pair, language: TagLanguage) -> Vec<usize> {
    if !pair.source_has(&["you", "your", "yours", "yourself", "yourselves", "ya", "thee"]) {
        return Vec::new();
    }
    match language {
        TagLanguage::German => pair.places(|word| {
            let lower = word.lower.as_str();
            GERMAN.contains(&lower)
                || (word.capital && GERMAN_POLITE.contains(&lower))
                // `ihr` may also be a dative, but with *you* it is mostly the plural.
                || lower == "ihr"
        }),
        TagLanguage::French => pair.places(|word| FRENCH.contains(&word.lower.as_str())),
        TagLanguage::Portuguese => pair.places(|word| PORTUGUESE.contains(&word.lower.as_str())),
    }
}
