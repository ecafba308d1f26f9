//! Single sentences with given sentences before them, which are read but not translated.

use std::collections::BTreeMap;

use abridge_model::Seat;

use crate::beam::Search;
use crate::settings::BeamSettings;
use crate::translator::{Translator, sentence_tokens};
use crate::turns::Control;
use crate::{Error, Result};

/// A sentence to translate and what stands before it.
#[derive(Clone, Copy, Debug)]
pub struct InContext<'a> {
    /// The sentence.
    pub source: &'a str,
    /// The sentences before it, oldest first; only the last ones are used.
    pub context: &'a [String],
    /// As in [`ScoreRequest::shown`](crate::ScoreRequest::shown).
    pub shown: Option<&'a [Option<usize>]>,
}

impl Translator {
    /// The best translation of each sentence. Every distinct sentence is read once, however many
    /// contexts it is part of, so one sentence in many contexts costs little more than the search.
    ///
    /// A memory that holds translations, too, has none of the sentences before.
    pub fn translate_in_context(
        &self,
        requests: &[InContext<'_>],
        settings: &BeamSettings,
    ) -> Result<Vec<String>> {
        settings.check()?;
        let most = self.context(None)?;
        let longest = self.model().config().max_positions;
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut sentences: Vec<Vec<u32>> = Vec::new();
        let mut encoder = self.source().encoder();
        for (place, request) in requests.iter().enumerate() {
            self.check_language(self.target_languages().chosen(), request.source)?;
            let known = sentences.len();
            let start = request.context.len().saturating_sub(most);
            let context = request.context[start..].iter().map(String::as_str);
            for text in context.chain([request.source]) {
                places.entry(text).or_insert_with(|| {
                    sentences.push(sentence_tokens(&mut encoder, text));
                    sentences.len() - 1
                });
            }
            let tokens = sentences[known..].iter().map(Vec::len).max();
            if let Some(tokens) = tokens.filter(|&tokens| tokens > longest) {
                return Err(Error::TooLong { sentence: place + 1, tokens, most: longest });
            }
        }
        let control = Control::default();
        let readings = self.read_all(&sentences, &control)?;
        let source = |place: usize| places[requests[place].source];
        let length = |place: usize| sentences[source(place)].len();
        self.in_batches(0..requests.len(), length, control.limits(), |batch| {
            let seats: Vec<Seat<'_>> = batch
                .iter()
                .map(|&place| Seat {
                    reading: &readings[source(place)],
                    context: self.layout().context(|back| {
                        let text = requests[place].shown_at(back, most)?;
                        Some(&readings[places[text]].remembered)
                    }),
                })
                .collect();
            let keys = vec![0; batch.len()];
            let lists: Vec<Vec<u32>> = self.shortlist().map_or_else(Vec::new, |shortlist| {
                let tokens = batch.iter().map(|&place| &sentences[source(place)]);
                tokens.map(|tokens| shortlist.of(tokens, &settings.prefix)).collect()
            });
            let search = Search { settings, keys: &keys, lists: &lists, control: None, stops: &[] };
            let sources = self.model().recall(&seats)?;
            let found = search.run(self.model(), self.lean(), &sources)?;
            let text = |found: &Vec<crate::Hypothesis>| {
                found.first().map_or_else(String::new, |best| self.target().decode(&best.tokens))
            };
            Ok(found.iter().map(text).collect())
        })
    }
}

impl<'a> InContext<'a> {
    /// The sentence that is shown so many back, of at most so many.
    fn shown_at(&self, back: usize, most: usize) -> Option<&'a str> {
        let past = self.context.len().min(most);
        let place = match self.shown {
            Some(shown) => shown.get(back - 1).copied().flatten(),
            None => past.checked_sub(back),
        };
        Some(self.context[self.context.len() - past..].get(place?)?.as_str())
    }
}
