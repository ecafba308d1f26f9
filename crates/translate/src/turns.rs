//! The next sentences of many documents, translated together.
//!
//! All translation goes through here: a live session is one turn, a server's requests are several,
//! and files are a few documents at a time. With source-side context, no sentence waits for
//! another's translation, so all sentences are encoded, and then decoded, in batches of similar
//! length. A model whose memory also holds translations decodes the first sentences of all
//! documents, then the second ones, and so on.

use std::sync::atomic::AtomicBool;

use crate::batches::{BATCH_SENTENCES, BATCH_TOKENS};
use crate::beam::is_set;
use crate::session::Session;
use crate::settings::BeamSettings;
use crate::translation::{Part, Rendition, Translation};
use crate::translator::Translator;
use crate::walk::{Piece, Walk};
use crate::{Error, Result};

/// The next sentences of one document.
#[derive(Debug)]
pub struct Turn<'a> {
    /// The document so far; the sentences are added to it.
    pub session: &'a mut Session,
    /// The sentences to translate.
    pub sentences: Vec<&'a str>,
}

/// Callbacks, cancellation and batch limits, which do not change translations.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Called with the number of sentences (or parts of long ones) just translated.
    pub done: &'a (dyn Fn(usize) + Sync),
    /// When set, the translation ends between two steps of the decoder with [`Error::Stopped`].
    pub stop: Option<&'a AtomicBool>,
    /// One per turn, or empty: when set, that turn alone ends between two steps of the decoder. It
    /// gets no translations and its session is unchanged; the others continue.
    pub stops: &'a [&'a AtomicBool],
    /// Whether to record the attention of the best hypotheses, which costs one more decoder pass.
    pub attention: bool,
    /// The most sentences in a batch.
    pub batch: usize,
    /// The most source tokens in a batch; a longer sentence is a batch by itself.
    pub batch_tokens: usize,
    /// Called before each step with its size: the number of tokens to encode, or of hypotheses to
    /// extend by a token. It may block, so that other work runs first.
    pub before_step: &'a (dyn Fn(usize) + Sync),
}

impl Default for Control<'_> {
    fn default() -> Self {
        Self {
            done: &|_| {},
            stop: None,
            stops: &[],
            attention: false,
            batch: BATCH_SENTENCES,
            batch_tokens: BATCH_TOKENS,
            before_step: &|_| {},
        }
    }
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("attention", &self.attention).finish_non_exhaustive()
    }
}

impl Translator {
    /// Translates the next sentences of several documents together, with the same results as alone.
    /// If that fails, all sessions are unchanged.
    pub fn translate_turns(
        &self,
        turns: &mut [Turn<'_>],
        settings: &BeamSettings,
        control: &Control<'_>,
    ) -> Result<Vec<Vec<Translation>>> {
        settings.check()?;
        if turns.iter().any(|turn| turn.session.model != self.hash()) {
            return Err(Error::Session("the session belongs to another model".into()));
        }
        let mut walk = Walk::read(self, turns, settings, control)?;
        walk.search()?;
        let mut pieces = walk.into_pieces().into_iter().peekable();
        let mut translations = Vec::with_capacity(turns.len());
        for (number, turn) in turns.iter_mut().enumerate() {
            let own: Vec<Piece> =
                std::iter::from_fn(|| pieces.next_if(|piece| piece.turn == number)).collect();
            // Checked only once, so that a turn is stopped either entirely or not at all.
            if is_set(control.stops.get(number)) {
                translations.push(Vec::new());
                continue;
            }
            turn.session.advance(own.iter().map(|piece| &piece.reading.remembered));
            translations.push(self.put_together(turn.sentences.len(), own));
        }
        Ok(translations)
    }

    /// Reads the next sentences of a document without translating them.
    ///
    /// `translations` are those of the sentences, in order, or empty. They are used only if the
    /// model's memory holds translations, and only for sentences that are not split.
    pub fn remember_only<S: AsRef<str>>(
        &self,
        session: &mut Session,
        sentences: &[S],
        translations: &[S],
        settings: &BeamSettings,
        control: &Control<'_>,
    ) -> Result<()> {
        // Sentences that would be forgotten at once are only counted.
        let forgotten = sentences.len().saturating_sub(session.context);
        let (counted, read) = sentences.split_at(forgotten);
        let translations = translations.get(forgotten..).unwrap_or_default();
        let mut encoder = self.source().encoder();
        encoder.set_language(session.language);
        for sentence in counted {
            let parts = self.parts(sentence.as_ref(), settings, &mut encoder).len();
            session.sentences += parts as u64;
        }
        let sentences = read.iter().map(AsRef::as_ref).collect();
        let turns = [Turn { session, sentences }];
        let mut walk = Walk::read(self, &turns, settings, control)?;
        walk.remember_given(translations)?;
        let pieces = walk.into_pieces();
        let [turn] = turns;
        turn.session.advance(pieces.iter().map(|piece| &piece.reading.remembered));
        Ok(())
    }

    /// The translations of this many sentences, from their pieces.
    fn put_together(&self, sentences: usize, pieces: Vec<Piece>) -> Vec<Translation> {
        let mut pieces = pieces.into_iter().peekable();
        let translation = |sentence| {
            let own = std::iter::from_fn(|| pieces.next_if(|piece| piece.sentence == sentence));
            self.join(own.collect())
        };
        (0..sentences).map(translation).collect()
    }

    /// The translation of a sentence from those of its pieces.
    fn join(&self, pieces: Vec<Piece>) -> Translation {
        let mut renditions: Vec<Vec<Rendition>> = Vec::with_capacity(pieces.len());
        let mut joints = Vec::with_capacity(pieces.len());
        let mut parts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            joints.push(piece.joint);
            let is_blank = piece.is_blank();
            let attention = if is_blank { None } else { piece.attention };
            parts.push(Part { source: piece.reading.remembered.tokens, attention });
            let found = piece.hypotheses.into_iter();
            renditions.push(if is_blank {
                vec![Rendition::empty()]
            } else {
                found.map(|best| Rendition::new(self.target().decode(&best.tokens), best)).collect()
            });
        }
        let count = renditions.iter().map(Vec::len).max().unwrap_or(0);
        let mut hypotheses: Vec<Rendition> = if let [alone] = &mut renditions[..] {
            std::mem::take(alone)
        } else {
            // Joins hypotheses of equal rank; a part with fewer uses its last one.
            let chosen = |rank: usize| -> Vec<&Rendition> {
                renditions.iter().filter_map(|found| found.get(rank).or(found.last())).collect()
            };
            (0..count).map(|rank| Rendition::join(&chosen(rank), &joints)).collect()
        };
        if hypotheses.is_empty() {
            hypotheses.push(Rendition::empty());
        }
        Translation { hypotheses, parts }
    }
}
