//! P-CXMI of tagged words: how much context-dependent words gain from context.

use abridge_corpus::Document;
use serde::Serialize;

use super::{Tag, TagLanguage, TaggedWord, tag_document};
use crate::cxmi::{CxmiReport, Gain, SentenceGain};
use crate::normal::{Z95, two_sided};

/// Gains of a tag's words from the true and from a random context, by document and sentence.
type OfTag = (Option<Tag>, Vec<Vec<Sentence>>);
/// The gains of a sentence's words.
type Sentence = Vec<(f64, f64)>;

/// With fewer documents, the variance between documents cannot be estimated well.
const LEAST_DOCUMENTS: usize = 10;

/// The gain of a tag's words, in nats per word. Words of a document share its contexts, so
/// intervals and tests treat documents as independent, not words; or sentences, if there are fewer
/// than ten documents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TagGain {
    /// The tag; `None` for all words without one.
    pub tag: Option<Tag>,
    /// The number of words.
    pub words: usize,
    /// The gain from the true context.
    pub context: Gain,
    /// The gain over a random context.
    pub beyond: Gain,
}

/// The gains of tagged words, tag by tag, and of all others. The documents must be those of the
/// report.
pub fn tag_gains(
    report: &CxmiReport,
    documents: &[Document],
    language: TagLanguage,
) -> Vec<TagGain> {
    let mut gains: Vec<OfTag> =
        Tag::ALL.into_iter().map(Some).chain([None]).map(|tag| (tag, Vec::new())).collect();
    let mut lines = report.lines.iter();
    for document in documents {
        for (_, by_document) in &mut gains {
            by_document.push(Vec::new());
        }
        let side = |of: fn(&abridge_corpus::Segment) -> &str| -> Vec<String> {
            document.segments.iter().map(|segment| of(segment).to_owned()).collect()
        };
        let targets = side(|segment| segment.target.as_deref().unwrap_or_default());
        let tagged = tag_document(&side(|segment| &segment.source), &targets, language);
        // The first sentence of a document has no context and no gain.
        for (target, tagged) in targets.iter().zip(&tagged).skip(1) {
            let Some(line) = lines.next() else { break };
            for sentences in gains.iter_mut().filter_map(|(_, of_tag)| of_tag.last_mut()) {
                sentences.push(Vec::new());
            }
            add(target, tagged, line, &mut gains);
        }
    }
    let gain = |(tag, by_document): OfTag| {
        let clusters = clusters(by_document);
        TagGain {
            tag,
            words: clusters.iter().map(Vec::len).sum(),
            context: mean_of_words(&clusters, |value| value.0),
            beyond: mean_of_words(&clusters, |value| value.0 - value.1),
        }
    };
    gains.into_iter().map(gain).filter(|gain| gain.words > 0).collect()
}

/// The words that may depend on each other: those of a document, or of a sentence.
fn clusters(by_document: Vec<Vec<Sentence>>) -> Vec<Sentence> {
    let documents: Vec<Sentence> = by_document.iter().map(|sentences| sentences.concat()).collect();
    let filled = documents.iter().filter(|words| !words.is_empty()).count();
    let mut clusters = if filled >= LEAST_DOCUMENTS {
        documents
    } else {
        by_document.into_iter().flatten().collect()
    };
    clusters.retain(|words| !words.is_empty());
    clusters
}

/// The mean over words, with the variance of a mean of clusters:
/// `G / (G − 1) · Σ (Σ (x − mean))² / N²` over `G` clusters and `N` words.
fn mean_of_words(clusters: &[Sentence], value: fn(&(f64, f64)) -> f64) -> Gain {
    let words = || clusters.iter().flatten().map(value);
    let count = words().count().max(1) as f64;
    let mean = words().sum::<f64>() / count;
    let number = clusters.len() as f64;
    let squares: f64 = clusters
        .iter()
        .map(|words| words.iter().map(|word| value(word) - mean).sum::<f64>().powi(2))
        .sum();
    let deviation = if number > 1.0 {
        (number / (number - 1.0) * squares).sqrt() / count
    } else {
        f64::INFINITY
    };
    Gain {
        per_sentence: mean,
        half_width: Z95 * deviation,
        per_token: mean,
        gained: words().filter(|&gain| gain > 0.0).count() as f64 / count,
        p_value: if deviation > 0.0 { two_sided(mean.abs() / deviation) } else { 1.0 },
    }
}

/// Adds the words of a sentence. In the gains, words are separated by spaces.
fn add(target: &str, tagged: &[TaggedWord], line: &SentenceGain, gains: &mut [OfTag]) {
    let mut start = 0;
    let spaced = target.split(' ').filter_map(|word| {
        let place = start..start + word.len();
        start = place.end + 1;
        (!word.is_empty()).then_some(place)
    });
    let values = line.words.iter().zip(&line.random_words);
    for (place, ((_, gain), random)) in spaced.zip(values) {
        let own: Vec<Option<Tag>> = tagged
            .iter()
            .filter(|word| place.contains(&word.place.start))
            .map(|word| Some(word.tag))
            .collect();
        let own = if own.is_empty() { vec![None] } else { own };
        for (_, by_document) in gains.iter_mut().filter(|(tag, _)| own.contains(tag)) {
            if let Some(words) = by_document.last_mut().and_then(|sentences| sentences.last_mut()) {
                words.push((*gain, *random));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_corpus::Segment;

    #[test]
    fn gains_are_assigned_to_tagged_words() {
        let document = Document::new(
            "a",
            vec![
                Segment::pair("A dog came.", "Ein Hund kam."),
                Segment::pair("I saw it.", "Ich sah ihn."),
            ],
        );
        let words = [("Ich", 0.1), ("sah", 0.2), ("ihn.", 2.0)];
        let line = SentenceGain {
            document: "a".into(),
            sentence: 2,
            gain: 2.3,
            random: 0.0,
            words: words.map(|(word, gain)| (word.to_owned(), gain)).to_vec(),
            random_words: vec![0.1, 0.2, 0.5],
        };
        let report = CxmiReport {
            sentences: 1,
            tokens: 4,
            context: Gain::default(),
            random: Gain::default(),
            beyond: Gain::default(),
            words: Vec::new(),
            lines: vec![line],
        };
        let gains = tag_gains(&report, &[document], TagLanguage::German);
        let found: Vec<_> = gains.iter().map(|gain| (gain.tag, gain.words)).collect();
        assert_eq!(found, [(Some(Tag::Pronoun), 1), (None, 2)]);
        assert!((gains[0].context.per_sentence - 2.0).abs() < 1e-12);
        assert!((gains[0].beyond.per_sentence - 1.5).abs() < 1e-12);
    }

    #[test]
    fn words_of_one_document_are_not_independent() {
        // Ten documents of four words with equal gains: as uncertain as ten words.
        let value = |n: usize| if n.is_multiple_of(2) { 1.0 } else { -0.4 };
        let four: Vec<Vec<(f64, f64)>> = (0..10).map(|n| vec![(value(n), 0.0); 4]).collect();
        let one: Vec<Vec<(f64, f64)>> = (0..10).map(|n| vec![(value(n), 0.0)]).collect();
        let [four, one] = [four, one].map(|words| mean_of_words(&words, |value| value.0));
        assert!((four.per_sentence - 0.3).abs() < 1e-12);
        assert!((four.p_value - one.p_value).abs() < 1e-12, "{four:?} {one:?}");
        // Ten single words: the standard error of their mean, as in `Gain`.
        let plain = Gain::new(&(0..10).map(value).collect::<Vec<_>>(), 10);
        assert!((one.half_width - plain.half_width).abs() < 1e-12, "{one:?} {plain:?}");

        let documents = |count| vec![vec![vec![(1.0, 0.0); 2]; 3]; count];
        assert_eq!(clusters(documents(10)).len(), 10);
        assert_eq!(clusters(documents(9)).len(), 27, "too few documents: sentences");
    }
}
