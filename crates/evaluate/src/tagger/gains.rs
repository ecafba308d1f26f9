//! P-CXMI of tagged words: what the words that depend on context gain from it.

use abridge_corpus::Document;
use serde::Serialize;

use super::{Tag, TagLanguage, TaggedWord, tag_document};
use crate::cxmi::{CxmiReport, Gain, SentenceGain};

/// Gains of the words of a tag from the true and from a random context.
type OfTag = (Option<Tag>, Vec<(f64, f64)>);

/// What the words of a tag gained, in nats per word.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TagGain {
    /// The tag; `None` stands for all words without one.
    pub tag: Option<Tag>,
    /// How many words.
    pub words: usize,
    /// The gain from the sentences before.
    pub context: Gain,
    /// What they give beyond sentences of another place.
    pub beyond: Gain,
}

/// The gains of tagged words, tag by tag, and of all others. The documents are those that the
/// report was made of.
pub fn tag_gains(
    report: &CxmiReport,
    documents: &[Document],
    language: TagLanguage,
) -> Vec<TagGain> {
    let mut gains: Vec<OfTag> =
        Tag::ALL.into_iter().map(Some).chain([None]).map(|tag| (tag, Vec::new())).collect();
    let mut lines = report.lines.iter();
    for document in documents {
        let side = |of: fn(&abridge_corpus::Segment) -> &str| -> Vec<String> {
            document.segments.iter().map(|segment| of(segment).to_owned()).collect()
        };
        let targets = side(|segment| segment.target.as_deref().unwrap_or_default());
        let tagged = tag_document(&side(|segment| &segment.source), &targets, language);
        // The first sentence of a document has no context and no gain.
        for (target, tagged) in targets.iter().zip(&tagged).skip(1) {
            let Some(line) = lines.next() else { break };
            add(target, tagged, line, &mut gains);
        }
    }
    let gain = |(tag, values): OfTag| {
        let of = |pick: fn(&(f64, f64)) -> f64| {
            Gain::new(&values.iter().map(pick).collect::<Vec<_>>(), values.len())
        };
        TagGain {
            tag,
            words: values.len(),
            context: of(|value| value.0),
            beyond: of(|value| value.0 - value.1),
        }
    };
    gains.into_iter().filter(|(_, values)| !values.is_empty()).map(gain).collect()
}

/// Adds the words of a sentence. A word of the gains is what stands between two spaces.
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
        for (_, values) in gains.iter_mut().filter(|(tag, _)| own.contains(tag)) {
            values.push((*gain, *random));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abridge_corpus::Segment;

    #[test]
    fn gains_are_given_to_the_words_that_are_tagged() {
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
}
