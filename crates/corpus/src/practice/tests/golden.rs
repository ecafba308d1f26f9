//! Documents that must not change: a seed means the same text in every version.

use super::super::{PracticeConfig, PracticeLanguage, generate};

fn first_document(language: PracticeLanguage) -> String {
    let config = PracticeConfig {
        seed: 7,
        train_documents: 1,
        valid_documents: 0,
        test_documents: 0,
        contrastive_groups: 0,
        ..PracticeConfig::new(language)
    };
    let practice = generate(&config).unwrap();
    let segments = &practice.train[0].segments;
    let lines = segments
        .iter()
        .map(|segment| format!("{}\n  {}\n", segment.source, segment.target.as_deref().unwrap()));
    lines.collect()
}

#[test]
fn german() {
    assert_eq!(first_document(PracticeLanguage::German), "");
}

#[test]
fn french() {
    assert_eq!(first_document(PracticeLanguage::French), "");
}
