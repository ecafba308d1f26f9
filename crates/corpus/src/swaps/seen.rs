//! Detects documents that are part of a training corpus.

use crate::Document;
use crate::prepare::filter::{OverlapRecipe, Texts, folded_words};

/// Which sentences of some documents occur in a training corpus, exactly or nearly: what
/// `prepare --without` would remove from that corpus if the documents were a test set.
#[derive(Debug, Default)]
pub struct SeenSentences {
    recipe: OverlapRecipe,
    /// The longer sentences of the documents.
    texts: Texts,
    /// Which of them were seen.
    seen: Vec<bool>,
}

impl SeenSentences {
    /// Looks for the source sentences of these documents; none is seen yet.
    pub fn of(documents: &[Document]) -> Self {
        let mut sentences = Self::default();
        for segment in documents.iter().flat_map(|document| &document.segments) {
            let words = folded_words(&segment.source);
            if words.len() >= sentences.recipe.words {
                sentences.texts.add(&words);
            }
        }
        sentences.seen = vec![false; sentences.texts.len()];
        sentences
    }

    /// Marks sentences that occur in the source text of a training corpus.
    pub fn mark(&mut self, training: &[Document]) {
        for segment in training.iter().flat_map(|document| &document.segments) {
            let words = folded_words(&segment.source);
            if words.len() < self.recipe.words {
                continue;
            }
            if let Some(number) = self.texts.number(&words) {
                self.seen[number] = true;
            }
            for (number, _) in self.texts.near(&words, self.recipe.near) {
                self.seen[number] = true;
            }
        }
    }

    /// Whether more than one in ten of a document's longer sentences are in the training corpus.
    pub fn has(&self, document: &Document) -> bool {
        let long: Vec<bool> =
            document.segments.iter().filter_map(|segment| self.lookup(&segment.source)).collect();
        long.iter().filter(|seen| **seen).count() * 10 > long.len()
    }

    /// Whether a sentence is in the training corpus.
    pub fn has_sentence(&self, sentence: &str) -> bool {
        self.lookup(sentence) == Some(true)
    }

    /// Whether a sentence was seen; `None` for a short one, which recurs naturally.
    fn lookup(&self, sentence: &str) -> Option<bool> {
        self.texts.number(&folded_words(sentence)).map(|number| self.seen[number])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;

    fn document(first: usize) -> Document {
        let places =
            ["mill", "barn", "port", "inn", "lake", "moor", "tower", "mine", "farm", "well"];
        let sentence = |n: usize| {
            let (place, other) = (places[n % 10], places[(n / 10 + n) % 10]);
            Segment::new(format!(
                "From the old {place} we walked slowly to number {other} {place}."
            ))
        };
        let segments = (first..first + 10).map(sentence).chain([Segment::new("Yes.")]);
        Document::new("a", segments.collect())
    }

    #[test]
    fn a_document_is_recognised_by_its_longer_sentences() {
        let documents = [document(0), document(8), document(9)];
        let mut seen = SeenSentences::of(&documents);
        assert!(!seen.has(&documents[0]), "nothing was seen yet");
        seen.mark(&documents[..1]);
        assert!(seen.has(&documents[0]));
        assert!(seen.has(&documents[1]), "two of ten");
        assert!(!seen.has(&documents[2]), "one of ten");
        assert!(!seen.has_sentence("Yes."));
    }

    #[test]
    fn near_copies_are_defined_as_in_prepare() {
        let own = "The old lighthouse stood alone on the rock above the grey northern sea.";
        let seen = |training: &str| {
            let mut seen = SeenSentences::of(&[Document::new("a", vec![Segment::new(own)])]);
            seen.mark(&[Document::new("t", vec![Segment::new(training)])]);
            seen.has_sentence(own)
        };
        assert!(seen("the old lighthouse stood alone, on the rock above the grey northern SEA"));
        assert!(seen(&own.replace("sea", "ocean")));
        assert!(!seen("An old lighthouse stood alone on the rock above the grey northern ocean."));
    }
}
