//! The next sentences of many documents, translated together.
//!
//! This is the one walk that everything takes: a live session is one turn, a server's requests are
//! several, and files are a few documents at a time. With context of the source side nothing waits
//! for a translation, so all sentences are read, and then decoded, in batches of similar length. A
//! model whose memory holds translations, too, decodes the first sentences of all documents, then
//! the second ones, and so on.

use std::sync::atomic::AtomicBool;

use abridge_model::{Packed, Reading, Remembered, Seat, random};

use crate::beam::{Hypothesis, Search, is_set};
use crate::session::Session;
use crate::settings::BeamSettings;
use crate::split::{SplitPart, split};
use crate::translation::{Attention, Part, Rendition, Translation};
use crate::translator::{Translator, sentence_tokens};
use crate::{Error, Result};

/// Sentences of a batch.
pub const BATCH_SENTENCES: usize = 32;
/// Source tokens of a batch.
const BATCH_TOKENS: usize = 3000;

/// The next sentences of one document.
#[derive(Debug)]
pub struct Turn<'a> {
    /// The document so far; it remembers the sentences afterwards.
    pub session: &'a mut Session,
    /// What is to be translated.
    pub sentences: Vec<&'a str>,
}

/// What accompanies a translation without changing it.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Hears how many sentences (or parts of long ones) have just been translated.
    pub done: &'a (dyn Fn(usize) + Sync),
    /// When set, the translation ends between two steps of the decoder with [`Error::Stopped`].
    pub stop: Option<&'a AtomicBool>,
    /// One per turn, or none at all: when it is set, that turn alone ends between two steps of the
    /// decoder. It gets no translations and its session stays as it was; the others go on.
    pub stops: &'a [&'a AtomicBool],
    /// Whether to note where the best hypotheses looked; costs one more pass of the decoder.
    pub attention: bool,
    /// The most sentences of a batch.
    pub batch: usize,
    /// The most source tokens of a batch; a longer sentence is a batch by itself.
    pub batch_tokens: usize,
    /// Called before each step with its size: the tokens that are about to be read, or the hypotheses
    /// that are about to grow by a token. It may wait, so that something else is computed first.
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

/// A part of a sentence, ready to be read.
struct Piece<'a> {
    tokens: Vec<u32>,
    /// Which turn it belongs to.
    turn: usize,
    /// Its place among the pieces of its turn.
    place: usize,
    /// Nothing to translate: an empty line.
    is_blank: bool,
    joint: &'a str,
}

/// What was found for a piece.
struct Found {
    hypotheses: Vec<Hypothesis>,
    attention: Option<Attention>,
}

impl Translator {
    /// Translates the next sentences of several documents together. Each gets what it would get
    /// alone. Where that fails, all sessions stay as they were.
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
        let (pieces, counts) = self.pieces(turns, settings);
        let mut readings = self.read_all(&pieces, control)?;
        let found = if self.model().config().target_context {
            self.search_in_order(&pieces, &mut readings, turns, settings, control)?
        } else {
            let all: Vec<usize> = (0..pieces.len()).collect();
            self.search_all(&all, &pieces, &readings, turns, settings, control)?
        };

        // Looked at once: a turn is either stopped altogether or not at all.
        let stopped: Vec<bool> =
            (0..turns.len()).map(|turn| is_set(control.stops.get(turn))).collect();
        advance(turns, &counts, &readings, &stopped);
        let mut found = pieces.into_iter().zip(found);
        let mut translation =
            |count: usize| self.put_together(found.by_ref().take(count).collect());
        let mut translations: Vec<Vec<Translation>> = counts
            .into_iter()
            .map(|counts| counts.into_iter().map(&mut translation).collect())
            .collect();
        for (translations, _) in
            translations.iter_mut().zip(stopped).filter(|(_, stopped)| *stopped)
        {
            translations.clear();
        }
        Ok(translations)
    }

    /// Reads the next sentences of a document without translating them.
    ///
    /// `translations` are those of the sentences, in order, or of none of them. They matter only to
    /// a model whose memory holds translations, and only those of sentences that are not split.
    pub fn remember_only<S: AsRef<str>>(
        &self,
        session: &mut Session,
        sentences: &[S],
        translations: &[S],
        settings: &BeamSettings,
        control: &Control<'_>,
    ) -> Result<()> {
        // Those that will be forgotten at once are only counted.
        let forgotten = sentences.len().saturating_sub(session.context);
        let (counted, read) = sentences.split_at(forgotten);
        let translations = translations.get(forgotten..).unwrap_or_default();
        let mut encoder = self.source().encoder();
        for sentence in counted {
            let parts = self.parts(sentence.as_ref(), settings, &mut encoder).len();
            session.sentences += parts as u64;
        }
        let sentences = read.iter().map(AsRef::as_ref).collect();
        let mut turns = [Turn { session, sentences }];
        let (pieces, counts) = self.pieces(&turns, settings);
        let mut readings = self.read_all(&pieces, control)?;
        if self.model().config().target_context {
            let starts = counts[0].iter().scan(0, |next, &count| {
                *next += count;
                Some((*next - count, count))
            });
            let whole = starts.zip(translations).filter(|((_, count), _)| *count == 1);
            let (places, texts): (Vec<usize>, Vec<&str>) =
                whole.map(|((place, _), text)| (place, text.as_ref())).unzip();
            self.remember_translations(&mut readings, &places, &texts)?;
        }
        advance(&mut turns, &counts, &readings, &[]);
        Ok(())
    }

    /// All sentences in pieces, and for each sentence of each turn how many pieces it became.
    fn pieces(
        &self,
        turns: &[Turn<'_>],
        settings: &BeamSettings,
    ) -> (Vec<Piece<'static>>, Vec<Vec<usize>>) {
        let mut pieces: Vec<Piece<'static>> = Vec::new();
        let mut counts: Vec<Vec<usize>> = Vec::with_capacity(turns.len());
        let mut encoder = self.source().encoder();
        for (number, turn) in turns.iter().enumerate() {
            let first = pieces.len();
            let counted = turn.sentences.iter().map(|sentence| {
                let parts = self.parts(sentence, settings, &mut encoder);
                let count = parts.len();
                pieces.extend(parts.into_iter().map(|(tokens, joint)| Piece {
                    is_blank: tokens.len() == 1,
                    tokens,
                    turn: number,
                    place: 0,
                    joint,
                }));
                count
            });
            counts.push(counted.collect());
            for (place, piece) in pieces[first..].iter_mut().enumerate() {
                piece.place = place;
            }
        }
        (pieces, counts)
    }

    /// The tokens of a sentence in parts that the model can read and whose translations may be as
    /// long as they are, each with what joins it to the next.
    fn parts(
        &self,
        sentence: &str,
        settings: &BeamSettings,
        encoder: &mut abridge_corpus::tokenizer::Encoder<'_>,
    ) -> Vec<(Vec<u32>, &'static str)> {
        let most = self.longest_part(settings);
        let whole = sentence_tokens(encoder, sentence);
        if whole.len() <= most {
            return vec![(whole, "")];
        }
        let mut size = |text: &str| sentence_tokens(encoder, text).len();
        let parts = split(sentence, most, &mut size);
        parts
            .into_iter()
            .map(|SplitPart { text, joint }| {
                let mut tokens = sentence_tokens(encoder, text);
                // One character may be more tokens than fit only if hardly any fit.
                tokens.truncate(most.saturating_sub(1).max(1));
                if tokens.last() != Some(&abridge_model::tokens::END) {
                    tokens.push(abridge_model::tokens::END);
                }
                (tokens, joint)
            })
            .collect()
    }

    /// The most source tokens, the end included, that are translated at once; a longer sentence is
    /// translated in parts. It is what the model has positions for, or the longest translation if
    /// that is less, so that no translation is cut for want of room.
    pub fn longest_part(&self, settings: &BeamSettings) -> usize {
        // A short limit is a wish for short translations, not for short parts.
        let room = settings.max_length.max(100) + 1;
        self.model().config().max_positions.min(room).max(2)
    }

    /// Reads everything once, in batches of similar length.
    fn read_all(&self, pieces: &[Piece<'_>], control: &Control<'_>) -> Result<Vec<Reading>> {
        let all: Vec<usize> = (0..pieces.len()).collect();
        let batches = batches(&all, pieces, control);
        let read = self.workers().run(batches.clone(), |batch: Vec<usize>| {
            let tokens = batch.iter().map(|&place| &pieces[place].tokens);
            (control.before_step)(tokens.clone().map(Vec::len).sum());
            Ok(self.model().read(&Packed::new(tokens))?)
        })?;
        Ok(in_order(&batches, read))
    }

    /// Decodes sentence after sentence of each turn, and remembers what was made of it before the
    /// next.
    fn search_in_order(
        &self,
        pieces: &[Piece<'_>],
        readings: &mut [Reading],
        turns: &[Turn<'_>],
        settings: &BeamSettings,
        control: &Control<'_>,
    ) -> Result<Vec<Found>> {
        let mut all: Vec<(usize, Found)> = Vec::with_capacity(pieces.len());
        let last = pieces.iter().map(|piece| piece.place).max();
        for wave in 0..last.map_or(0, |last| last + 1) {
            let places: Vec<usize> =
                (0..pieces.len()).filter(|&place| pieces[place].place == wave).collect();
            let found = self.search_all(&places, pieces, readings, turns, settings, control)?;
            let texts: Vec<String> = places
                .iter()
                .zip(&found)
                .map(|(&place, found)| match found.hypotheses.first() {
                    Some(best) if !pieces[place].is_blank => self.target().decode(&best.tokens),
                    _ => String::new(),
                })
                .collect();
            self.remember_translations(readings, &places, &texts)?;
            all.extend(places.into_iter().zip(found));
        }
        all.sort_by_key(|(place, _)| *place);
        Ok(all.into_iter().map(|(_, found)| found).collect())
    }

    /// Puts translations beside the sentences that they are of.
    fn remember_translations<S: AsRef<str>>(
        &self,
        readings: &mut [Reading],
        places: &[usize],
        texts: &[S],
    ) -> Result<()> {
        let tokens = texts.iter().map(|text| self.translation_tokens(text.as_ref()));
        let tokens = Packed::new(tokens.collect::<Vec<_>>());
        for (&place, translated) in places.iter().zip(self.model().read_translations(&tokens)?) {
            readings[place].remembered.translation = Some(translated);
        }
        Ok(())
    }

    /// Decodes the pieces at the given places, in batches of similar length.
    fn search_all(
        &self,
        places: &[usize],
        pieces: &[Piece<'_>],
        readings: &[Reading],
        turns: &[Turn<'_>],
        settings: &BeamSettings,
        control: &Control<'_>,
    ) -> Result<Vec<Found>> {
        let batches = batches(places, pieces, control);
        let found = self.workers().run(batches.clone(), |batch: Vec<usize>| {
            let seats: Vec<Seat<'_>> =
                batch.iter().map(|&place| self.seat(place, pieces, readings, turns)).collect();
            let keys: Vec<u64> = batch.iter().map(|&place| key(&pieces[place], turns)).collect();
            let stops: Vec<&AtomicBool> = batch
                .iter()
                .filter_map(|&place| control.stops.get(pieces[place].turn).copied())
                .collect();
            let lists: Vec<Vec<u32>> = self.shortlist().map_or_else(Vec::new, |shortlist| {
                let list = |&place: &usize| shortlist.of(&pieces[place].tokens, &settings.prefix);
                batch.iter().map(list).collect()
            });
            let search = Search {
                settings,
                keys: &keys,
                lists: &lists,
                stops: &stops,
                control: Some(control),
            };
            let found = self.search(&seats, &search, control.attention)?;
            (control.done)(batch.len());
            Ok(found)
        })?;
        Ok(in_order(&batches, found))
    }

    /// A piece with what is before it: pieces of the same turn, then what the session remembers.
    fn seat<'a>(
        &self,
        place: usize,
        pieces: &[Piece<'_>],
        readings: &'a [Reading],
        turns: &'a [Turn<'_>],
    ) -> Seat<'a> {
        let piece = &pieces[place];
        let session = &*turns[piece.turn].session;
        let past = (session.past.len() + piece.place).min(session.context);
        let context = self.slots(past).into_iter().map(|slot| {
            // How many sentences back.
            let back = past - slot?;
            Some(if back <= piece.place {
                &readings[place - back].remembered
            } else {
                &session.past[session.past.len() + piece.place - back]
            })
        });
        Seat { reading: &readings[place], context: context.collect() }
    }

    fn search(
        &self,
        seats: &[Seat<'_>],
        search: &Search<'_>,
        is_watched: bool,
    ) -> Result<Vec<Found>> {
        let model = self.model();
        let sources = model.recall(seats)?;
        let mut hypotheses = search.run(model, self.lean(), &sources)?;
        let mut attention = vec![None; seats.len()];
        if is_watched {
            // A sentence whose turn was stopped has no hypothesis.
            let nothing = [abridge_model::tokens::END];
            let tokens = hypotheses
                .iter()
                .map(|found| found.first().map_or(&nothing[..], |best| best.tokens.as_slice()));
            let best = Packed::new(tokens);
            if let Some(control) = search.control {
                (control.before_step)(best.tokens().len());
            }
            let weights = model.attended(&sources, &best)?;
            for ((attention, weights), seat) in attention.iter_mut().zip(weights).zip(seats) {
                let own = (seat.context.len(), Some(&seat.reading.remembered));
                let slots = seat.context.iter().copied().enumerate().chain([own]);
                let slots = slots.filter_map(|(slot, held)| Some((slot, held?.clone()))).collect();
                *attention = Some(Attention { weights, slots });
            }
        }
        let found = hypotheses.drain(..).zip(attention);
        Ok(found.map(|(hypotheses, attention)| Found { hypotheses, attention }).collect())
    }

    /// The translation of a sentence from those of its pieces.
    fn put_together(&self, pieces: Vec<(Piece<'_>, Found)>) -> Translation {
        let mut renditions: Vec<Vec<Rendition>> = Vec::with_capacity(pieces.len());
        let mut joints = Vec::with_capacity(pieces.len());
        let mut parts = Vec::with_capacity(pieces.len());
        for (piece, found) in pieces {
            joints.push(piece.joint);
            let attention = if piece.is_blank { None } else { found.attention };
            parts.push(Part { source: piece.tokens, attention });
            let found = found.hypotheses.into_iter();
            renditions.push(if piece.is_blank {
                vec![Rendition::empty()]
            } else {
                found.map(|best| Rendition::new(self.target().decode(&best.tokens), best)).collect()
            });
        }
        let count = renditions.iter().map(Vec::len).max().unwrap_or(0);
        let mut hypotheses: Vec<Rendition> = if let [alone] = &mut renditions[..] {
            std::mem::take(alone)
        } else {
            // The best with the best, the second with the second; where there are fewer, the last.
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

/// The sessions remember what was read, but for those of turns that were stopped.
fn advance(turns: &mut [Turn<'_>], counts: &[Vec<usize>], readings: &[Reading], stopped: &[bool]) {
    let mut rest = readings.iter();
    for (number, (turn, counts)) in turns.iter_mut().zip(counts).enumerate() {
        let count = counts.iter().sum();
        let own: Vec<&Remembered> =
            rest.by_ref().take(count).map(|reading| &reading.remembered).collect();
        if !stopped.get(number).is_some_and(|stopped| *stopped) {
            turn.session.advance(own.into_iter());
        }
    }
}

/// What a piece's random numbers are keyed by: its text and its place in the document.
fn key(piece: &Piece<'_>, turns: &[Turn<'_>]) -> u64 {
    let place = turns[piece.turn].session.sentences + piece.place as u64;
    let tokens = piece.tokens.iter().map(|&token| u64::from(token));
    random::key(&std::iter::once(place).chain(tokens).collect::<Vec<_>>())
}

/// Places of pieces in batches, longest pieces first.
fn batches(places: &[usize], pieces: &[Piece<'_>], control: &Control<'_>) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = places.to_vec();
    order.sort_by_key(|&place| std::cmp::Reverse(pieces[place].tokens.len()));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut filled = 0;
    for place in order {
        let tokens = pieces[place].tokens.len();
        match batches.last_mut() {
            Some(batch)
                if batch.len() < control.batch.max(1)
                    && filled + tokens <= control.batch_tokens =>
            {
                batch.push(place);
                filled += tokens;
            }
            _ => {
                batches.push(vec![place]);
                filled = tokens;
            }
        }
    }
    batches
}

/// Results of batches, back in the order of the pieces.
fn in_order<R>(batches: &[Vec<usize>], results: Vec<Vec<R>>) -> Vec<R> {
    let places = batches.iter().flatten().copied();
    let mut all: Vec<(usize, R)> = places.zip(results.into_iter().flatten()).collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, result)| result).collect()
}
