//! Properties of a trained tokenizer.

use proptest::prelude::*;

use super::special::{BREAK, END, PAD, SPECIAL, UNKNOWN};
use super::*;

const LINES: [&str; 8] = [
    "The kettle sings when the water is hot.",
    "Der Kessel singt, wenn das Wasser heiß ist – „so ist es“.",
    "Zoë paid €3.50 for 12 ﬁne apples; ½ were rotten…",
    "  Spaces   everywhere\u{a0}and\ttabs ",
    "A literal </s> and <brk> and <unk> in the text",
    "u\u{308}ber\u{ad}all ´ und ▁ Striche",
    "漢字とかな, русский текст, العربية, हिन्दी",
    "",
];

fn trained(vocabulary_size: usize) -> Tokenizer {
    let settings = TrainSettings { vocabulary_size, ..TrainSettings::default() };
    Tokenizer::train(&count_words(&LINES, 2), settings, &mut |_| {}).unwrap()
}

fn byte_pairs(tokenizer: &Tokenizer) -> &BytePairs {
    match &tokenizer.kind {
        Kind::BytePairs(pairs) => pairs,
        Kind::Imported(_) => unreachable!("it was trained"),
    }
}

/// Python's `tokenizers` reads the same file and gives the same ids: see `reference/make.py`.
#[test]
fn ids_and_texts_match_the_tokenizers_library() {
    let tokenizer = trained(160);
    assert_eq!(byte_pairs(&tokenizer).to_json(), include_str!("reference/tokenizer.json"));
    let cases: Vec<(String, Vec<u32>, String)> =
        serde_json::from_str(include_str!("reference/cases.json")).unwrap();
    assert_eq!(cases.len(), 1500);
    for (text, ids, decoded) in cases {
        assert_eq!(tokenizer.encode(&text), ids, "{text:?}");
        assert_eq!(tokenizer.decode(&ids), decoded, "{text:?}");
        if !ids.contains(&UNKNOWN) {
            assert_eq!(decoded, tokenizer.normalise(&text));
        }
    }
}

#[test]
fn special_tokens_have_their_ids() {
    let tokenizer = trained(160);
    assert_eq!(tokenizer.vocabulary_size(), 160);
    for (id, special) in SPECIAL.iter().enumerate() {
        assert_eq!(tokenizer.piece(id as u32), Some(*special));
        assert_eq!(tokenizer.id(special), Some(id as u32));
        assert!(tokenizer.is_special(id as u32));
    }
    assert!(!tokenizer.is_special(5));
}

#[test]
fn a_language_is_a_token_in_front_of_the_sentence() {
    let languages = ["de", "fr"].map(str::to_owned);
    let settings = TrainSettings { vocabulary_size: 160, ..TrainSettings::default() };
    let counts = count_words(&LINES, 2);
    let tokenizer = Tokenizer::train_towards(&counts, settings, &languages, &mut |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    tokenizer.save(folder.path(), "source").unwrap();
    let tokenizer = Tokenizer::load(folder.path(), "source").unwrap();
    assert_eq!(tokenizer.languages().codes().collect::<Vec<_>>(), languages);
    assert_eq!(tokenizer.vocabulary_size(), 160);
    let plain = tokenizer.encode("the water");
    let with = |id: u32| [&[id], &plain[..]].concat();
    assert_eq!(tokenizer.encode(">>fr<< the water"), with(6));
    let german = tokenizer.towards("de").unwrap();
    assert_eq!(german.encode("the water"), with(5));
    assert_eq!(german.encode(">>fr<< the water"), with(6));
    assert_eq!(german.decode(&with(5)), "the water");
    assert_eq!(encode_lines(&german, &["", " ", "the water"], 1).1, [0, 0, plain.len() + 1]);
    // In a vocabulary for one language, it is ordinary text.
    assert_eq!(trained(160).decode(&trained(160).encode(">>fr<< the")), ">>fr<< the");
    assert!(trained(160).towards("fr").is_err());
}

#[test]
fn training_text_round_trips_without_unknown_pieces() {
    let tokenizer = trained(160);
    for line in LINES {
        let ids = tokenizer.encode(line);
        assert!(ids.iter().all(|&id| !tokenizer.is_special(id)), "{line:?}: {ids:?}");
        assert_eq!(tokenizer.decode(&ids), tokenizer.normalise(line), "{line:?}");
    }
}

#[test]
fn special_tokens_are_dropped_from_text() {
    let tokenizer = trained(160);
    let mut ids = tokenizer.encode("the water");
    ids.insert(0, PAD);
    ids.extend([BREAK, END, 4_000_000]);
    assert_eq!(tokenizer.decode(&ids), "the water");
    let ids = tokenizer.encode("water \u{1F600}\u{1F600}");
    assert_eq!(ids.iter().filter(|&&id| id == UNKNOWN).count(), 1);
    assert!(tokenizer.decode(&ids).ends_with(UNKNOWN_SURFACE));
}

#[test]
fn a_saved_tokenizer_loads_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let tokenizer = trained(160);
    let files = tokenizer.save(directory.path(), "source").unwrap();
    assert_eq!(files, [directory.path().join("tokenizer.source.json")]);
    let again = Tokenizer::load(directory.path(), "source").unwrap();
    assert_eq!(byte_pairs(&again).to_json(), byte_pairs(&tokenizer).to_json());
    for line in LINES {
        assert_eq!(again.encode(line), tokenizer.encode(line));
    }
    let error = Tokenizer::load(directory.path(), "target").unwrap_err().to_string();
    assert!(error.contains("tokenizer.target.json"), "{error}");
}

#[test]
fn a_joint_vocabulary_is_in_memory_once() {
    let directory = tempfile::tempdir().unwrap();
    let place = |tokenizer: &Tokenizer| std::ptr::from_ref(byte_pairs(tokenizer));
    for name in ["source", "target"] {
        trained(160).save(directory.path(), name).unwrap();
    }
    let (source, target) = Tokenizer::load_both(directory.path()).unwrap();
    assert_eq!(place(&source), place(&target));

    trained(150).save(directory.path(), "target").unwrap();
    let (source, target) = Tokenizer::load_both(directory.path()).unwrap();
    assert_ne!(place(&source), place(&target));
    assert_eq!((source.vocabulary_size(), target.vocabulary_size()), (160, 150));

    std::fs::remove_file(directory.path().join("tokenizer.target.json")).unwrap();
    let error = Tokenizer::load_both(directory.path()).unwrap_err().to_string();
    assert!(error.contains("tokenizer.target.json"), "{error}");
}

#[test]
fn rejects_foreign_and_damaged_files_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tokenizer.json");
    let good = byte_pairs(&trained(160)).to_json();
    let cases = [
        (good.replace("NFKC", "NFC"), "`normalizer`"),
        (good.replace("</s>\":2", "</s>\":7"), "not a usable tokenizer"),
        (good[..good.len() / 2].to_owned(), "not a usable tokenizer"),
        (good.replace("\"fuse_unk\":true", "\"fuse_unk\":false"), "`fuse_unk`"),
        (good.replace("_prefix\":null", "_prefix\":\"é\""), "`continuing_subword_prefix`"),
        (String::new(), "not a usable tokenizer"),
    ];
    for (content, reason) in cases {
        std::fs::write(&path, content).unwrap();
        let error = Tokenizer::from_file(&path).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("tokenizer.json"), "{error}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let tokenizer = trained(160);
    let lines: Vec<&str> = LINES.iter().cycle().take(101).copied().collect();
    let (ids, ends) = encode_lines(&tokenizer, &lines, 1);
    assert_eq!(ends.len(), lines.len());
    assert_eq!(ids[ends[0]..ends[1]], tokenizer.encode(lines[1]));
    for threads in [2, 3, 7, 200] {
        assert_eq!(encode_lines(&tokenizer, &lines, threads), (ids.clone(), ends.clone()));
    }
    assert_eq!(encode_lines::<&str>(&tokenizer, &[], 2), (vec![], vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Whatever the text, a tokenizer trained on it spells it without unknown pieces.
    #[test]
    fn any_text_can_be_learned(lines in prop::collection::vec("\\PC{0,20}", 1..6)) {
        let counts = count_words(&lines, 1);
        let mut vocabulary_size = 5 + lines.concat().chars().count() * 20 + 20;
        // Too large on purpose at first: the error gives the largest possible size.
        let tokenizer = loop {
            let settings = TrainSettings { vocabulary_size, ..TrainSettings::default() };
            match Tokenizer::train(&counts, settings, &mut |_| {}) {
                Ok(tokenizer) => break tokenizer,
                Err(error) => {
                    let message = error.to_string();
                    if message.contains("empty") {
                        return Ok(());
                    }
                    let possible = message.split("gives only ").nth(1).unwrap();
                    let possible = possible.split(' ').next().unwrap().parse().unwrap();
                    prop_assert!(possible < vocabulary_size);
                    vocabulary_size = possible;
                }
            }
        };
        for line in &lines {
            let ids = tokenizer.encode(line);
            prop_assert!(ids.iter().all(|&id| !tokenizer.is_special(id)));
            prop_assert_eq!(tokenizer.decode(&ids), tokenizer.normalise(line));
        }
    }
}
