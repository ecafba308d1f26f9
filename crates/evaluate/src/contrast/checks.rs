//! Rejects sets that do not fit the model before anything is computed.

use abridge_base::message::counted;
use abridge_corpus::{ContrastiveSet, Error, Result};

use crate::pronoun::PronounLanguage;

/// A set is in another language if at least this share of its pronouns is.
const CLEARLY: f64 = 0.9;

/// Keeps the nearest sentences of every context.
pub fn limit_context(set: &mut ContrastiveSet, size: usize) {
    for item in &mut set.items {
        item.context.drain(..item.context.len().saturating_sub(size));
    }
}

/// Rejects a model with a larger context size than any example of the set has sentences.
pub fn check_context(set: &ContrastiveSet, size: usize) -> Result<()> {
    let most = set.longest_context();
    if most >= size {
        return Ok(());
    }
    Err(Error::new(format!(
        "the model looks {} back, but the set has at most {} of context",
        counted(size, "sentence"),
        counted(most, "sentence")
    ))
    .remedy(format!(
        "give the set's documents with --documents, or ask for less context with --context-size \
         {most}"
    )))
}

/// Rejects a set in other languages than the model's, judging by the languages that the model was
/// trained on and by the pronouns of the set.
pub fn check_languages(set: &ContrastiveSet, pair: &str, model: Option<&str>) -> Result<()> {
    if let Some(model) = model.filter(|model| *model != pair) {
        return Err(Error::new(format!("the model translates {model}, but the set is {pair}"))
            .remedy(format!(
                "use a model that translates {pair}, or give --languages {model} if the set is that"
            )));
    }
    let target = pair.rsplit('-').next().unwrap_or(pair);
    let Ok(declared) = target.parse::<PronounLanguage>() else { return Ok(()) };
    let pronouns: Vec<&str> = set.items.iter().filter_map(|item| item.pronoun.as_deref()).collect();
    let share = |language: PronounLanguage| {
        let own = pronouns.iter().filter(|pronoun| language.has(pronoun)).count();
        own as f64 / pronouns.len().max(1) as f64
    };
    let other = [PronounLanguage::German, PronounLanguage::French, PronounLanguage::English]
        .into_iter()
        .find(|&language| share(language) > CLEARLY && share(declared) < 1.0 - CLEARLY);
    match other {
        Some(other) => Err(Error::new(format!(
            "the set's pronouns are those of `{other}`, but its declared target language is \
             `{declared}`"
        ))
        .remedy("give the set's languages with --languages, and a model that translates them")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_corpus::ContrastiveItem;

    fn set(pronouns: &[&str], context: usize) -> ContrastiveSet {
        let items = pronouns.iter().map(|pronoun| ContrastiveItem {
            pronoun: Some((*pronoun).to_owned()),
            context: vec!["before".to_owned(); context],
            ..ContrastiveItem::default()
        });
        ContrastiveSet { items: items.collect(), notes: Vec::new() }
    }

    #[test]
    fn less_context_than_the_models_must_be_requested() {
        assert!(check_context(&set(&["er"], 3), 3).is_ok());
        let error = check_context(&set(&["er"], 1), 3).unwrap_err().to_string();
        assert!(
            error.contains("3 sentences back") && error.contains("--context-size 1"),
            "{error}"
        );
        let mut limited = set(&["er"], 3);
        limit_context(&mut limited, 1);
        assert_eq!(limited.items[0].context.len(), 1);
    }

    #[test]
    fn the_other_pair_is_refused() {
        assert!(check_languages(&set(&["er", "sie", "es"], 0), "en-de", Some("en-de")).is_ok());
        assert!(check_languages(&set(&["er"], 0), "en-pt", None).is_ok());
        let error = check_languages(&set(&["er"], 0), "en-de", Some("en-fr")).unwrap_err();
        assert!(error.to_string().contains("the model translates en-fr"), "{error}");
        let error = check_languages(&set(&["il", "elle"], 0), "en-de", None).unwrap_err();
        assert!(error.to_string().contains("those of `fr`"), "{error}");
    }
}
