//! Written files can be read again.

use super::super::{Practice, PracticeConfig, generate};
use super::LANGUAGES;
use crate::{ContrastiveInput, ContrastiveSet, Input, read};

fn practice(config: &PracticeConfig) -> Practice {
    generate(config).unwrap()
}

fn config(language: super::super::PracticeLanguage) -> PracticeConfig {
    PracticeConfig {
        train_documents: 30,
        valid_documents: 5,
        test_documents: 5,
        contrastive_groups: 1,
        ..PracticeConfig::new(language)
    }
}

#[test]
fn written_files_read_back_as_the_same_corpus() {
    for language in LANGUAGES {
        let practice = practice(&config(language));
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("new").join("practice");
        let files = practice.write(language, &out).unwrap();
        assert_eq!(files.len(), 15);
        assert!(files.iter().all(|file| file.is_file()));
        assert_eq!(std::fs::read_dir(out.parent().unwrap()).unwrap().count(), 1, "leftovers");

        let code = language.code();
        for (name, documents) in
            [("train", &practice.train), ("valid", &practice.valid), ("test", &practice.test)]
        {
            let input =
                Input::parallel(out.join(format!("{name}.en")), out.join(format!("{name}.{code}")));
            assert_eq!(&read(&input).unwrap().documents, documents);
        }

        let json = ContrastiveInput::new(out.join("contrastive.json"), "en", code);
        let text = ContrastiveInput::new(out.join("contrastive"), "en", code);
        for input in [json, text] {
            let set = ContrastiveSet::read(&input).unwrap();
            assert_eq!(set.items.len(), practice.contrastive.items.len());
            for (read, written) in set.items.iter().zip(&practice.contrastive.items) {
                assert_eq!(read.source, written.source);
                assert_eq!(read.context, written.context);
                assert_eq!(read.target_context, written.target_context);
                assert_eq!(read.candidates, written.candidates);
                assert_eq!(read.pronoun, written.pronoun);
                assert_eq!(read.antecedent_distance, written.antecedent_distance);
                assert_eq!(read.document, written.document);
                assert_eq!(read.segment, written.segment);
            }
        }
    }
}

#[test]
fn a_directory_with_files_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.txt");
    std::fs::write(&file, "mine").unwrap();
    let config = config(LANGUAGES[0]);
    let message = practice(&config).write(config.language, directory.path()).unwrap_err();
    assert!(message.to_string().contains("not empty; name a new one"), "{message}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let blocked = directory.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let config = config(LANGUAGES[0]);
    let error = practice(&config).write(config.language, &blocked).unwrap_err();
    assert!(error.to_string().contains("file: is not a directory"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}
