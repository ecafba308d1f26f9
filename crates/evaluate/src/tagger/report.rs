//! F1 of tagged words: how many context-dependent words a translation shares with the reference.

use std::collections::BTreeMap;
use std::ops::Range;

use abridge_base::message::counted;
use abridge_corpus::Error;
use serde::Serialize;

use super::{Tag, TagLanguage, TaggedWord, tag_document};
use crate::documents::Documents;

/// Tagged words in a translation, in its reference, and in both, sentence by sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TagCounts {
    /// In the translation.
    pub hypothesis: usize,
    /// In the reference.
    pub reference: usize,
    /// The same word with the same tag in both.
    pub matched: usize,
}

impl TagCounts {
    /// The harmonic mean of precision and recall, in percent.
    pub fn f_score(&self) -> f64 {
        let all = self.hypothesis + self.reference;
        if all == 0 { 0.0 } else { 200.0 * self.matched as f64 / all as f64 }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            hypothesis: self.hypothesis + other.hypothesis,
            reference: self.reference + other.reference,
            matched: self.matched + other.matched,
        }
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        Self {
            hypothesis: self.hypothesis - other.hypothesis,
            reference: self.reference - other.reference,
            matched: self.matched - other.matched,
        }
    }

    /// The share of the translation's tagged words that the reference has, in percent.
    pub fn precision(&self) -> f64 {
        100.0 * self.matched as f64 / self.hypothesis.max(1) as f64
    }

    /// The share of the reference's tagged words that the translation has, in percent.
    pub fn recall(&self) -> f64 {
        100.0 * self.matched as f64 / self.reference.max(1) as f64
    }
}

/// A translation's context-dependent words, compared with those of the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TagReport {
    /// The counts of each tag that occurs.
    pub tags: Vec<(Tag, TagCounts)>,
    /// For each sentence, the counts of each tag, for tests between systems.
    #[serde(skip)]
    pub sentences: Vec<BTreeMap<Tag, TagCounts>>,
}

/// Tags a translation and its reference, and compares.
pub fn tag_report(
    sources: &[String],
    hypotheses: &[String],
    references: &[String],
    documents: Option<&Documents>,
    language: TagLanguage,
) -> abridge_corpus::Result<TagReport> {
    for (what, lines) in [("hypothesis", hypotheses.len()), ("reference", references.len())] {
        if lines != sources.len() {
            return Err(Error::new(format!(
                "the {what} has {} but the source has {}",
                counted(lines, "line"),
                sources.len()
            ))
            .remedy("give files of the same test set"));
        }
    }
    let whole = 0..sources.len();
    let by_document: Vec<Range<usize>> = match documents {
        Some(documents) => documents.iter().map(|document| document.lines.clone()).collect(),
        None => std::iter::once(whole).collect(),
    };
    let mut sentences = vec![BTreeMap::new(); sources.len()];
    for lines in by_document {
        let source = &sources[lines.clone()];
        let here = tag_document(source, &hypotheses[lines.clone()], language);
        let there = tag_document(source, &references[lines.clone()], language);
        for ((line, here), there) in lines.zip(&here).zip(&there) {
            sentences[line] = compare(here, there);
        }
    }
    let mut tags: BTreeMap<Tag, TagCounts> = BTreeMap::new();
    for (tag, counts) in sentences.iter().flatten() {
        let sum = tags.entry(*tag).or_default();
        *sum = sum.plus(counts);
    }
    Ok(TagReport { tags: tags.into_iter().collect(), sentences })
}

fn compare(here: &[TaggedWord], there: &[TaggedWord]) -> BTreeMap<Tag, TagCounts> {
    // How often each word has each tag on both sides.
    let mut counts: BTreeMap<(Tag, &str), (usize, usize)> = BTreeMap::new();
    for word in here {
        counts.entry((word.tag, &word.word)).or_default().0 += 1;
    }
    for word in there {
        counts.entry((word.tag, &word.word)).or_default().1 += 1;
    }
    let mut by_tag: BTreeMap<Tag, TagCounts> = BTreeMap::new();
    for ((tag, _), (hypothesis, reference)) in counts {
        let sum = by_tag.entry(tag).or_default();
        sum.hypothesis += hypothesis;
        sum.reference += reference;
        sum.matched += hypothesis.min(reference);
    }
    by_tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_word_with_the_same_tag_is_a_match() {
        let lines = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let report = tag_report(
            &lines(&["I saw it.", "Do you see it?"]),
            &lines(&["Ich sah es.", "Siehst du ihn?"]),
            &lines(&["Ich sah ihn.", "Sehen Sie ihn?"]),
            None,
            TagLanguage::German,
        )
        .unwrap();
        let counts: BTreeMap<Tag, TagCounts> = report.tags.iter().copied().collect();
        assert_eq!(counts[&Tag::Pronoun], TagCounts { hypothesis: 2, reference: 2, matched: 1 });
        assert_eq!(counts[&Tag::Formality], TagCounts { hypothesis: 1, reference: 1, matched: 0 });
        assert!((counts[&Tag::Pronoun].f_score() - 50.0).abs() < 1e-9);
        assert!(tag_report(&[], &lines(&["a"]), &[], None, TagLanguage::German).is_err());
    }
}
