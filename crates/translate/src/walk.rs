//! Takes the sentences of several documents through a model: split, encode, decode.

use std::sync::atomic::AtomicBool;

use abridge_model::tokens::END;
use abridge_model::{
    MemoryLayout, Occupant, Packed, Reading, Remembered, SentenceInContext, random,
};

use crate::Result;
use crate::beam::{Hypothesis, Search};
use crate::session::Session;
use crate::settings::BeamSettings;
use crate::translation::Attention;
use crate::translator::Translator;
use crate::turns::{Control, Turn};

/// A sentence, or a part of one that is too long to be translated at once.
pub(crate) struct Piece {
    /// Which turn it belongs to.
    pub turn: usize,
    /// Which sentence of its turn it is a part of.
    pub sentence: usize,
    /// Its place among the pieces of its turn.
    place: usize,
    /// The separator between it and the next piece of its sentence.
    pub joint: &'static str,
    /// Its encoding.
    pub reading: Reading,
    /// Its hypotheses, best first, once it has been decoded.
    pub hypotheses: Vec<Hypothesis>,
    /// The attention of the best hypothesis, if requested.
    pub attention: Option<Attention>,
}

impl Piece {
    /// Its source tokens, including the end token.
    pub fn tokens(&self) -> &[u32] {
        &self.reading.remembered.tokens
    }

    /// Whether there is nothing to translate: an empty line.
    pub fn is_blank(&self) -> bool {
        self.tokens().len() == 1
    }
}

/// The hypotheses of a piece and the attention of the best.
type Found = (Vec<Hypothesis>, Option<Attention>);

/// All pieces of some turns.
pub(crate) struct Walk<'a> {
    translator: &'a Translator,
    settings: &'a BeamSettings,
    control: &'a Control<'a>,
    layout: MemoryLayout,
    /// The documents so far, one per turn.
    sessions: Vec<&'a Session>,
    /// Turn by turn, in reading order.
    pieces: Vec<Piece>,
}

impl<'a> Walk<'a> {
    /// Splits long sentences, and encodes every piece once.
    pub fn read(
        translator: &'a Translator,
        turns: &'a [Turn<'_>],
        settings: &'a BeamSettings,
        control: &'a Control<'a>,
    ) -> Result<Self> {
        let mut tokens = Vec::new();
        let mut cut = Vec::new();
        let mut encoder = translator.source().encoder();
        for (turn, Turn { session, sentences }) in turns.iter().enumerate() {
            let mut place = 0;
            encoder.set_language(session.language);
            for (sentence, text) in sentences.iter().enumerate() {
                translator.check_language(session.language, text)?;
                for (part, joint) in translator.parts(text, settings, &mut encoder) {
                    tokens.push(part);
                    cut.push((turn, sentence, place, joint));
                    place += 1;
                }
            }
        }
        let readings = translator.read_all(&tokens, control)?;
        let pieces = cut.into_iter().zip(readings);
        let pieces = pieces.map(|((turn, sentence, place, joint), reading)| Piece {
            turn,
            sentence,
            place,
            joint,
            reading,
            hypotheses: Vec::new(),
            attention: None,
        });
        Ok(Self {
            translator,
            settings,
            control,
            layout: translator.layout(),
            sessions: turns.iter().map(|turn| &*turn.session).collect(),
            pieces: pieces.collect(),
        })
    }

    /// Decodes everything. A memory that holds translations needs those of earlier sentences first;
    /// otherwise all pieces are independent.
    pub fn search(&mut self) -> Result<()> {
        if !self.layout.holds_translations {
            return self.search_at(&(0..self.pieces.len()).collect::<Vec<_>>());
        }
        let last = self.pieces.iter().map(|piece| piece.place).max();
        for wave in 0..last.map_or(0, |last| last + 1) {
            let places: Vec<usize> =
                (0..self.pieces.len()).filter(|&at| self.pieces[at].place == wave).collect();
            self.search_at(&places)?;
            let texts = places.iter().map(|&at| match self.pieces[at].hypotheses.first() {
                Some(best) if !self.pieces[at].is_blank() => {
                    self.translator.target().decode(&best.tokens)
                }
                _ => String::new(),
            });
            let texts: Vec<String> = texts.collect();
            self.remember(&places, &texts)?;
        }
        Ok(())
    }

    /// Remembers given translations of the sentences of the only turn, in order. Translations of
    /// split sentences are skipped, because they belong to no single piece.
    pub fn remember_given<S: AsRef<str>>(&mut self, translations: &[S]) -> Result<()> {
        if !self.layout.holds_translations {
            return Ok(());
        }
        let sentences = self.pieces.chunk_by(|a, b| a.sentence == b.sentence);
        let mut places = Vec::new();
        let mut texts = Vec::new();
        let mut first = 0;
        for (pieces, text) in sentences.zip(translations) {
            if pieces.len() == 1 {
                places.push(first);
                texts.push(text.as_ref());
            }
            first += pieces.len();
        }
        self.remember(&places, &texts)
    }

    /// Stores translations with their pieces.
    fn remember<S: AsRef<str>>(&mut self, places: &[usize], texts: &[S]) -> Result<()> {
        let tokens = texts.iter().map(|text| self.translator.translation_tokens(text.as_ref()));
        let tokens = Packed::new(tokens.collect::<Vec<_>>());
        let translated = self.translator.model().read_translations(&tokens)?;
        for (&place, translated) in places.iter().zip(translated) {
            self.pieces[place].reading.remembered.translation = Some(translated);
        }
        Ok(())
    }

    /// The pieces with their hypotheses.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }

    /// Decodes the pieces at the given places.
    fn search_at(&mut self, places: &[usize]) -> Result<()> {
        let length = |place: usize| self.pieces[place].tokens().len();
        let found = self.translator.in_batches(
            places.iter().copied(),
            length,
            self.control.limits(),
            |batch| {
                let found = self.search_batch(batch)?;
                (self.control.done)(batch.len());
                Ok(found)
            },
        )?;
        for (&place, (hypotheses, attention)) in places.iter().zip(found) {
            let piece = &mut self.pieces[place];
            (piece.hypotheses, piece.attention) = (hypotheses, attention);
        }
        Ok(())
    }

    fn search_batch(&self, batch: &[usize]) -> Result<Vec<Found>> {
        let (translator, settings, control) = (self.translator, self.settings, self.control);
        let pieces = || batch.iter().map(|&place| &self.pieces[place]);
        let in_context: Vec<SentenceInContext<'_>> =
            batch.iter().map(|&place| self.in_context(place)).collect();
        let keys: Vec<u64> = pieces().map(|piece| self.key(piece)).collect();
        let stops: Vec<&AtomicBool> =
            pieces().filter_map(|piece| control.stops.get(piece.turn).copied()).collect();
        let lists: Vec<Vec<u32>> = translator.shortlist().map_or_else(Vec::new, |shortlist| {
            pieces().map(|piece| shortlist.of(piece.tokens(), &settings.prefix)).collect()
        });
        let search =
            Search { settings, keys: &keys, lists: &lists, stops: &stops, control: Some(control) };

        let model = translator.model();
        let sources = model.sources_from_memory(&in_context)?;
        // The search frees what it has rearranged, unless it is needed again.
        let kept = control.attention.then(|| sources.clone());
        let hypotheses = search.run(model, translator.lean(), sources)?;
        let mut attention = vec![None; in_context.len()];
        if let Some(sources) = kept {
            // A sentence whose turn was stopped has no hypothesis.
            let best = hypotheses
                .iter()
                .map(|found| found.first().map_or(&[END][..], |best| best.tokens.as_slice()));
            let best = Packed::new(best);
            (control.before_step)(best.tokens().len());
            let weights = model.attended(&sources, &best)?;
            for ((attention, weights), sentence) in
                attention.iter_mut().zip(weights).zip(&in_context)
            {
                *attention = Some(Attention { weights, slots: self.held(sentence) });
            }
        }
        Ok(hypotheses.into_iter().zip(attention).collect())
    }

    /// A piece with its context: pieces of the same turn, then those of the session.
    fn in_context(&self, place: usize) -> SentenceInContext<'_> {
        let piece = &self.pieces[place];
        let session = self.sessions[piece.turn];
        let context = self.layout.context(|back| {
            if back > session.context {
                return None;
            }
            match back.checked_sub(piece.place + 1) {
                None => Some(&self.pieces[place - back].reading.remembered),
                Some(earlier) => session.past.iter().rev().nth(earlier),
            }
        });
        SentenceInContext { reading: &piece.reading, context }
    }

    /// The sentences in the memory slots of a sentence.
    fn held(&self, sentence: &SentenceInContext<'_>) -> Vec<(usize, Remembered)> {
        let own = &sentence.reading.remembered;
        let occupants = self.layout.occupants(own, &sentence.context, |_| false).into_iter();
        let sentence = |(slot, occupant)| match occupant {
            Occupant::Sentence(held) => Some((slot, Remembered::clone(held))),
            Occupant::TranslationOf(_) | Occupant::EmptySentence => None,
        };
        occupants.filter_map(sentence).collect()
    }

    /// The key of a piece's random numbers: its text and its position in the document.
    fn key(&self, piece: &Piece) -> u64 {
        let place = self.sessions[piece.turn].sentences + piece.place as u64;
        let tokens = piece.tokens().iter().map(|&token| u64::from(token));
        random::key(&std::iter::once(place).chain(tokens).collect::<Vec<_>>())
    }
}
