//! Translations restricted to a shortlist.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use abridge_corpus::Lexicon;
use abridge_corpus::store::{EncodedSide, StoreContent, TokenStore};
use abridge_model::Preset;
use abridge_translate::shortlist::{Shortlist, ShortlistSettings};
use abridge_translate::{Control, DocumentSettings, Error, Translator};
use common::{assert_same, best, document, settings, tokenizer, translator};

/// Sentences paired with themselves as translations.
fn pairs(sentences: &[String]) -> TokenStore {
    let tokenizer = tokenizer();
    let mut side = EncodedSide { vocabulary_size: 60, ..EncodedSide::default() };
    for sentence in sentences {
        side.ids.extend(tokenizer.encode(sentence));
        side.ends.push(side.ids.len());
    }
    let content = StoreContent {
        documents: vec![("all".into(), sentences.len())],
        source: side.clone(),
        target: Some(side),
    };
    TokenStore::from_bytes(content.to_bytes().unwrap()).unwrap()
}

fn shortlist(common: usize, per_word: usize) -> Shortlist {
    let pairs = pairs(&document(1, 300));
    let lexicon = Lexicon::learn(&pairs, &mut |_, _| {}).unwrap();
    Shortlist::new(&lexicon, &pairs, ShortlistSettings { common, per_word })
}

fn translate(translator: &Translator, batch: usize) -> Vec<abridge_translate::Translation> {
    let documents: Vec<Vec<String>> = (0..3).map(|i| document(40 + i, 6)).collect();
    let control = Control { batch, ..Control::default() };
    let how = DocumentSettings { control, ..DocumentSettings::default() };
    let mut all = Vec::new();
    translator
        .translate_in_order(&documents, &settings(), &how, &mut |_, translation| {
            all.push(translation);
            Ok::<(), Error>(())
        })
        .unwrap();
    all
}

#[test]
fn a_word_is_on_its_own_list() {
    let list = shortlist(3, 2);
    let coverage = list.coverage(&pairs(&document(77, 50)));
    assert!(coverage.covered > 0.99, "{coverage:?}");
    assert!(coverage.mean_length < 30.0, "{coverage:?}");
}

#[test]
fn translations_use_the_list_and_do_not_depend_on_the_batch() {
    let plain = translator(Preset::Grouping, 2);
    let list = shortlist(4, 2);
    let short = translator(Preset::Grouping, 2).with_shortlist(list.clone());
    let together = translate(&short, 32);
    let alone = translate(&short, 1);
    assert_same("in batches", &best(&together), &best(&alone));
    let mut left_out = 0;
    for (listed, all) in together.iter().zip(translate(&plain, 32)) {
        let words = list.of(&listed.parts[0].source, &[]);
        let is_listed = |word: &u32| words.binary_search(word).is_ok();
        assert!(listed.hypotheses[0].tokens.iter().all(is_listed));
        left_out += all.hypotheses[0].tokens.iter().filter(|word| !is_listed(word)).count();
    }
    assert!(left_out > 0, "without the list, the network uses other words, too");
}

#[test]
fn a_prefix_is_written_whatever_the_list() {
    let short = translator(Preset::Sentence, 0).with_shortlist(shortlist(1, 1));
    let settings = abridge_translate::BeamSettings { prefix: vec![41, 57], ..settings() };
    let mut session = short.session(None).unwrap();
    let translation = short.translate_next(&mut session, &["the lamp."], &settings).unwrap();
    assert_eq!(translation[0].hypotheses[0].tokens[..2], [41, 57]);
}

#[test]
fn a_list_of_all_words_changes_nothing() {
    let plain = translator(Preset::Selecting, 2);
    let short = translator(Preset::Selecting, 2).with_shortlist(shortlist(60, 1));
    assert_same("all words", &best(&translate(&plain, 32)), &best(&translate(&short, 32)));
}

#[test]
fn a_model_with_another_list_has_another_hash() {
    let name = |list: Option<Shortlist>| {
        let plain = translator(Preset::Grouping, 2);
        let named = match list {
            Some(list) => plain.with_shortlist(list),
            None => plain,
        };
        named.hash().to_owned()
    };
    let names = [name(None), name(Some(shortlist(4, 2))), name(Some(shortlist(5, 2)))];
    assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2], "{names:?}");
    assert_eq!(name(Some(shortlist(4, 2))), names[1]);
}
