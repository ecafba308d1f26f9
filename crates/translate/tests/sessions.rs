//! Sessions: the same results as whole documents, bounded memory, and validated bytes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::atomic::AtomicBool;

use abridge_model::Preset;
use abridge_translate::{BeamSettings, Control, Error, Session, Translation, Translator, Turn};
use common::{assert_same, best, document, settings, translator, translators};

fn one_by_one(translator: &Translator, document: &[String]) -> Vec<Translation> {
    let mut session = translator.session(None).unwrap();
    let next = |sentence: &String| {
        translator.translate_next(&mut session, &[sentence], &settings()).unwrap().remove(0)
    };
    document.iter().map(next).collect()
}

#[test]
fn sessions_belong_to_any_thread() {
    fn is_free<T: Send + 'static>() {}
    is_free::<Session>();
}

#[test]
fn a_restored_session_continues_unchanged() {
    for (name, translator) in translators(2) {
        let document = document(5, 7);
        let expected = one_by_one(&translator, &document);
        let mut session = translator.session(None).unwrap();
        let mut ours =
            translator.translate_next(&mut session, &document[..4], &settings()).unwrap();
        let bytes = session.save();
        let mut session = translator.restore(&bytes).unwrap();
        assert_eq!(session.save(), bytes, "{name}");
        assert_eq!(session.sentences(), 4);
        ours.extend(translator.translate_next(&mut session, &document[4..], &settings()).unwrap());
        assert_same(&name, &best(&ours), &best(&expected));
    }
}

#[test]
fn a_context_can_be_smaller_but_not_larger() {
    let translator = translator(Preset::Grouping, 3);
    let error = translator.session(Some(4)).unwrap_err().to_string();
    assert!(error.contains("model.context_size=4"), "{error}");
    let document = document(6, 5);
    let of = |context| {
        let mut session = translator.session(context).unwrap();
        let translations = translator.translate_next(&mut session, &document, &settings()).unwrap();
        (session.len(), translations)
    };
    let ((three, full), (one, near), (none, alone)) = (of(None), of(Some(1)), of(Some(0)));
    assert_eq!((three, one, none), (3, 1, 0));
    let scores = |t: &[Translation]| t.iter().map(Translation::score).collect::<Vec<_>>();
    assert!((scores(&full)[1] - scores(&near)[1]).abs() < 1e-6, "only one sentence is known");
    assert!((scores(&full)[4] - scores(&near)[4]).abs() > 1e-6, "three differ from one");
    assert!((scores(&near)[4] - scores(&alone)[4]).abs() > 1e-6, "one differs from none");
}

#[test]
fn a_stopped_turn_does_not_affect_the_others() {
    let translator = translator(Preset::Grouping, 2);
    let (mut left, mut stays) =
        (translator.session(None).unwrap(), translator.session(None).unwrap());
    translator.translate_next(&mut left, &document(3, 2), &settings()).unwrap();
    let before = left.save();
    let (gone, going) = (AtomicBool::new(true), AtomicBool::new(false));
    let documents = [document(11, 5), document(12, 5)];
    let texts = |place: usize| documents[place].iter().map(String::as_str).collect();
    let mut turns = [
        Turn { session: &mut left, sentences: texts(0) },
        Turn { session: &mut stays, sentences: texts(1) },
    ];
    let stops = [&gone, &going];
    let control = Control { stops: &stops, attention: true, ..Control::default() };
    let found = translator.translate_turns(&mut turns, &settings(), &control).unwrap();
    assert!(found[0].is_empty());
    assert_eq!(left.save(), before, "a stopped turn is not remembered");
    assert!(found[1].iter().all(|translation| translation.parts[0].attention.is_some()));
    let alone = one_by_one(&translator, &documents[1]);
    assert_same("beside a stopped turn", &best(&found[1]), &best(&alone));
    assert_eq!(stays.sentences(), 5);
}

#[test]
fn clearing_starts_a_new_document() {
    let translator = translator(Preset::CachingTokens, 2);
    let sentences = document(7, 3);
    let mut session = translator.session(None).unwrap();
    let first = translator.translate_next(&mut session, &sentences, &settings()).unwrap();
    assert!(session.size_in_bytes() > 0 && !session.is_empty());
    session.clear();
    assert!(session.is_empty() && session.size_in_bytes() == 0 && session.sentences() == 0);
    let again = translator.translate_next(&mut session, &sentences, &settings()).unwrap();
    assert_same("cleared", &best(&first), &best(&again));
}

#[test]
fn memory_does_not_grow_over_ten_thousand_sentences() {
    let translator = translator(Preset::Grouping, 3);
    let quick = BeamSettings { beam: 1, max_length: 1, ..BeamSettings::default() };
    let document = document(8, 10_000);
    let mut session = translator.session(None).unwrap();
    let entry = |tokens: usize| tokens * 4 + 4 * (9 * 16 * 5 + tokens * 9);
    for (turn, sentences) in document.chunks(8).enumerate() {
        translator.translate_next(&mut session, sentences, &quick).unwrap();
        let tokens: Vec<usize> = session.remembered().map(|r| r.tokens.len()).collect();
        assert_eq!(tokens.len(), 3);
        let expected: usize = tokens.iter().map(|&tokens| entry(tokens)).sum();
        assert_eq!(session.size_in_bytes(), expected, "after turn {turn}");
    }
    assert_eq!(session.sentences(), 10_000);
}

#[test]
fn damaged_bytes_are_refused_without_a_panic() {
    let translator = translator(Preset::Selecting, 2);
    let mut session = translator.session(None).unwrap();
    translator.translate_next(&mut session, &document(9, 3), &settings()).unwrap();
    let whole = session.save();
    let refused = |bytes: &[u8]| {
        let error = translator.restore(bytes).unwrap_err();
        assert!(
            matches!(error, Error::Session(_) | Error::Model(_) | Error::Settings(_)),
            "{error}"
        );
    };
    for kept in (0..whole.len()).step_by(7).chain([0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1])
    {
        refused(&whole[..kept]);
    }
    for place in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << (place % 8);
        refused(&flipped);
    }
    // Even with a valid checksum: no panic, no unbounded allocation.
    let body = whole.len() - 32;
    for place in 0..body {
        for value in [0x00, 0x7f, 0xff] {
            let mut forged = whole.clone();
            forged[place] = value;
            let checksum = abridge_base::hash::digest(&[&forged[..body]]);
            forged[body..].copy_from_slice(&checksum);
            let _ = translator.restore(&forged);
        }
    }
    let mut longer = whole[..body].to_vec();
    longer.extend_from_slice(&[0; 64]);
    let checksum = abridge_base::hash::digest(&[&longer]);
    longer.extend_from_slice(&checksum);
    assert!(translator.restore(&longer).unwrap_err().to_string().contains("follow its end"));
}

#[test]
fn sessions_of_other_models_are_refused() {
    let (ours, theirs) = (translator(Preset::Grouping, 2), translator(Preset::Selecting, 2));
    let mut session = theirs.session(None).unwrap();
    let error = ours.restore(&session.save()).unwrap_err().to_string();
    assert!(error.contains("another model"), "{error}");
    assert!(ours.translate_next(&mut session, &["it is."], &settings()).is_err());
}
