//! A session: the context of a document's next sentence.
//!
//! A [`Session`] owns its data, so that a server can keep thousands of them with one
//! [`Translator`]. It holds a ring of the last sentences, each with its memory entry and the
//! entry's keys and values for every decoder layer: a sentence is encoded, shortened and projected
//! once, when it is translated.

use std::collections::VecDeque;

use abridge_model::config::Context;
use abridge_model::{MemoryLayout, Purpose, Remembered};

use crate::settings::BeamSettings;
use crate::translation::Translation;
use crate::translator::{Translator, of_language};
use crate::turns::{Control, Turn};
use crate::{Error, Result};

/// The memory of a document while it is translated.
#[derive(Clone, Debug)]
pub struct Session {
    /// The hash of the model that it belongs to.
    pub(crate) model: String,
    /// The most sentences to remember.
    pub(crate) context: usize,
    /// The last sentences, oldest first.
    pub(crate) past: VecDeque<Remembered>,
    /// How many sentences of the document have been translated.
    pub(crate) sentences: u64,
    /// The token of the target language, if the model has several.
    pub(crate) language: Option<u32>,
}

impl Session {
    /// The number of sentences that are remembered.
    pub fn len(&self) -> usize {
        self.past.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.past.is_empty()
    }

    /// The most sentences to remember.
    pub fn context_size(&self) -> usize {
        self.context
    }

    /// How many sentences of the document have been translated.
    pub fn sentences(&self) -> u64 {
        self.sentences
    }

    /// What is remembered, oldest first: tokens, memory entries and group weights.
    pub fn remembered(&self) -> impl ExactSizeIterator<Item = &Remembered> + '_ {
        self.past.iter()
    }

    /// The memory that the session takes, apart from a few bytes of bookkeeping.
    pub fn size_in_bytes(&self) -> usize {
        self.past.iter().map(Remembered::size_in_bytes).sum()
    }

    /// Forgets everything: a new document begins.
    pub fn clear(&mut self) {
        self.past.clear();
        self.sentences = 0;
    }

    /// Adds sentences that have been translated, and forgets those that are out of reach.
    pub(crate) fn advance<'a>(
        &mut self,
        read: impl DoubleEndedIterator<Item = &'a Remembered> + ExactSizeIterator,
    ) {
        self.sentences += read.len() as u64;
        let skip = read.len().saturating_sub(self.context);
        // Readings of a batch share storage; what is kept gets its own.
        self.past.extend(read.skip(skip).map(Remembered::owned));
        let forget = self.past.len().saturating_sub(self.context);
        self.past.drain(..forget);
    }
}

impl Translator {
    /// Starts a document with the model's context size, or a smaller one.
    pub fn session(&self, context: Option<usize>) -> Result<Session> {
        let context = self.context(context)?;
        let language = self.target_languages().chosen();
        let (model, past) = (self.hash().to_owned(), VecDeque::new());
        Ok(Session { model, context, past, sentences: 0, language })
    }

    /// As [`Self::session`], with one of the model's [`Self::target_languages`].
    pub fn session_towards(&self, context: Option<usize>, language: &str) -> Result<Session> {
        let language = self.target_languages().id(language).map_err(of_language)?;
        Ok(Session { language: Some(language), ..self.session(context)? })
    }

    /// The code of the language that a document is translated into, if the model has several.
    pub fn language_of(&self, session: &Session) -> Option<&str> {
        session.language.and_then(|id| self.target_languages().code(id))
    }

    /// Translates the next sentences of a document. If that fails, the session is unchanged.
    pub fn translate_next<S: AsRef<str>>(
        &self,
        session: &mut Session,
        sentences: &[S],
        settings: &BeamSettings,
    ) -> Result<Vec<Translation>> {
        let sentences = sentences.iter().map(AsRef::as_ref).collect();
        let mut turns = [Turn { session, sentences }];
        let mut translations = self.translate_turns(&mut turns, settings, &Control::default())?;
        Ok(translations.pop().unwrap_or_default())
    }

    /// The context size to use: the model's, or a smaller one on request.
    pub(crate) fn context(&self, wanted: Option<usize>) -> Result<usize> {
        let config = self.model().config();
        let most = if config.context == Context::None { 0 } else { config.context_size };
        match wanted {
            Some(wanted) if wanted > most => Err(Error::Settings(format!(
                "the context size is {wanted}, but the model was trained with {most}; ask for at \
                 most {most}, or train a model with model.context_size={wanted}"
            ))),
            wanted => Ok(wanted.unwrap_or(most)),
        }
    }

    /// Which previous sentence is in which slot.
    pub fn layout(&self) -> MemoryLayout {
        self.model().config().layout(Purpose::Inference)
    }
}
