//! Which earlier words decided a translation: how much less probable each of its tokens becomes
//! when a word of the context is left out.
//!
//! Attention shows where a model looked. This measures the effect of each word with the model
//! itself.

use std::ops::Range;

use abridge_corpus::Tokenizer;
use abridge_model::tokens::END;
use abridge_model::{Model, Packed, Purpose, Reading, Remembered, SentenceInContext};
use abridge_translate::Result;

/// Context variants scored together.
const VARIANTS: usize = 32;

/// For the context sentence in each slot, if any: for each target token and each token of that
/// sentence, how many nats the target token loses when the context token's word is left out.
pub(super) type Influence = Vec<Option<Vec<Vec<f32>>>>;

/// A left-out word: its slot and its tokens.
struct LeftOut {
    slot: usize,
    word: Range<usize>,
}

/// Leaves out each word of each context sentence of the sentence at `position`, in turn.
pub(super) fn influence(
    model: &Model,
    tokenizer: &Tokenizer,
    readings: &[Reading],
    position: usize,
    target: &[u32],
) -> Result<Influence> {
    let slots = model.config().layout(Purpose::Inference).positions(position);
    let tokens_of = |sentence: usize| readings[sentence].remembered.tokens.as_slice();
    let mut left_out = Vec::new();
    for (slot, sentence) in slots.iter().enumerate() {
        let words = sentence.map(|sentence| words(tokenizer, tokens_of(sentence)));
        left_out.extend(words.unwrap_or_default().into_iter().map(|word| LeftOut { slot, word }));
    }
    let mut found: Influence = slots
        .iter()
        .map(|sentence| sentence.map(|s| vec![vec![0.0; tokens_of(s).len()]; target.len()]))
        .collect();
    let context = |slot: usize| slots[slot].map(|sentence| &readings[sentence].remembered);
    let whole = SentenceInContext {
        reading: &readings[position],
        context: (0..slots.len()).map(context).collect(),
    };
    if left_out.is_empty() {
        return Ok(found);
    }
    let full = score(model, std::slice::from_ref(&whole), target)?.remove(0);
    for part in left_out.chunks(VARIANTS) {
        let sentences = part.iter().map(|LeftOut { slot, word }| {
            let tokens = tokens_of(slots[*slot].unwrap_or_default());
            [&tokens[..word.start], &tokens[word.end..]].concat()
        });
        let shortened = model.read(&Packed::new(sentences.collect::<Vec<_>>()))?;
        let in_context: Vec<SentenceInContext<'_>> = part
            .iter()
            .zip(&shortened)
            .map(|(LeftOut { slot, .. }, reading)| {
                let mut context: Vec<Option<&Remembered>> = whole.context.clone();
                context[*slot] = Some(&reading.remembered);
                SentenceInContext { reading: whole.reading, context }
            })
            .collect();
        for (LeftOut { slot, word }, without) in part.iter().zip(score(model, &in_context, target)?)
        {
            let Some(found) = &mut found[*slot] else { continue };
            for ((found, full), without) in found.iter_mut().zip(&full).zip(without) {
                found[word.clone()].fill(full - without);
            }
        }
    }
    Ok(found)
}

/// The log-probability of each token of the same translation in each context.
fn score(
    model: &Model,
    in_context: &[SentenceInContext<'_>],
    target: &[u32],
) -> Result<Vec<Vec<f32>>> {
    let targets = Packed::new(in_context.iter().map(|_| target));
    let scores = model.log_probabilities(&targets, &model.sources_from_memory(in_context)?)?;
    Ok(scores.chunks_exact(target.len()).map(<[f32]>::to_vec).collect())
}

/// The words of a sentence: pieces from one space to the next, with separate punctuation and
/// without the end token.
fn words(tokenizer: &Tokenizer, tokens: &[u32]) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut inside = false;
    for (place, &token) in tokens.iter().enumerate() {
        let piece = tokenizer.piece(token).unwrap_or_default();
        let is_word = piece == "▁" || piece.chars().any(char::is_alphanumeric);
        match words.last_mut() {
            _ if token == END => {}
            Some(word) if inside && is_word && !piece.starts_with('▁') => word.end = place + 1,
            _ => words.push(place..place + 1),
        }
        inside = is_word;
    }
    words
}

#[cfg(test)]
mod tests {
    use abridge_corpus::tokenizer::{TrainSettings, count_words};
    use abridge_model::{ModelSize, Preset};
    use burn::tensor::Device;

    use super::*;

    fn tokenizer() -> Tokenizer {
        let counts = count_words(&["a dog, a dog ab abc bcd cde"], 1);
        let settings = TrainSettings { vocabulary_size: 16, ..TrainSettings::default() };
        Tokenizer::train(&counts, settings, &mut |_| {}).unwrap()
    }

    fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
        let mut tokens = tokenizer.encode(text);
        tokens.push(END);
        tokens
    }

    #[test]
    fn words_are_whole_and_punctuation_is_separate() {
        let tokenizer = tokenizer();
        let tokens = encode(&tokenizer, "a dog, abc");
        let texts: Vec<String> = words(&tokenizer, &tokens)
            .into_iter()
            .map(|word| tokenizer.decode(&tokens[word]).trim().to_owned())
            .collect();
        assert_eq!(texts, ["a", "dog", ",", "abc"]);
    }

    #[test]
    fn only_what_the_memory_holds_can_have_influence() {
        let tokenizer = tokenizer();
        let size = tokenizer.vocabulary_size();
        for preset in [Preset::Grouping, Preset::SingleEncoder, Preset::CachingTokens] {
            let model =
                preset.config(ModelSize::Tiny, size, size, 2).init(3, &Device::flex()).unwrap();
            let sentences = ["a dog, a dog", "abc a dog", "abc"].map(|s| encode(&tokenizer, s));
            let readings = model.read(&Packed::new(&sentences)).unwrap();
            let look = |position: usize| {
                influence(&model, &tokenizer, &readings, position, &sentences[2]).unwrap()
            };
            assert_eq!(look(0), [None, None], "{preset}: nothing comes before the first sentence");
            let second = look(1);
            assert!(second[0].is_none(), "{preset}");
            let found = second[1].as_ref().unwrap();
            assert_eq!((found.len(), found[0].len()), (sentences[2].len(), sentences[0].len()));
            assert!(found.iter().flatten().any(|nats| nats.abs() > 1e-4), "{preset}: {found:?}");
            let end = found.iter().map(|row| row[row.len() - 1]);
            assert!(end.into_iter().all(|nats| nats == 0.0), "the end is never left out");
        }
    }
}
