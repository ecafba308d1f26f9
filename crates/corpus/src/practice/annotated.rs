//! A document with the antecedent of each of its pronouns.

use std::ops::Range;

use super::lexicon::Gender;
use super::render::{self, Rendered};
use super::sentence::Sentence;
use super::{Case, Number, PracticeLanguage};
use crate::{Document, Segment};

/// A document and its pronouns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotatedDocument {
    /// The text.
    pub document: Document,
    /// Each pronoun with an antecedent, in the order of the text.
    pub pronouns: Vec<PronounLink>,
}

/// A pronoun and its antecedent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PronounLink {
    /// The index of the segment with the pronoun.
    pub segment: usize,
    /// The index of the segment that last named the antecedent.
    pub antecedent_segment: usize,
    /// The bytes of the pronoun in the source of its segment.
    pub source: Range<usize>,
    /// The bytes of the pronoun in the target of its segment.
    pub target: Range<usize>,
    /// The bytes of the noun in the source of the antecedent's segment.
    pub source_antecedent: Range<usize>,
    /// The bytes of the noun in the target of the antecedent's segment.
    pub target_antecedent: Range<usize>,
    /// The gender of the noun in the target language.
    pub gender: Gender,
    /// Whether the noun is singular.
    pub number: Number,
    /// The role of the pronoun in the target language.
    pub case: Case,
}

impl PronounLink {
    /// How many sentences back the antecedent was named; 0 is the same sentence.
    pub fn distance(&self) -> usize {
        self.segment - self.antecedent_segment
    }
}

/// Writes out the sentences of a document.
pub(super) fn annotate(
    id: String,
    sentences: &[Sentence],
    language: PracticeLanguage,
) -> AnnotatedDocument {
    let mut segments = Vec::new();
    let mut pronouns = Vec::new();
    let mut named: Option<(usize, Range<usize>, Range<usize>)> = None;
    for (index, sentence) in sentences.iter().enumerate() {
        let (source, target) = both_sides(sentence, language);
        if let (Some(from), Some(to)) = (&source.noun, &target.noun) {
            named = Some((index, from.clone(), to.clone()));
        }
        if let (Some(case), Some(topic), Some(from), Some(to), Some(named)) =
            (sentence.mention.pronoun(), sentence.topic, source.pronoun, target.pronoun, &named)
        {
            pronouns.push(PronounLink {
                segment: index,
                antecedent_segment: named.0,
                source: from,
                target: to,
                source_antecedent: named.1.clone(),
                target_antecedent: named.2.clone(),
                gender: topic.noun.gender(language),
                number: topic.number,
                case,
            });
        }
        segments.push(Segment::pair(source.text, target.text));
    }
    AnnotatedDocument { document: Document::new(id, segments), pronouns }
}

/// Source and reference translation of a sentence.
fn both_sides(sentence: &Sentence, language: PracticeLanguage) -> (Rendered, Rendered) {
    // Without a topic there is no pronoun, and the gender is not used.
    let gender = sentence.topic.map_or(Gender::Masculine, |topic| topic.noun.gender(language));
    (render::source(sentence), render::target(sentence, language, gender))
}
