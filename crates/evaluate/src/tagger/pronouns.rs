//! Pronouns whose gender the antecedent decides.

use super::{Pair, TagLanguage};

/// Places of such pronouns: the source must have a word that leaves the gender open.
pub(super) fn find(pair: &Pair, language: TagLanguage) -> Vec<usize> {
    let it = pair.source_has(&["it", "itself"]);
    let they = pair.source_has(&["they", "them", "themselves"]);
    let you = pair.source_has(&["you", "your", "yours"]);
    match language {
        // Its plural has one form for all genders.
        TagLanguage::German if it => pair.places(|word| {
            let polite = word.capital && (!word.begins || you);
            let known = ["er", "sie", "es", "ihn", "ihm"].contains(&word.lower.as_str());
            known && !(polite && word.lower == "sie")
        }),
        TagLanguage::French if it || they => pair.places(|word| {
            let word = word.lower.as_str();
            (it && ["il", "elle"].contains(&word))
                || (they && ["ils", "elles", "eux"].contains(&word))
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
