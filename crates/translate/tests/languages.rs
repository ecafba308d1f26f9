//! One model with several target languages: a token before each source sentence.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_model::Preset;
use abridge_translate::{Control, InContext, ScoreRequest, Session, Translator, Turn};
use burn::tensor::Device;
use common::{assert_same, best, config, document, settings, tokenizer};

/// A random model with German and French as target languages.
fn translator() -> Translator {
    let settings = TrainSettings { vocabulary_size: 60, ..TrainSettings::default() };
    let (counts, languages) = (count_words(&document(1, 200), 1), ["de", "fr"].map(str::to_owned));
    let source = Tokenizer::train_towards(&counts, settings, &languages, &mut |_| {}).unwrap();
    let model = config(Preset::Grouping, 2).init(7, &Device::flex()).unwrap();
    Translator::new(model, source, tokenizer(), "model").unwrap()
}

fn tagged(document: &[String], language: &str) -> Vec<String> {
    document.iter().map(|sentence| format!(">>{language}<< {sentence}")).collect()
}

#[test]
fn a_session_keeps_its_language_in_a_batch() {
    let translator = translator();
    let documents = [document(2, 5), document(3, 7), document(4, 4)];
    let alone = |document: &[String], session: &mut Session| {
        translator.translate_next(session, document, &settings()).unwrap()
    };
    let expected: Vec<_> = [("de", 0), ("fr", 1), ("de", 2)]
        .map(|(language, place)| {
            let mut session = translator.session(None).unwrap();
            alone(&tagged(&documents[place], language), &mut session)
        })
        .into();
    let german = alone(&documents[1], &mut translator.session_towards(None, "de").unwrap());
    let difference = best(&german)[3].score - best(&expected[1])[3].score;
    assert!(difference.abs() > 1e-4, "the language matters: {difference}");

    let mut sessions =
        ["de", "fr", "de"].map(|language| translator.session_towards(None, language).unwrap());
    let mut turns: Vec<Turn<'_>> = sessions
        .iter_mut()
        .zip(&documents)
        .map(|(session, document)| {
            let sentences = document[..3].iter().map(String::as_str).collect();
            Turn { session, sentences }
        })
        .collect();
    let control = Control::default();
    let together = translator.translate_turns(&mut turns, &settings(), &control).unwrap();
    for (place, (mut found, session)) in together.into_iter().zip(&sessions).enumerate() {
        // A stored session keeps its language.
        let mut session = translator.restore(&session.save()).unwrap();
        found.extend(alone(&documents[place][3..], &mut session));
        assert_same(&format!("document {place}"), &best(&found), &best(&expected[place]));
    }
}

#[test]
fn a_translator_applies_its_language_everywhere() {
    let plain = translator();
    let french = translator().towards("fr").unwrap();
    assert_ne!(french.hash(), plain.hash(), "other translations, another hash");
    let document = document(5, 4);
    let named = tagged(&document, "fr");
    let all = |translator: &Translator, document: &[String]| {
        let document = document.to_vec();
        translator.translate_documents(&[document], &settings(), &|_| {}).unwrap().remove(0)
    };
    assert_eq!(all(&french, &document), all(&plain, &named));
    assert_eq!(all(&french, &tagged(&document, "de")), all(&plain, &tagged(&document, "de")));
    let candidates = ["the lamp.".to_owned()];
    let score = |translator: &Translator, document: &[String]| {
        let request = ScoreRequest {
            source: &document[2],
            context: &document[..2],
            context_translations: &[],
            shown: None,
            candidates: &candidates,
        };
        translator.score(&[request], &|_| {}).map(|scores| scores[0][0].sum)
    };
    assert!((score(&french, &document).unwrap() - score(&plain, &named).unwrap()).abs() < 1e-6);
    let german = translator().towards("de").unwrap();
    assert!((score(&german, &document).unwrap() - score(&plain, &named).unwrap()).abs() > 1e-6);
    let in_context = |translator: &Translator, document: &[String]| {
        let request = InContext { source: &document[1], context: &document[..1], shown: None };
        translator.translate_in_context(&[request], &settings())
    };
    assert_eq!(in_context(&french, &document).unwrap(), in_context(&plain, &named).unwrap());
    for error in [score(&plain, &document).unwrap_err(), in_context(&plain, &document).unwrap_err()]
    {
        assert!(error.to_string().contains("into de, fr"), "{error}");
    }
}

#[test]
fn every_part_of_a_long_sentence_has_the_language() {
    let french = translator().towards("fr").unwrap();
    let long = document(6, 40).join(" ");
    let code = french.source().languages().id("fr").unwrap();
    for (translator, text) in [(&french, long.clone()), (&translator(), format!(">>fr<< {long}"))] {
        let mut session = translator.session(None).unwrap();
        let found = translator.translate_next(&mut session, &[text], &settings()).unwrap();
        assert!(found[0].parts.len() > 3);
        assert!(found[0].parts.iter().all(|part| part.source[0] == code));
        // The language token is not a word of the text.
        let looked = Control { attention: true, ..Control::default() };
        let mut session = translator.session_towards(None, "fr").unwrap();
        let mut turns = [Turn { session: &mut session, sentences: vec!["the old lamp."] }];
        let found = translator.translate_turns(&mut turns, &settings(), &looked).unwrap();
        assert_eq!(translator.explain(&found[0][0]).source, ["the", "old", "lamp."]);
    }
}

#[test]
fn a_missing_language_is_an_error() {
    let translator = translator();
    let mut session = translator.session(None).unwrap();
    let error = translator.translate_next(&mut session, &["the lamp."], &settings()).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("into de, fr") && error.contains("--to de"), "{error}");
    // Blank lines need no language.
    assert_eq!(translator.translate_next(&mut session, &[" "], &settings()).unwrap()[0].text(), "");
    let error = translator.session_towards(None, "ru").unwrap_err().to_string();
    assert!(error.contains("`ru`") && error.contains("de, fr"), "{error}");
    let one = common::translator(Preset::Grouping, 2);
    let error = one.towards("fr").unwrap_err().to_string();
    assert!(error.contains("into one language"), "{error}");
}
