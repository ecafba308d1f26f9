//! Translations do not depend on batch sizes, order, sessions, caching or threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::tokens::END;
use abridge_model::{Example, Packed, Preset, Purpose, SourceBatch};
use abridge_translate::{
    BeamSettings, Control, DocumentSettings, Error, Rendition, Sampling, Translation, Translator,
    Turn, beam_search,
};
use common::{assert_same, best, document, settings, translator, translators};

/// Documents of very different lengths; together larger than a window.
fn documents() -> Vec<Vec<String>> {
    let mut documents: Vec<Vec<String>> =
        (0..5).map(|i| document(20 + i, 4 + i as usize)).collect();
    documents.insert(2, Vec::new());
    documents.push(vec!["it is.".into(), String::new(), "  ".into(), "she saw it.".into()]);
    documents
}

fn translate(
    translator: &Translator,
    documents: &[Vec<String>],
    settings: &BeamSettings,
    batch: usize,
) -> Vec<Vec<Translation>> {
    let mut all: Vec<Vec<Translation>> = documents.iter().map(|_| Vec::new()).collect();
    let control = Control { batch, ..Control::default() };
    let how = DocumentSettings { control, ..DocumentSettings::default() };
    translator
        .translate_in_order(documents, settings, &how, &mut |document, translation| {
            all[document].push(translation);
            Ok::<(), Error>(())
        })
        .unwrap();
    all
}

fn flat(all: &[Vec<Translation>]) -> Vec<&Rendition> {
    all.iter().flat_map(|translations| best(translations)).collect()
}

/// Sentence by sentence, each document in its own session.
fn in_sessions(
    translator: &Translator,
    documents: &[Vec<String>],
    settings: &BeamSettings,
) -> Vec<Vec<Translation>> {
    let one = |document: &Vec<String>| {
        let mut session = translator.session(None).unwrap();
        let next =
            |s: &String| translator.translate_next(&mut session, &[s], settings).unwrap().remove(0);
        document.iter().map(next).collect()
    };
    documents.iter().map(one).collect()
}

#[test]
fn batches_order_sessions_and_threads_change_nothing() {
    for (name, translator) in translators(2) {
        let translator = translator.with_threads(1).unwrap();
        let documents = documents();
        let expected = translate(&translator, &documents, &settings(), 1);
        let expected = flat(&expected);
        for batch in [7, 32] {
            let ours = translate(&translator, &documents, &settings(), batch);
            assert_same(&format!("{name}, batches of {batch}"), &flat(&ours), &expected);
        }
        let sessions = in_sessions(&translator, &documents, &settings());
        assert_same(&format!("{name}, sessions"), &flat(&sessions), &expected);

        let reversed: Vec<Vec<String>> = documents.iter().rev().cloned().collect();
        let mut ours = translate(&translator, &reversed, &settings(), 32);
        ours.reverse();
        assert_same(&format!("{name}, shuffled"), &flat(&ours), &expected);

        let translator = translator.with_threads(2).unwrap();
        let ours = translate(&translator, &documents, &settings(), 7);
        assert_same(&format!("{name}, two threads"), &flat(&ours), &expected);
    }
}

/// The network's result when everything is encoded again for every sentence.
fn re_encoded(translator: &Translator, document: &[String]) -> Vec<Vec<u32>> {
    let model = translator.model();
    let tokens = |sentence: &String| {
        let mut tokens = translator.source().encode(sentence);
        tokens.push(END);
        tokens
    };
    let sentences: Vec<Vec<u32>> = document.iter().map(tokens).collect();
    let one = |position: usize| {
        let context = model.config().layout(Purpose::Inference).positions(position);
        let batch = SourceBatch {
            sentences: Packed::new(&sentences),
            translations: Packed::default(),
            examples: vec![Example { source: position, context }],
        };
        let sources = model.sources(&batch).unwrap();
        beam_search(model, &sources, &settings()).remove(0).remove(0).tokens
    };
    (0..document.len()).map(one).collect()
}

#[test]
fn a_cached_memory_equals_encoding_again() {
    for context_size in [1, 3] {
        for (name, translator) in translators(context_size) {
            let document = document(30, 6);
            let cached = in_sessions(&translator, std::slice::from_ref(&document), &settings());
            let cached: Vec<_> = best(&cached[0]).iter().map(|best| best.tokens.clone()).collect();
            assert_eq!(cached, re_encoded(&translator, &document), "{name}");
        }
    }
}

#[test]
fn samples_depend_only_on_seed_and_position() {
    let translator = translator(Preset::Grouping, 2);
    let with_seed = |seed| BeamSettings {
        n_best: 3,
        sampling: Some(Sampling { top_k: 20, top_p: 0.95, temperature: 1.2, seed }),
        ..settings()
    };
    let documents = documents();
    let expected = in_sessions(&translator, &documents, &with_seed(1));
    for batch in [1, 7, 32] {
        let ours = translate(&translator, &documents, &with_seed(1), batch);
        assert_same("sampling", &flat(&ours), &flat(&expected));
    }
    let others = translate(&translator, &documents, &with_seed(2), 32);
    let texts = |all: &[Vec<Translation>]| -> Vec<String> {
        flat(all).iter().map(|best| best.text.clone()).collect()
    };
    assert_ne!(texts(&others), texts(&expected));
    let samples = &expected[0][0].hypotheses;
    assert_eq!(samples.len(), 3);
    assert!(samples[0].tokens != samples[1].tokens || samples[1].tokens != samples[2].tokens);
}

#[test]
fn turns_of_several_sessions_do_not_mix() {
    let translator = translator(Preset::CachingTokens, 2);
    let (first, second) = (document(40, 3), document(41, 5));
    let alone = |document: &[String]| {
        let mut session = translator.session(None).unwrap();
        translator.translate_next(&mut session, document, &settings()).unwrap()
    };
    let mut sessions = [translator.session(None).unwrap(), translator.session(Some(1)).unwrap()];
    let [a, b] = &mut sessions;
    let mut turns = [
        Turn { session: a, sentences: first.iter().map(String::as_str).collect() },
        Turn { session: b, sentences: second.iter().map(String::as_str).collect() },
    ];
    let both = translator.translate_turns(&mut turns, &settings(), &Control::default()).unwrap();
    assert_same("the first", &best(&both[0]), &best(&alone(&first)));
    assert_eq!((both[1].len(), sessions[0].len(), sessions[1].len()), (5, 2, 1));
}

#[test]
fn windows_and_skipped_sentences_change_nothing() {
    let translator = translator(Preset::Grouping, 3);
    let quick = BeamSettings { beam: 1, max_length: 3, ..BeamSettings::default() };
    let documents = vec![document(50, 70), document(51, 300), document(52, 5)];
    let whole = translate(&translator, &documents, &quick, 32);
    let whole = flat(&whole);
    for skip in [0, 1, 69, 70, 72, 200, 374, 375] {
        let mut rest = Vec::new();
        let known = vec![String::new(); skip];
        let how = DocumentSettings { known: &known, ..DocumentSettings::default() };
        translator
            .translate_in_order(&documents, &quick, &how, &mut |_, translation| {
                rest.push(translation);
                Ok::<(), Error>(())
            })
            .unwrap();
        assert_same(&format!("after {skip}"), &best(&rest), &whole[skip..]);
    }
}
