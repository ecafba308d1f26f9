//! Training documents for a memory, made by the model that is to get one: see
//! [`abridge_corpus::mentions`].

use abridge_corpus::mentions::{
    Candidate, CandidateSettings, Corrected, GenderTable, balanced, candidates, windows,
};
use abridge_corpus::{Document, Segment};

use crate::documents::DocumentSettings;
use crate::settings::{BeamSettings, Sampling};
use crate::translator::Translator;
use crate::turns::Control;
use crate::{Error, Result};

/// Sentences in a window of ordinary text.
const WINDOW: usize = 4;

/// Documents for a memory, and what they were made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MentionDocuments {
    /// First those with a pronoun, then windows of ordinary text.
    pub documents: Vec<Document>,
    /// How many have a pronoun.
    pub with_pronoun: usize,
    /// Sentences of the text that begin with a noun that is mentioned elsewhere.
    pub candidates: usize,
    /// How many of their translations show the gender: singular and plural, by gender.
    pub found: [Vec<usize>; 2],
}

/// A sentence with a pronoun, and its translation in the right gender.
struct Example {
    candidate: Candidate,
    corrected: Corrected,
}

impl Translator {
    /// Makes documents in which only an earlier sentence tells the gender of a pronoun, and windows of
    /// the text as it is (`ordinary`; by default half as many). All translations are this model's own,
    /// of each sentence by itself. Those of ordinary sentences are drawn at random: the most probable
    /// ones would teach the memory to be surer than the model, which has nothing to do with context.
    /// `begin` is called with the name and the number of sentences of each
    /// stage, `done` with the number of sentences just finished.
    pub fn mention_documents(
        &self,
        text: &[Document],
        table: &GenderTable,
        settings: &CandidateSettings,
        ordinary: Option<usize>,
        begin: &dyn Fn(&str, usize),
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<MentionDocuments> {
        let best = BeamSettings { beam: 1, ..self.default_search().clone() };
        let sampling = Sampling { seed: settings.seed, ..Sampling::default() };
        let sample = BeamSettings { sampling: Some(sampling), ..best.clone() };
        let translate = |stage: &str, sentences: Vec<String>, search: &BeamSettings| {
            begin(stage, sentences.len());
            self.one_by_one(sentences, search, done)
        };
        let found = candidates(text, settings);
        let count = found.len();
        let side = |of: fn(&Candidate) -> &String| found.iter().map(|c| of(c).clone()).collect();
        let named = translate("sentences with a noun", side(|c| &c.named), &best)?;
        let short = translate("sentences with a pronoun", side(|c| &c.pronominal), &best)?;
        let mut examples: Vec<Example> = Vec::new();
        for (candidate, (named, short)) in found.into_iter().zip(named.iter().zip(&short)) {
            if let Some(corrected) = table.corrected(named, short, candidate.plural) {
                examples.push(Example { candidate, corrected });
            }
        }
        let others = examples.iter().map(|Example { candidate, corrected }| {
            let noun = table.other_noun(corrected, candidate.plural);
            noun.map(|noun| candidate.with_noun(noun)).unwrap_or_default()
        });
        let others = translate("sentences with another noun", others.collect(), &best)?;
        let mut others = others.iter();
        examples.retain(|Example { corrected, .. }| {
            let other = others.next().map_or("", String::as_str);
            corrected.has_pronoun || table.differs(corrected, other)
        });
        let kind = |example: &Example| (example.candidate.plural, example.corrected.gender);
        let (examples, found) = balanced(examples, table.gender.len(), settings.seed, kind);
        let mut documents: Vec<Document> = Vec::new();
        for Example { candidate, corrected } in examples {
            for context in candidate.contexts {
                let mut segments: Vec<Segment> = context.into_iter().map(Segment::new).collect();
                segments.push(Segment::pair(&candidate.pronominal, &corrected.text));
                documents.push(Document::new(format!("mention.{:06}", documents.len()), segments));
            }
        }
        let with_pronoun = documents.len();
        for window in windows(text, ordinary.unwrap_or(with_pronoun / 2), WINDOW, settings.seed) {
            let segments = window.into_iter().map(Segment::new).collect();
            documents.push(Document::new(format!("window.{:06}", documents.len()), segments));
        }
        let open = |segment: &&mut Segment| segment.target.is_none();
        let untranslated: Vec<&mut Segment> =
            documents.iter_mut().flat_map(|document| &mut document.segments).filter(open).collect();
        let sentences = untranslated.iter().map(|segment| segment.source.clone()).collect();
        let translations = translate("contexts", sentences, &sample)?;
        for (segment, translation) in untranslated.into_iter().zip(translations) {
            segment.target = Some(translation);
        }
        Ok(MentionDocuments { documents, with_pronoun, candidates: count, found })
    }

    /// The translation of each sentence by itself.
    fn one_by_one(
        &self,
        sentences: Vec<String>,
        search: &BeamSettings,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<String>> {
        let documents: Vec<Vec<String>> = sentences.into_iter().map(|s| vec![s]).collect();
        let control = Control { done, ..Control::default() };
        let how = DocumentSettings { context: Some(0), control, ..DocumentSettings::default() };
        let mut texts = Vec::with_capacity(documents.len());
        self.translate_in_order(&documents, search, &how, &mut |_, translation| {
            texts.push(translation.into_text().replace('\n', " "));
            Ok::<(), Error>(())
        })?;
        Ok(texts)
    }
}
