//! The memory layout: which sentence is in which slot, and how far back it is.
//!
//! A memory of context size C has slots 0 to C - 1 for the preceding sentences, oldest first, so
//! that the previous sentence is always in slot C - 1; at the start of a document, slots stay
//! empty. If the current sentence's own entry is kept too, it is in slot C. As an extension of the
//! paper, the translations of the preceding sentences may fill C further slots, in the same order.
//! Slot `i` is marked by segment embedding `i`.
//!
//! ```text
//! slot       0    1   …   C-1     C     C+1  …  2C
//! back       C   C-1  …    1      0      C   …   1
//! holds   preceding sentences    own   their translations
//! ```
//!
//! When it translates, the published implementation fills the slots of the preceding sentences
//! newest first: the mirror image of its training.
//!
//! Only this module knows all that. Batches, streaming, scoring, figures and the server ask a
//! [`MemoryLayout`].

/// What a network is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Training and validation.
    Training,
    /// Translation and scoring.
    Inference,
}

/// How far the gradient flows back from a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Through the shortener into the encoder.
    Encoder,
    /// Into the shortener.
    Shortener,
    /// Not beyond the decoder.
    Decoder,
}

/// What each slot of a model's memory holds.
///
/// Models that concatenate sentences have no memory; for them this gives the order in which the
/// preceding sentences are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLayout {
    /// C: the largest number of preceding sentences that a sentence sees.
    pub context_size: usize,
    /// Whether the current sentence's own entry is part of its memory.
    pub holds_own: bool,
    /// Whether the translations of the preceding sentences are part of the memory.
    pub holds_translations: bool,
    /// Whether the newest of the preceding sentences comes first instead of last.
    pub is_mirrored: bool,
    /// Whether a slot without a sentence holds an empty one (a single end token) that is attended
    /// to, as in the published implementation.
    pub fills_empty_slots: bool,
    /// Whether the gradient reaches the encoder through the preceding sentences.
    pub encoder_gradient: bool,
    /// How many of the nearest preceding sentences have a gradient at all; all if `None`.
    pub gradient_sentences: Option<usize>,
}

/// What a slot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The sentence this many back; 1 is the previous one.
    Before(usize),
    /// The current sentence itself.
    Own,
    /// The translation of the sentence this many back.
    TranslationBefore(usize),
}

impl Place {
    /// How many sentences back; 0 is the current sentence.
    pub fn back(self) -> usize {
        match self {
            Self::Before(back) | Self::TranslationBefore(back) => back,
            Self::Own => 0,
        }
    }
}

/// What a slot of one sentence's memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant<S> {
    /// The entry of a preceding sentence or of the current one.
    Sentence(S),
    /// The entry of the translation of a sentence.
    TranslationOf(S),
    /// The entry of an empty sentence.
    EmptySentence,
}

impl MemoryLayout {
    /// The number of slots.
    pub fn slots(&self) -> usize {
        let translations = if self.holds_translations { self.context_size } else { 0 };
        self.context_size + usize::from(self.holds_own) + translations
    }

    /// What a slot is for.
    pub fn place(&self, slot: usize) -> Place {
        if slot < self.context_size {
            return Place::Before(self.back(slot));
        }
        match slot.checked_sub(self.context_size + usize::from(self.holds_own)) {
            Some(sentence) if self.holds_translations => {
                Place::TranslationBefore(self.back(sentence))
            }
            _ => Place::Own,
        }
    }

    /// How far back the sentence of a context slot is.
    fn back(&self, slot: usize) -> usize {
        if self.is_mirrored { slot + 1 } else { self.context_size - slot }
    }

    /// The slot of the current sentence's own entry.
    pub fn own_slot(&self) -> usize {
        self.context_size
    }

    /// The slot of the translation of the sentence in a context slot.
    pub fn translation_slot(&self, slot: usize) -> usize {
        self.context_size + usize::from(self.holds_own) + slot
    }

    /// Fills the context slots, in order: `sentence(n)` returns the sentence n back.
    pub fn context<S>(&self, mut sentence: impl FnMut(usize) -> Option<S>) -> Vec<Option<S>> {
        (0..self.context_size).map(|slot| sentence(self.back(slot))).collect()
    }

    /// For the sentence at `position` of a document, the position of the sentence in each context
    /// slot.
    pub fn positions(&self, position: usize) -> Vec<Option<usize>> {
        self.context(|back| position.checked_sub(back))
    }

    /// Everything in the memory of the sentence `own`, slot by slot.
    ///
    /// `context` holds the preceding sentences, as [`Self::context`] returns them, and
    /// `has_translation` says which of their translations are known.
    pub fn occupants<S: Copy>(
        &self,
        own: S,
        context: &[Option<S>],
        has_translation: impl Fn(S) -> bool,
    ) -> Vec<(usize, Occupant<S>)> {
        let empty = self.fills_empty_slots.then_some(Occupant::EmptySentence);
        let before = context.iter().enumerate().filter_map(|(slot, sentence)| {
            Some((slot, sentence.map(Occupant::Sentence).or(empty)?))
        });
        let own = self.holds_own.then_some((self.own_slot(), Occupant::Sentence(own)));
        let known = |sentence: &S| self.holds_translations && has_translation(*sentence);
        let translations = context.iter().enumerate().filter_map(|(slot, sentence)| {
            let translated = sentence.filter(&known)?;
            Some((self.translation_slot(slot), Occupant::TranslationOf(translated)))
        });
        before.chain(own).chain(translations).collect()
    }

    /// How far the gradient flows back from `slot`; the same for a translation as for its sentence.
    pub fn reach(&self, slot: usize) -> Reach {
        match self.place(slot) {
            Place::Own => Reach::Encoder,
            Place::Before(back) | Place::TranslationBefore(back) => {
                if self.gradient_sentences.is_some_and(|nearest| back > nearest) {
                    Reach::Decoder
                } else if self.encoder_gradient {
                    Reach::Encoder
                } else {
                    Reach::Shortener
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(context_size: usize) -> MemoryLayout {
        MemoryLayout { context_size, encoder_gradient: true, ..MemoryLayout::default() }
    }

    #[test]
    fn the_previous_sentence_is_in_the_last_slot() {
        let layout = layout(3);
        assert_eq!(layout.positions(0), [None; 3]);
        assert_eq!(layout.positions(1), [None, None, Some(0)]);
        assert_eq!(layout.positions(5), [Some(2), Some(3), Some(4)]);
    }

    #[test]
    fn a_mirrored_memory_has_the_previous_sentence_in_the_first_slot() {
        let layout = MemoryLayout { is_mirrored: true, ..layout(3) };
        assert_eq!(layout.positions(2), [Some(1), Some(0), None]);
        assert_eq!(layout.positions(5), [Some(4), Some(3), Some(2)]);
    }

    #[test]
    fn every_slot_has_a_place_of_its_own() {
        for is_mirrored in [false, true] {
            for (holds_own, holds_translations) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let layout =
                    MemoryLayout { holds_own, holds_translations, is_mirrored, ..layout(4) };
                let mut places = Vec::new();
                for slot in 0..layout.slots() {
                    let place = layout.place(slot);
                    assert!(!places.contains(&place), "{layout:?}: {place:?} twice");
                    places.push(place);
                    // For a sentence in the middle of a document, the slot holds the one that far
                    // back.
                    if let Place::Before(back) = place {
                        assert_eq!(layout.positions(10)[slot], Some(10 - back));
                        let translation = Place::TranslationBefore(back);
                        if holds_translations {
                            assert_eq!(layout.place(layout.translation_slot(slot)), translation);
                        }
                    }
                }
                assert_eq!(places.contains(&Place::Own), holds_own);
            }
        }
    }

    #[test]
    fn occupants_are_context_own_sentence_and_known_translations() {
        use Occupant::{EmptySentence, Sentence, TranslationOf};
        let whole = MemoryLayout { holds_own: true, holds_translations: true, ..layout(3) };
        let context = whole.context(|back| 7usize.checked_sub(back + 4));
        assert_eq!(context, [Some(0), Some(1), Some(2)]);
        assert_eq!(
            whole.occupants(7, &[None, Some(1), Some(2)], |sentence| sentence == 2),
            [(1, Sentence(1)), (2, Sentence(2)), (3, Sentence(7)), (6, TranslationOf(2))]
        );
        let published = MemoryLayout { fills_empty_slots: true, ..layout(2) };
        assert_eq!(
            published.occupants(7, &[Some(1), None], |_| true),
            [(0, Sentence(1)), (1, EmptySentence)]
        );
    }

    #[test]
    fn the_gradient_flows_through_the_nearest_sentences() {
        use Reach::{Decoder, Encoder, Shortener};
        let reaches = |layout: MemoryLayout| -> Vec<Reach> {
            (0..layout.slots()).map(|slot| layout.reach(slot)).collect()
        };
        let nearest = MemoryLayout { gradient_sentences: Some(2), holds_own: true, ..layout(3) };
        assert_eq!(reaches(nearest), [Decoder, Encoder, Encoder, Encoder]);
        let translations = MemoryLayout { holds_translations: true, ..nearest };
        assert_eq!(
            reaches(translations),
            [Decoder, Encoder, Encoder, Encoder, Decoder, Encoder, Encoder]
        );
        let shortener = MemoryLayout { encoder_gradient: false, holds_own: true, ..layout(2) };
        assert_eq!(reaches(shortener), [Shortener, Shortener, Encoder]);
    }
}
