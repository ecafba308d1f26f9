//! Checks the documented properties of the practice corpus on generated text.

mod contrastive;
mod files;
mod golden;
mod grammar;
mod rule;
mod sentence_alone;
mod splits;

use super::{AnnotatedDocument, AnnotatedPractice, PracticeConfig, PracticeLanguage};

const LANGUAGES: [PracticeLanguage; 2] = [PracticeLanguage::German, PracticeLanguage::French];

/// A small corpus.
fn small(language: PracticeLanguage, seed: u64) -> AnnotatedPractice {
    super::generate_annotated(&PracticeConfig {
        seed,
        train_documents: 120,
        valid_documents: 20,
        test_documents: 20,
        contrastive_groups: 2,
        ..PracticeConfig::new(language)
    })
    .unwrap()
}

/// All documents of the three splits.
fn documents(practice: &AnnotatedPractice) -> impl Iterator<Item = &AnnotatedDocument> {
    practice.train.iter().chain(&practice.valid).chain(&practice.test)
}

/// The words of a text in lower case, without punctuation.
fn words(text: &str) -> Vec<String> {
    text.split([' ', '\''])
        .map(|word| word.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}
