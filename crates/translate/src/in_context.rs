//! Translates single sentences with given contexts.

use abridge_model::SentenceInContext;

use crate::Result;
use crate::beam::Search;
use crate::given::Given;
use crate::settings::BeamSettings;
use crate::translator::Translator;
use crate::turns::Control;

/// A sentence to translate and its context.
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
    /// The best translation of each sentence. Every distinct sentence is encoded once, however many
    /// contexts it is part of, so one sentence in many contexts costs little more than the search.
    ///
    /// A memory that also holds translations gets none for the context.
    pub fn translate_in_context(
        &self,
        requests: &[InContext<'_>],
        settings: &BeamSettings,
    ) -> Result<Vec<String>> {
        settings.check()?;
        let mut given = Given::new(self);
        for (place, &request) in requests.iter().enumerate() {
            given.add(request, &[], place + 1)?;
        }
        let read = given.read()?;
        let length = |place: usize| given.tokens(place).len();
        let limits = Control::default().limits();
        self.in_batches(0..requests.len(), length, limits, |batch| {
            let in_context: Vec<SentenceInContext<'_>> =
                batch.iter().map(|&place| read.sentence(place)).collect();
            let keys = vec![0; batch.len()];
            let lists: Vec<Vec<u32>> = self.shortlist().map_or_else(Vec::new, |shortlist| {
                let tokens = batch.iter().map(|&place| given.tokens(place));
                tokens.map(|tokens| shortlist.of(tokens, &settings.prefix)).collect()
            });
            let search = Search { settings, keys: &keys, lists: &lists, control: None, stops: &[] };
            let sources = self.model().sources_from_memory(&in_context)?;
            let found = search.run(self.model(), self.lean(), sources)?;
            let text = |found: &Vec<crate::Hypothesis>| {
                found.first().map_or_else(String::new, |best| self.target().decode(&best.tokens))
            };
            Ok(found.iter().map(text).collect())
        })
    }
}
