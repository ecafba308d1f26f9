//! Whether a document is part of a training corpus.

use std::hash::{DefaultHasher, Hasher};

use rustc_hash::FxHashSet;

use crate::Document;

/// Sentences of fewer words occur anywhere.
const LEAST_WORDS: usize = 5;

/// The sentences of a training corpus.
#[derive(Clone, Debug, Default)]
pub struct SeenSentences {
    hashes: FxHashSet<u64>,
}

impl SeenSentences {
    /// Adds the source sentences of documents.
    pub fn add(&mut self, documents: &[Document]) {
        let sentences = documents.iter().flat_map(|document| &document.segments);
        self.hashes.extend(sentences.filter_map(|segment| fingerprint(&segment.source)));
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether more than one in ten of a document's longer sentences are in the training corpus.
    pub fn has(&self, document: &Document) -> bool {
        let long: Vec<u64> =
            document.segments.iter().filter_map(|s| fingerprint(&s.source)).collect();
        let seen = long.iter().filter(|hash| self.hashes.contains(hash)).count();
        seen * 10 > long.len()
    }

    /// Whether a sentence is in the training corpus.
    pub fn has_sentence(&self, sentence: &str) -> bool {
        fingerprint(sentence).is_some_and(|hash| self.hashes.contains(&hash))
    }
}

/// A number for the words of a sentence, whatever their case and punctuation; none of a short one.
fn fingerprint(sentence: &str) -> Option<u64> {
    let words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut hasher = DefaultHasher::new();
    let mut count = 0;
    for word in words {
        hasher.write(word.to_lowercase().as_bytes());
        hasher.write_u8(b' ');
        count += 1;
    }
    (count >= LEAST_WORDS).then(|| hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;

    #[test]
    fn a_document_is_known_by_its_longer_sentences() {
        let document = |first: usize| {
            let sentence = |n: usize| Segment::new(format!("Sentence number {n} is not short."));
            let segments = (first..first + 10).map(sentence).chain([Segment::new("Yes.")]);
            Document::new("a", segments.collect())
        };
        let mut seen = SeenSentences::default();
        seen.add(&[document(0)]);
        assert!(seen.has(&document(0)));
        assert!(seen.has(&document(8)), "two of ten");
        assert!(!seen.has(&document(9)), "one of ten");
        assert!(seen.has_sentence("sentence number 3, IS NOT short!"));
        assert!(!seen.has_sentence("Yes."));
    }
}
