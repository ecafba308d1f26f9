//! Sentences with given contexts. Each distinct text is encoded once, however many sentences have
//! it in their context.

use std::collections::BTreeMap;

use abridge_corpus::tokenizer::Encoder;
use abridge_model::{Packed, Reading, Remembered, SentenceInContext};

use crate::in_context::InContext;
use crate::translator::{Translator, sentence_tokens};
use crate::turns::Control;
use crate::{Error, Result};

/// Sentences that are encoded together.
pub(crate) struct Given<'a> {
    translator: &'a Translator,
    encoder: Encoder<'a>,
    sentences: Vec<GivenSentence>,
    sources: Distinct<'a>,
    /// The translations in the memory.
    translations: Distinct<'a>,
}

/// A tokenized sentence.
struct GivenSentence {
    /// The index of the sentence among the distinct ones.
    source: usize,
    /// Its context, nearest first; `None` for an empty slot.
    context: Vec<Option<Held>>,
}

/// A sentence of a context, and its translation if the memory holds it.
type Held = (usize, Option<usize>);

/// Distinct texts as tokens, in order of first occurrence.
#[derive(Default)]
struct Distinct<'a> {
    places: BTreeMap<&'a str, usize>,
    texts: Vec<Vec<u32>>,
}

impl<'a> Distinct<'a> {
    fn place(&mut self, text: &'a str, tokens: impl FnOnce() -> Vec<u32>) -> usize {
        *self.places.entry(text).or_insert_with(|| {
            self.texts.push(tokens());
            self.texts.len() - 1
        })
    }
}

impl<'a> Given<'a> {
    pub fn new(translator: &'a Translator) -> Self {
        Self {
            translator,
            encoder: translator.source().encoder(),
            sentences: Vec::new(),
            sources: Distinct::default(),
            translations: Distinct::default(),
        }
    }

    /// Adds a sentence, the `number`-th of its request, and the translations of its context, which
    /// may be missing. Returns the number of new tokens to encode.
    pub fn add(
        &mut self,
        sentence: InContext<'a>,
        translations: &'a [String],
        number: usize,
    ) -> Result<usize> {
        let Self { translator, encoder, sources, .. } = self;
        translator.check_language(translator.target_languages().chosen(), sentence.source)?;
        let before = sources.texts.len();
        let mut read = |text: &'a str| sources.place(text, || sentence_tokens(encoder, text));
        let source = read(sentence.source);
        let most = translator.context(None)?;
        let holds_translations = translator.layout().holds_translations;
        // Aligned at the end: the last translation belongs to the last sentence.
        let mut known = translations.iter().rev().filter(|_| holds_translations);
        let context = sentence.context.iter().rev().take(most).map(|text| {
            let translation = known
                .next()
                .map(|text| self.translations.place(text, || translator.translation_tokens(text)));
            (read(text), translation)
        });
        let known: Vec<Held> = context.collect();
        let context = match sentence.shown {
            // Selects the shown sentences; `known` is in reverse order.
            Some(shown) => {
                let first = sentence.context.len() - known.len();
                let held = |place: usize| {
                    known.get((sentence.context.len() - 1).checked_sub(place.max(first))?).copied()
                };
                shown.iter().map(|place| place.and_then(held)).collect()
            }
            None => known.into_iter().map(Some).collect(),
        };
        self.sentences.push(GivenSentence { source, context });
        let new = self.sources.texts[before..].iter().map(Vec::len);
        let longest = translator.model().config().max_positions;
        if let Some(tokens) = new.clone().max().filter(|&tokens| tokens > longest) {
            return Err(Error::TooLong { sentence: number, tokens, most: longest });
        }
        Ok(new.sum())
    }

    /// The tokens of a sentence.
    pub fn tokens(&self, place: usize) -> &[u32] {
        &self.sources.texts[self.sentences[place].source]
    }

    /// Encodes everything.
    pub fn read(&self) -> Result<ReadSentences<'_>> {
        let readings = self.translator.read_all(&self.sources.texts, &Control::default())?;
        let translated = self.read_translations(&readings)?;
        Ok(ReadSentences { given: self, readings, translated })
    }

    /// The context sentences whose translations are in the memory, too.
    fn read_translations(&self, readings: &[Reading]) -> Result<BTreeMap<Held, Remembered>> {
        let texts = &self.translations.texts;
        let length = |place: usize| texts[place].len();
        let all = 0..texts.len();
        let translations =
            self.translator.in_batches(all, length, Control::default().limits(), |batch| {
                let tokens = batch.iter().map(|&place| &texts[place]);
                Ok(self.translator.model().read_translations(&Packed::new(tokens))?)
            })?;
        let mut remembered = BTreeMap::new();
        for held in self.sentences.iter().flat_map(|sentence| sentence.context.iter().flatten()) {
            let (sentence, Some(translation)) = *held else { continue };
            remembered.entry(*held).or_insert_with(|| Remembered {
                translation: Some(translations[translation].clone()),
                ..readings[sentence].remembered.clone()
            });
        }
        Ok(remembered)
    }
}

/// The encoded sentences.
pub(crate) struct ReadSentences<'a> {
    given: &'a Given<'a>,
    readings: Vec<Reading>,
    translated: BTreeMap<Held, Remembered>,
}

impl ReadSentences<'_> {
    /// A sentence with the memory of its context.
    pub fn sentence(&self, place: usize) -> SentenceInContext<'_> {
        let GivenSentence { source, context } = &self.given.sentences[place];
        let remembered = |held: &Held| match held {
            (sentence, None) => &self.readings[*sentence].remembered,
            with_translation => &self.translated[with_translation],
        };
        let layout = self.given.translator.layout();
        SentenceInContext {
            reading: &self.readings[*source],
            context: layout.context(|back| context.get(back - 1)?.as_ref().map(remembered)),
        }
    }
}
