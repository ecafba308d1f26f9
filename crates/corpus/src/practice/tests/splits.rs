//! Determinism, and splits that share no text.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::{PracticeConfig, generate, generate_annotated};
use super::{LANGUAGES, small};
use crate::Document;

#[test]
fn a_seed_determines_the_corpus() {
    for language in LANGUAGES {
        assert_eq!(small(language, 3), small(language, 3));
        assert_ne!(small(language, 3).train, small(language, 4).train);
        assert_ne!(small(language, 3).contrastive, small(language, 4).contrastive);
    }
}

#[test]
fn held_out_sets_do_not_depend_on_the_training_documents() {
    for language in LANGUAGES {
        let config = PracticeConfig {
            train_documents: 10,
            valid_documents: 30,
            test_documents: 30,
            contrastive_groups: 2,
            ..PracticeConfig::new(language)
        };
        let few = generate(&config).unwrap();
        let many = generate(&PracticeConfig { train_documents: 200, ..config }).unwrap();
        assert_eq!(few.valid, many.valid);
        assert_eq!(few.test, many.test);
        assert_eq!(few.contrastive, many.contrastive);
        assert_eq!((few.train.len(), many.train.len()), (10, 200));
    }
}

#[test]
fn splits_share_neither_documents_nor_two_sentences_in_a_row() {
    for language in LANGUAGES {
        let config = PracticeConfig {
            train_documents: 1500,
            valid_documents: 200,
            test_documents: 200,
            ..PracticeConfig::new(language)
        };
        let practice = generate(&config).unwrap();
        let contrastive: Vec<Document> = practice
            .contrastive
            .items
            .iter()
            .map(|item| {
                let texts = item.context.iter().chain([&item.source]);
                Document::new("", texts.map(crate::Segment::new).collect())
            })
            .collect();
        let splits = [&practice.train, &practice.valid, &practice.test, &contrastive];
        let pairs = splits.map(|documents| {
            let sentences = documents.iter().flat_map(|document| document.segments.windows(2));
            sentences
                .map(|pair| [pair[0].source.as_str(), pair[1].source.as_str()])
                .collect::<BTreeSet<_>>()
        });
        for (index, first) in pairs.iter().enumerate() {
            assert!(!first.is_empty());
            for second in &pairs[index + 1..] {
                assert_eq!(first.intersection(second).next(), None);
            }
        }
        let texts: BTreeSet<Vec<&str>> = splits
            .iter()
            .flat_map(|documents| documents.iter())
            .map(|document| document.segments.iter().map(|s| s.source.as_str()).collect())
            .collect();
        let count: usize = splits.iter().map(|documents| documents.len()).sum();
        assert_eq!(texts.len(), count, "a document occurs twice");
        let ids: BTreeSet<&str> =
            splits[..3].iter().flat_map(|split| split.iter()).map(|d| d.id.as_str()).collect();
        assert_eq!(ids.len(), 1900);
    }
}

#[test]
fn rejects_impossible_settings() {
    for (shortest_document, longest_document) in [(2, 5), (6, 5), (4, 13)] {
        let config =
            PracticeConfig { shortest_document, longest_document, ..PracticeConfig::default() };
        let message = generate(&config).unwrap_err().to_string();
        assert!(message.contains("between 3 and 12"), "{message}");
    }
    let config = PracticeConfig { plural_percent: Some(101), ..PracticeConfig::default() };
    assert!(generate(&config).unwrap_err().to_string().contains("between 0 and 100"));
    let message = "en-nl".parse::<super::super::PracticeLanguage>().unwrap_err().to_string();
    assert!(message.contains("en-de or en-fr"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_settings_give_documents_of_the_wanted_number_and_length(
        seed in any::<u64>(),
        french in any::<bool>(),
        shortest in 3usize..=12,
        spread in 0usize..=9,
        plural_percent in 0usize..=100,
        train_documents in 0usize..40,
    ) {
        let longest = (shortest + spread).min(12);
        let config = PracticeConfig {
            seed,
            train_documents,
            valid_documents: 3,
            test_documents: 2,
            contrastive_groups: 1,
            shortest_document: shortest,
            longest_document: longest,
            plural_percent: Some(plural_percent),
            ..PracticeConfig::new(LANGUAGES[usize::from(french)])
        };
        let practice = generate_annotated(&config).unwrap();
        prop_assert_eq!(practice.train.len(), train_documents);
        prop_assert_eq!(practice.valid.len(), 3);
        prop_assert_eq!(practice.test.len(), 2);
        prop_assert_eq!(practice.contrastive.items.len(), 36);
        for annotated in super::documents(&practice) {
            let length = annotated.document.segments.len();
            prop_assert!((shortest..=longest).contains(&length), "{} sentences", length);
            prop_assert!(!annotated.pronouns.is_empty());
        }
    }
}
