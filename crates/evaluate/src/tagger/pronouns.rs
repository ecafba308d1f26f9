//! Pronouns whose gender depends on the antecedent.

use super::{Pair, TagLanguage};

/// Indices of such pronouns: the source must have a word that leaves the gender open, and none that
/// determines it. Words are not aligned, so if the source has both *it* and *she*, a *sie* may
/// belong to either.
pub(super) fn find(pair: &Pair, language: TagLanguage) -> Vec<usize> {
    let it = pair.source_has(&["it", "itself"]);
    let they = pair.source_has(&["they", "them", "themselves"]);
    let you = pair.source_has(&["you", "your", "yours"]);
    let he = pair.source_has(&["he", "him"]);
    let she = pair.source_has(&["she", "her"]);
    match language {
        // The German plural has one form for all genders.
        TagLanguage::German if it => pair.places(|word| {
            let polite = word.capital && (!word.begins || you);
            match word.lower.as_str() {
                "er" | "ihn" | "ihm" => !he,
                "sie" => !polite && !she && !they,
                "es" => true,
                _ => false,
            }
        }),
        TagLanguage::French if it || they => pair.places(|word| match word.lower.as_str() {
            "il" => it && !he,
            "elle" => it && !she,
            "ils" | "elles" | "eux" => they,
            _ => false,
        }),
        TagLanguage::Portuguese if it || they => pair.places(|word| {
            let lower = word.lower.as_str();
            (it && ["ele", "ela", "nele", "nela", "dele", "dela"].contains(&lower))
                || (it && word.hyphen && ["o", "a", "lo", "la", "no", "na"].contains(&lower))
                || (they && ["eles", "elas", "neles", "nelas", "deles", "delas"].contains(&lower))
                || (they && word.hyphen && ["os", "as", "los", "las", "nos"].contains(&lower))
        }),
        _ => Vec::new(),
    }
}
