//! Reads the documents of a split from its files.

use std::collections::BTreeSet;
use std::path::Path;

use super::recipe::InputFiles;
use crate::{Document, Error, Result, read};

/// The documents of one split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitDocuments {
    /// `train`, `valid` or `test`, after the name of the corpus if there are several:
    /// `europarl/train`.
    pub name: String,
    /// The documents in order; none is empty, no two have the same id.
    pub documents: Vec<Document>,
}

impl SplitDocuments {
    /// Checks documents that do not come from files.
    pub fn new(name: &str, documents: Vec<Document>) -> Result<Self> {
        let mut split = Self { name: name.to_owned(), documents };
        split.documents.retain(|document| !document.segments.is_empty());
        let segments = || split.documents.iter().flat_map(|document| &document.segments);
        let with = segments().filter(|segment| segment.target.is_some()).count();
        check_translations(name, segments().count(), with)?;
        Ok(split)
    }

    /// Reads the files of a split, one after the other.
    pub fn read(name: &str, files: &[InputFiles], data: &Path) -> Result<Self> {
        let mut documents: Vec<Document> = Vec::new();
        let mut ids = BTreeSet::new();
        for part in files {
            let corpus = read(&part.input(data)?)?;
            if corpus.documents.iter().all(|document| document.segments.is_empty()) {
                return Err(Error::new(format!("has no sentences for the {name} split"))
                    .in_file(&data.join(&part.source))
                    .remedy("check that it is the right file"));
            }
            for mut document in corpus.documents {
                // Otherwise sets that number their documents from 1 would collide.
                if ids.contains(&document.id) {
                    document.id = format!("{}/{}", part.source.display(), document.id);
                }
                ids.insert(document.id.clone());
                documents.push(document);
            }
        }
        Self::new(name, documents)
    }

    /// The split without its corpus: `train`, `valid` or `test`.
    pub fn kind(&self) -> &str {
        kind(&self.name)
    }

    /// Whether there are translations.
    pub fn has_target(&self) -> bool {
        self.documents
            .first()
            .and_then(|document| document.segments.first())
            .is_some_and(|segment| segment.target.is_some())
    }

    /// The sentences of the source side.
    pub fn source_lines(&self) -> Vec<&str> {
        let segments = self.documents.iter().flat_map(|document| &document.segments);
        segments.map(|segment| segment.source.as_str()).collect()
    }

    /// The sentences of the target side; none if it is missing.
    pub fn target_lines(&self) -> Vec<&str> {
        let segments = self.documents.iter().flat_map(|document| &document.segments);
        segments.filter_map(|segment| segment.target.as_deref()).collect()
    }
}

/// Rejects a split without sentences or with missing translations. Only a test split may have none
/// at all.
pub(super) fn check_translations(name: &str, sentences: usize, with: usize) -> Result<()> {
    if sentences == 0 {
        return Err(Error::new(format!("the {name} split is empty"))
            .remedy("check that its files hold text, or leave the split out"));
    }
    if with != sentences && (with > 0 || kind(name) != "test") {
        return Err(Error::new(format!(
            "the {name} split has {sentences} sentences, but {with} translations"
        ))
        .remedy("name a target file for every source file of the split"));
    }
    Ok(())
}

/// `train` of `europarl/train`.
pub(super) fn kind(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;

    #[test]
    fn equal_ids_in_two_files_are_different_documents() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        for set in ["one", "two"] {
            write(&format!("{set}.en"), "A line.\nAnother.\n");
            write(&format!("{set}.de"), "Eine Zeile.\nNoch eine.\n");
            write(&format!("{set}.docids"), "7\n7\n");
        }
        let files = ["one", "two"].map(|set| InputFiles {
            source: format!("{set}.en").into(),
            target: Some(format!("{set}.de").into()),
            ..InputFiles::default()
        });
        let split = SplitDocuments::read("valid", &files, directory.path()).unwrap();
        let ids: Vec<&str> = split.documents.iter().map(|d| d.id.as_str()).collect();
        assert_eq!(ids, ["7", "two.en/7"]);
        assert_eq!(split.source_lines().len(), 4);
        assert!(split.has_target());
    }

    #[test]
    fn empty_splits_and_missing_translations_are_errors() {
        let error = SplitDocuments::new("train", vec![]).unwrap_err().to_string();
        assert!(error.contains("train split is empty"), "{error}");
        let alone = Document::new("a", vec![Segment::new("Only this.")]);
        let both = Document::new("b", vec![Segment::pair("One.", "Eins.")]);
        let error = SplitDocuments::new("valid", vec![alone.clone()]).unwrap_err().to_string();
        assert!(error.contains("1 sentences, but 0 translations"), "{error}");
        assert!(SplitDocuments::new("test", vec![alone.clone()]).is_ok());
        assert!(SplitDocuments::new("test", vec![alone, both]).is_err());
    }
}
