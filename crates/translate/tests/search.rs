//! Options of the search.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::atomic::AtomicBool;

use abridge_model::Preset;
use abridge_model::tokens::{END, UNKNOWN};
use abridge_translate::{BeamSettings, Control, Error, Rendition, ScoreRequest, Translator, Turn};
use common::{document, settings, translator, translators};

fn translate(translator: &Translator, settings: &BeamSettings) -> Vec<Vec<Rendition>> {
    let mut session = translator.session(None).unwrap();
    let translations = translator.translate_next(&mut session, &document(60, 4), settings).unwrap();
    translations.into_iter().map(|translation| translation.hypotheses).collect()
}

#[test]
fn hypotheses_are_sorted_and_their_scores_equal_those_of_scoring() {
    let translator = translator(Preset::Grouping, 2);
    let settings = BeamSettings { beam: 4, n_best: 4, ..settings() };
    let sources = document(60, 4);
    for (place, found) in translate(&translator, &settings).iter().enumerate() {
        assert_eq!(found.len(), 4);
        assert!(found.is_sorted_by(|a, b| a.score >= b.score));
        for rendition in found {
            let sum: f32 = rendition.token_scores.iter().sum();
            let mean = f64::from(sum) / rendition.tokens.len() as f64;
            assert!((mean - rendition.score).abs() < 1e-5);
            assert_eq!(rendition.tokens.last(), Some(&END));
        }
        // If the text tokenises to the same tokens, scoring it gives the same number.
        let best = &found[0];
        let mut tokens = translator.target().encode(&best.text);
        tokens.push(END);
        if tokens == best.tokens {
            let request = ScoreRequest {
                source: &sources[place],
                context: &sources[..place],
                context_translations: &[],
                shown: None,
                candidates: std::slice::from_ref(&best.text),
            };
            let score = translator.score(&[request], &|_| {}).unwrap().remove(0).remove(0);
            assert!((score.mean() - best.score).abs() < 1e-5);
            assert_eq!(score.token_scores.len(), score.tokens);
        }
    }
}

#[test]
fn lengths_words_and_prefixes_are_obeyed() {
    let translator = translator(Preset::CachingSentence, 1);
    let free = translate(&translator, &settings());
    let longest = BeamSettings { max_length: 4, ..settings() };
    for best in translate(&translator, &longest).concat() {
        assert!(best.tokens.len() <= 5);
        assert_eq!(best.is_cut, best.tokens.len() == 5);
    }
    let shortest = BeamSettings { min_length: 9, ..settings() };
    assert!(translate(&translator, &shortest).concat().iter().all(|best| best.tokens.len() > 9));
    let unwanted = free[0][0].tokens[0];
    let forbidden = BeamSettings { forbidden: vec![unwanted, UNKNOWN, 9_999], ..settings() };
    for best in translate(&translator, &forbidden).concat() {
        assert!(!best.tokens.contains(&unwanted) && !best.tokens.contains(&UNKNOWN));
    }
    let prefix = vec![unwanted + 1, 17, 23];
    for beam in [1, 3] {
        let forced = BeamSettings { beam, prefix: prefix.clone(), ..settings() };
        for best in translate(&translator, &forced).concat() {
            assert!(best.tokens.starts_with(&prefix), "{:?}", best.tokens);
        }
    }
    let sampled = BeamSettings {
        prefix: prefix.clone(),
        n_best: 2,
        sampling: Some(abridge_translate::Sampling::default()),
        ..settings()
    };
    for samples in translate(&translator, &sampled) {
        assert_eq!(samples.len(), 2);
        assert!(samples.iter().all(|sample| sample.tokens.starts_with(&prefix)));
    }
    let impossible = BeamSettings { beam: 0, ..settings() };
    let mut session = translator.session(None).unwrap();
    assert!(translator.translate_next(&mut session, &["it"], &impossible).is_err());
}

#[test]
fn a_long_sentence_is_translated_in_parts_and_nothing_is_lost() {
    let translator = translator(Preset::Grouping, 2);
    let long = document(70, 30).join(" ");
    let mut session = translator.session(None).unwrap();
    let sentences = ["it is.", &long, "it is."];
    let found = translator.translate_next(&mut session, &sentences, &settings()).unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].parts.len(), found[2].parts.len()), (1, 1));
    let parts = &found[1].parts;
    assert!(parts.len() > 5);
    let most = translator.longest_part(&settings());
    assert!(parts.iter().all(|part| part.source.len() <= most));
    let source: String =
        parts.iter().map(|part| translator.source().decode(&part.source) + " ").collect();
    assert_eq!(source.trim(), long);
    assert_eq!(found[1].hypotheses[0].tokens.iter().filter(|&&t| t == END).count(), parts.len());
    // Parts are remembered like sentences.
    assert_eq!(session.sentences(), parts.len() as u64 + 2);
}

#[test]
fn empty_sentences_have_empty_translations() {
    let translator = translator(Preset::Grouping, 2);
    let mut session = translator.session(None).unwrap();
    let found =
        translator.translate_next(&mut session, &["", " \t", "it is."], &settings()).unwrap();
    assert_eq!((found[0].text(), found[1].text()), ("", ""));
    assert!(!found[2].text().is_empty() && session.len() == 2);
    assert!(
        translator.translate_next(&mut session, &[] as &[&str], &settings()).unwrap().is_empty()
    );
}

#[test]
fn a_stopped_translation_leaves_the_session_unchanged() {
    let translator = translator(Preset::Grouping, 2);
    let mut session = translator.session(None).unwrap();
    translator.translate_next(&mut session, &["it is."], &settings()).unwrap();
    let before = session.save();
    let stop = AtomicBool::new(true);
    let control = Control { stop: Some(&stop), ..Control::default() };
    let mut turns = [Turn { session: &mut session, sentences: vec!["she saw it."] }];
    let result = translator.translate_turns(&mut turns, &settings(), &control);
    assert!(matches!(result, Err(Error::Stopped)));
    assert_eq!(session.save(), before);
}

#[test]
fn attention_is_recorded_on_request() {
    for (name, translator) in translators(2) {
        let mut session = translator.session(None).unwrap();
        let sentences = document(80, 3);
        let control = Control { attention: true, ..Control::default() };
        let mut turns = [Turn {
            session: &mut session,
            sentences: sentences.iter().map(String::as_str).collect(),
        }];
        let found =
            translator.translate_turns(&mut turns, &settings(), &control).unwrap().remove(0);
        let last = &found[2];
        let attention = last.parts[0].attention.as_ref().unwrap();
        let weights = attention.weights.mean();
        assert_eq!(weights.source.len(), last.hypotheses[0].tokens.len(), "{name}");
        assert!(weights.source.iter().all(|row| row.len() == last.parts[0].source.len()));
        for row in &attention.weights.rows {
            assert!(attention.slots.iter().any(|(slot, _)| *slot == row.slot), "{name}");
        }
    }
}

#[test]
fn a_translation_fits_the_models_positions() {
    let translator = translator(Preset::Grouping, 1);
    let settings = BeamSettings { max_length: 5000, min_length: 4000, ..settings() };
    let mut session = translator.session(None).unwrap();
    let translation = translator.translate_next(&mut session, &["it is."], &settings).unwrap();
    let best = &translation[0].hypotheses[0];
    assert!(best.is_cut);
    assert_eq!(best.tokens.len(), translator.model().config().longest_translation() + 1);

    let settings = BeamSettings { prefix: vec![9; 70], ..settings };
    let refused = translator.translate_next(&mut session, &["it is."], &settings).unwrap_err();
    assert!(refused.to_string().contains("the prefix has 70 words"), "{refused}");
}
