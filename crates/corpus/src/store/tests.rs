//! Stores round-trip, and damaged ones are rejected.

use proptest::prelude::*;

use super::*;

fn content(lengths: &[Vec<(usize, usize)>]) -> StoreContent {
    let mut content = StoreContent::default();
    let mut target = EncodedSide { vocabulary_size: 50, ..EncodedSide::default() };
    content.source.vocabulary_size = 40;
    for (index, document) in lengths.iter().enumerate() {
        content.documents.push((format!("Gespräch {index}"), document.len()));
        for &(source_length, target_length) in document {
            for token in 0..source_length {
                content.source.ids.push(5 + (token as u32 * 7 + index as u32) % 35);
            }
            content.source.ends.push(content.source.ids.len());
            for token in 0..target_length {
                target.ids.push(5 + (token as u32 * 3 + index as u32) % 45);
            }
            target.ends.push(target.ids.len());
        }
    }
    content.target = Some(target);
    content
}

fn small() -> StoreContent {
    content(&[vec![(3, 2), (0, 1)], vec![(4, 4)], vec![]])
}

#[test]
fn sentences_and_documents_are_found() {
    let content = small();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("train.tokens");
    content.write(&path).unwrap();
    let store = TokenStore::open(&path).unwrap();
    assert_eq!((store.documents(), store.sentences(), store.has_target()), (3, 3, true));
    assert_eq!(store.document(0), 0..2);
    assert_eq!(store.document(2), 3..3);
    assert_eq!(store.document_name(1), "Gespräch 1");
    assert_eq!([0, 1, 2].map(|sentence| store.document_of(sentence)), [0, 0, 1]);
    assert_eq!([0, 1, 2].map(|sentence| store.length(Side::Source, sentence)), [3, 0, 4]);
    assert_eq!(store.token_count(Side::Target), 7);
    assert_eq!(store.vocabulary_size(Side::Source), 40);
    let mut tokens = Vec::new();
    (0..3).for_each(|sentence| store.append(Side::Target, sentence, &mut tokens));
    assert_eq!(tokens, content.target.unwrap().ids);
}

#[test]
fn joined_stores_continue_the_numbering() {
    let parts = [vec![vec![(3, 2), (0, 1)], vec![(4, 4)]], vec![vec![]], vec![vec![(2, 5)]]];
    let open = |documents: &[Vec<(usize, usize)>]| {
        TokenStore::from_bytes(content(documents).to_bytes().unwrap()).unwrap()
    };
    let joined = TokenStore::join(parts.iter().map(|part| open(part)).collect()).unwrap();
    let whole = open(&parts.concat());
    assert_eq!((joined.documents(), joined.sentences()), (4, 4));
    assert_eq!(joined.token_count(Side::Target), whole.token_count(Side::Target));
    for document in 0..4 {
        assert_eq!(joined.document(document), whole.document(document));
    }
    for sentence in 0..4 {
        assert_eq!(joined.document_of(sentence), whole.document_of(sentence));
        for side in [Side::Source, Side::Target] {
            assert_eq!(joined.length(side, sentence), whole.length(side, sentence));
        }
    }
    let source_only = StoreContent { target: None, ..content(&parts[0]) };
    let source_only = TokenStore::from_bytes(source_only.to_bytes().unwrap()).unwrap();
    let error = TokenStore::join(vec![open(&parts[0]), source_only]).unwrap_err().to_string();
    assert!(error.contains("same vocabularies"), "{error}");
}

#[test]
fn a_store_may_lack_the_target_side() {
    let content = StoreContent { target: None, ..small() };
    let store = TokenStore::from_bytes(content.to_bytes().unwrap()).unwrap();
    assert!(!store.has_target());
    assert_eq!(store.length(Side::Target, 0), 0);
    let mut tokens = Vec::new();
    store.append(Side::Target, 0, &mut tokens);
    assert!(tokens.is_empty());
}

#[test]
fn contradictions_are_rejected_before_writing() {
    let mut wrong = small();
    wrong.documents.pop();
    wrong.documents.pop();
    let error = wrong.to_bytes().unwrap_err().to_string();
    assert!(error.contains("documents have 2 sentences, the source side has 3"), "{error}");
    let mut wrong = small();
    wrong.source.ids[0] = 40;
    assert!(wrong.to_bytes().unwrap_err().to_string().contains("vocabulary"));
    let mut wrong = small();
    wrong.source.ends[0] = 9;
    assert!(wrong.to_bytes().unwrap_err().to_string().contains("offsets"));
}

#[test]
fn truncated_files_name_file_and_reason() {
    let bytes = small().to_bytes().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.tokens");
    for length in [0, 1, 7, 8, 9, 127, 128, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = TokenStore::open(&path).unwrap_err().to_string();
        assert!(error.contains("test.tokens: damaged token store: it has"), "{length}: {error}");
    }
    let error = TokenStore::open(&directory.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("none: cannot read"), "{error}");
}

#[test]
fn an_unknown_version_is_named() {
    let mut bytes = small().to_bytes().unwrap();
    bytes[8] = 9;
    let error = TokenStore::from_bytes(bytes).unwrap_err().to_string();
    assert!(error.contains("its version is 9"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_flipped_bit_is_always_noticed(position in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut bytes = small().to_bytes().unwrap();
        let position = position.index(bytes.len());
        bytes[position] ^= 1 << bit;
        prop_assert!(TokenStore::from_bytes(bytes).is_err());
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(TokenStore::from_bytes(bytes).is_err());
    }

    #[test]
    fn everything_comes_back(
        lengths in prop::collection::vec(prop::collection::vec((0usize..9, 0usize..9), 0..6), 0..6)
    ) {
        let content = content(&lengths);
        let store = TokenStore::from_bytes(content.to_bytes().unwrap()).unwrap();
        let mut again = StoreContent::default();
        let mut target = EncodedSide { vocabulary_size: 50, ..EncodedSide::default() };
        again.source.vocabulary_size = 40;
        for document in 0..store.documents() {
            let range = store.document(document);
            again.documents.push((store.document_name(document).to_owned(), range.len()));
            for sentence in range {
                prop_assert_eq!(store.document_of(sentence), document);
                store.append(Side::Source, sentence, &mut again.source.ids);
                again.source.ends.push(again.source.ids.len());
                store.append(Side::Target, sentence, &mut target.ids);
                target.ends.push(target.ids.len());
            }
        }
        again.target = Some(target);
        prop_assert_eq!(again, content);
    }
}
