//! Compares the import with the output of the real SentencePiece (`tests/fixtures/sentencepiece`).

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use serde::Deserialize;

use super::{Imported, Native};
use crate::tokenizer::Tokenizer;

#[derive(Deserialize)]
struct Expected {
    bpe: Vec<Case>,
    unigram: Vec<Case>,
    bytes: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    pieces: Vec<String>,
    native: Vec<usize>,
    decoded: String,
    ids: Option<Vec<u32>>,
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sentencepiece").join(name)
}

fn expected() -> Expected {
    serde_json::from_str(&std::fs::read_to_string(fixture("expected.json")).unwrap()).unwrap()
}

fn compare(model: &str, cases: &[Case]) {
    let imported = Imported::read(&fixture(model), None).unwrap();
    for case in cases {
        let ours = imported.native(&case.text);
        let theirs: Vec<Native> = case
            .pieces
            .iter()
            .zip(&case.native)
            .map(|(text, &id)| Native { text: text.clone(), id })
            .collect();
        assert_eq!(ours, theirs, "{:?}", case.text);
    }
}

#[test]
fn byte_pair_pieces_and_ids_equal_sentencepiece() {
    compare("bpe.model", &expected().bpe);
}

#[test]
fn unigram_pieces_and_ids_equal_sentencepiece() {
    compare("unigram.model", &expected().unigram);
}

#[test]
fn byte_fallback_equals_sentencepiece() {
    compare("bytes.model", &expected().bytes);
}

#[test]
fn ids_equal_fairseq() {
    let tokenizer =
        Tokenizer::import(&fixture("bpe.model"), Some(&fixture("bpe.dict.txt"))).unwrap();
    for case in expected().bpe {
        assert_eq!(tokenizer.encode(&case.text), case.ids.unwrap(), "{:?}", case.text);
    }
    assert_eq!(tokenizer.id("<brk>"), Some(4));
}

#[test]
fn decoding_equals_sentencepiece() {
    let expected = expected();
    for (model, cases) in [("unigram.model", expected.unigram), ("bytes.model", expected.bytes)] {
        let tokenizer = Tokenizer::import(&fixture(model), None).unwrap();
        for case in cases {
            // `<brk>` is a special token here, but text in SentencePiece.
            if !case.text.contains("<brk>") {
                let ids = tokenizer.encode(&case.text);
                assert_eq!(tokenizer.decode(&ids), case.decoded, "{:?}", case.text);
            }
        }
    }
}

#[test]
fn saved_and_loaded_again() {
    let directory = tempfile::tempdir().unwrap();
    let tokenizer =
        Tokenizer::import(&fixture("bpe.model"), Some(&fixture("bpe.dict.txt"))).unwrap();
    assert_eq!(tokenizer.save(directory.path(), "source").unwrap().len(), 2);
    let again = Tokenizer::load(directory.path(), "source").unwrap();
    let text = "Odile mended the kettle.";
    assert_eq!(again.encode(text), tokenizer.encode(text));
}

#[test]
fn a_piece_with_two_ids_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let dictionary = directory.path().join("dict.txt");
    std::fs::write(&dictionary, "<brk> 1\n▁a 2\n▁a 1\n").unwrap();
    let error = Imported::read(&fixture("bpe.model"), Some(&dictionary)).unwrap_err().to_string();
    assert!(error.contains("dict.txt") && error.contains("`▁a` has two ids"), "{error}");
}

static MODELS: LazyLock<[Imported; 2]> = LazyLock::new(|| {
    ["unigram.model", "bpe.model"].map(|model| Imported::read(&fixture(model), None).unwrap())
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A damaged file is an error or another model, never a panic.
    #[test]
    fn damaged_models_do_not_panic(cut in 0usize..20_000, flip in 0usize..20_000, bit in 0u8..8) {
        let mut bytes = std::fs::read(fixture("unigram.model")).unwrap();
        let length = bytes.len();
        bytes[flip % length] ^= 1 << bit;
        if cut % 2 == 0 {
            bytes.truncate(cut % length);
        }
        if let Ok(model) = super::Model::parse(&bytes) {
            let text = model.normalise("Zoë mended a ﬁne kettle <name> 🙂");
            super::segment::segment(&model, &text);
        }
    }

    /// The pieces always spell the normalised text.
    #[test]
    fn pieces_spell_the_text(text in "\\PC{0,40}") {
        for imported in MODELS.iter() {
            let spelled: String =
                imported.native(&text).into_iter().map(|piece| piece.text).collect();
            prop_assert_eq!(spelled, imported.model.normalise(&text));
        }
    }
}
