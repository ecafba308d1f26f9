//! Target-side context: documents, sessions and stored sessions give the same results.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_model::{DeviceKind, ModelConfig, Preset};
use abridge_translate::{
    Control, DocumentSettings, Error, ScoreRequest, Session, Translation, Translator, Turn,
};
use common::{assert_same, best, config, document, settings, tokenizer};

fn translator(preset: Preset) -> Translator {
    let config = ModelConfig { target_context: true, ..config(preset, 2) };
    let model = config.init(7, &DeviceKind::under_test().open().unwrap()).unwrap();
    Translator::new(model, tokenizer(), tokenizer(), &format!("{preset}")).unwrap()
}

fn one_by_one(
    translator: &Translator,
    session: &mut Session,
    sentences: &[String],
) -> Vec<Translation> {
    let next =
        |s: &String| translator.translate_next(session, &[s], &settings()).unwrap().remove(0);
    sentences.iter().map(next).collect()
}

#[test]
fn documents_sessions_and_stored_sessions_agree() {
    // A driver that computes on the processor takes a minute for what the processor does in a second.
    let (presets, lengths) = match DeviceKind::under_test() {
        DeviceKind::Cpu => {
            (&[Preset::Grouping, Preset::CachingTokens, Preset::PoolingMax][..], [7, 2, 5])
        }
        _ => (&[Preset::Grouping][..], [3, 1, 2]),
    };
    for &preset in presets {
        let translator = translator(preset);
        let documents = [60, 61, 62].into_iter().zip(lengths);
        let documents: Vec<_> = documents.map(|(key, length)| document(key, length)).collect();
        let translated = translator.translate_documents(&documents, &settings(), &|_| {}).unwrap();
        for (sentences, translated) in documents.iter().zip(&translated) {
            let mut session = translator.session(None).unwrap();
            let singly = one_by_one(&translator, &mut session, sentences);
            let texts: Vec<&String> = best(&singly).iter().map(|best| &best.text).collect();
            assert_eq!(texts, translated.iter().collect::<Vec<_>>(), "{preset}");

            // Stored halfway, and restored.
            let mut session = translator.session(None).unwrap();
            one_by_one(&translator, &mut session, &sentences[..1]);
            let bytes = session.save();
            let mut session = translator.restore(&bytes).unwrap();
            assert_eq!(session.save(), bytes, "{preset}");
            let rest = one_by_one(&translator, &mut session, &sentences[1..]);
            assert_same(&format!("{preset}, restored"), &best(&rest), &best(&singly)[1..]);
        }
        // Continuing after known translations.
        let all: Vec<String> = translated.concat();
        for known in [1, 4, 8].into_iter().filter(|&known| known < all.len()) {
            let how = DocumentSettings { known: &all[..known], ..DocumentSettings::default() };
            let mut rest = Vec::new();
            translator
                .translate_in_order(&documents, &settings(), &how, &mut |_, translation| {
                    rest.push(translation.into_text());
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert_eq!(rest, all[known..], "{preset}, after {known}");
        }
    }
}

#[test]
fn other_context_translations_change_the_score() {
    let translator = translator(Preset::Grouping);
    let sentences = document(63, 4);
    let score = |context_translations: &[String]| {
        let request = ScoreRequest {
            source: &sentences[3],
            context: &sentences[..3],
            context_translations,
            shown: None,
            candidates: &sentences[..1],
        };
        translator.score(&[request], &|_| {}).unwrap()[0][0].sum
    };
    let (own, other) = (document(64, 3), document(65, 3));
    assert!((score(&own) - score(&other)).abs() > 1e-6);
    assert!((score(&own) - score(&[])).abs() > 1e-6);
    // Only the last two are within reach.
    let far = [&other[..1], &own[1..]].concat();
    assert!((score(&own) - score(&far)).abs() < 1e-9);
}

#[test]
fn explanations_tell_a_sentence_from_its_translation() {
    let translator = translator(Preset::Grouping);
    let sentences = document(66, 3);
    let mut session = translator.session(None).unwrap();
    let sentences: Vec<&str> = sentences.iter().map(String::as_str).collect();
    let mut turns = [Turn { session: &mut session, sentences }];
    let control = Control { attention: true, ..Control::default() };
    let found = translator.translate_turns(&mut turns, &settings(), &control).unwrap();
    let explanation = translator.explain(&found[0][2]);
    for word in &explanation.target {
        let mut seen: Vec<(usize, bool)> =
            word.memory.iter().map(|s| (s.back, s.is_translation)).collect();
        seen.sort_unstable();
        assert_eq!(seen, [(0, false), (1, false), (1, true), (2, false), (2, true)]);
        // The weights of the context attention add up to one.
        let total: f32 = word.memory.iter().map(|sentence| sentence.weight).sum();
        assert!((total - 1.0).abs() < 1e-4, "{total}");
        for sentence in &word.memory {
            assert_eq!(sentence.rows.len(), 9, "one row per group");
            assert!((sentence.rows.iter().sum::<f32>() - sentence.weight).abs() < 1e-6);
        }
    }
}
