//! Beyond the paper: batches that are made harder at random, so that a model is robust at any
//! context size and learns to look at its context.
//!
//! All of it depends on the seed, the update and the place of a micro-batch in it, so neither
//! workers nor a resume change what is drawn.

use abridge_corpus::batch::Batch;
use abridge_model::random;
use abridge_model::tokens::{END, UNKNOWN};

use crate::recipe::ContextRecipe;

/// Applies what the recipe asks for.
pub fn augment(batch: &mut Batch, recipe: &ContextRecipe, key: u64) {
    if recipe.random_size {
        random_size(batch, random::key(&[key, 1]));
    }
    if recipe.drop > 0.0 {
        drop_context(batch, recipe.drop, random::key(&[key, 2]));
    }
    if recipe.coword_dropout > 0.0 {
        coword_dropout(batch, recipe.coword_dropout, random::key(&[key, 3]));
    }
}

/// Every run of consecutive sentences sees another number of sentences before, from none to all;
/// the nearest stay.
fn random_size(batch: &mut Batch, key: u64) {
    let mut previous = None;
    let mut size = 0;
    let mut runs = 0;
    for (context, &number) in batch.context_of.iter_mut().zip(&batch.numbers) {
        if previous.is_none_or(|previous| previous + 1 != number) {
            size = (random::value(key, runs) % (context.len() as u64 + 1)) as usize;
            runs += 1;
        }
        previous = Some(number);
        let far = context.len() - size;
        context[..far].fill(None);
    }
}

/// With the given probability, a sentence sees nothing of what was before.
fn drop_context(batch: &mut Batch, probability: f64, key: u64) {
    for (context, &number) in batch.context_of.iter_mut().zip(&batch.numbers) {
        if random::uniform(key, number as u64) < probability {
            context.fill(None);
        }
    }
}

/// CoWord dropout: words of the sentence to translate become unknown, those of its context do not,
/// so that what is missing can only come from the context.
///
/// A sentence of a run is another's context, so one with hidden words is a new sentence of the
/// batch, and is encoded beside the whole one.
fn coword_dropout(batch: &mut Batch, probability: f64, key: u64) {
    for (source, &number) in batch.source_of.iter_mut().zip(&batch.numbers) {
        let key = random::key(&[key, number as u64]);
        let whole = batch.sentences.sentence(*source);
        let hidden: Vec<u32> = whole
            .iter()
            .enumerate()
            .map(|(place, &token)| {
                let hide = token != END && random::uniform(key, place as u64) < probability;
                if hide { UNKNOWN } else { token }
            })
            .collect();
        if hidden != whole {
            if !batch.translations.is_empty() {
                let translation = batch.translations.sentence(*source).to_vec();
                batch.translations.push(&translation);
            }
            *source = batch.sentences.len();
            batch.sentences.push(&hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of ten sentences with three sentences of context, each of five words.
    fn batch(runs: usize) -> Batch {
        let mut batch = Batch::default();
        for run in 0..runs {
            for place in 0..10 {
                let number = run * 100 + place;
                let first = run * 10;
                batch.sentences.push(&[10, 11, 12, 13, 14, END]);
                batch.targets.push(&[20, END]);
                batch.source_of.push(first + place);
                let context = (1..=3)
                    .rev()
                    .map(|distance| place.checked_sub(distance).map(|previous| first + previous));
                batch.context_of.push(context.collect());
                batch.numbers.push(number);
            }
        }
        batch
    }

    #[test]
    fn nothing_changes_unless_asked() {
        let mut changed = batch(2);
        augment(&mut changed, &ContextRecipe::default(), 1);
        assert_eq!(changed, batch(2));
    }

    #[test]
    fn whole_contexts_are_dropped_with_the_given_probability() {
        let mut changed = batch(400);
        augment(&mut changed, &ContextRecipe { drop: 0.3, ..ContextRecipe::default() }, 7);
        let (mut dropped, mut all) = (0, 0);
        for (after, before) in changed.context_of.iter().zip(&batch(400).context_of) {
            if before.iter().any(Option::is_some) {
                all += 1;
                dropped += u32::from(after.iter().all(Option::is_none));
                assert!(after == before || after.iter().all(Option::is_none));
            }
        }
        let share = f64::from(dropped) / f64::from(all);
        assert!((share - 0.3).abs() < 0.03, "{share}");
    }

    #[test]
    fn every_run_draws_its_own_context_size_and_keeps_the_nearest() {
        let mut changed = batch(200);
        augment(&mut changed, &ContextRecipe { random_size: true, ..ContextRecipe::default() }, 7);
        let mut sizes = [0; 4];
        for run in changed.context_of.chunks(10) {
            let size = run[9].iter().flatten().count();
            sizes[size] += 1;
            for (place, context) in run.iter().enumerate() {
                assert_eq!(context.iter().flatten().count(), size.min(place));
                assert!(context[..3 - size].iter().all(Option::is_none));
            }
        }
        assert!(sizes.iter().all(|&count| count > 30), "{sizes:?}");
    }

    #[test]
    fn words_are_hidden_from_the_sentence_but_not_from_its_followers() {
        let mut changed = batch(40);
        let recipe = ContextRecipe { coword_dropout: 0.2, ..ContextRecipe::default() };
        augment(&mut changed, &recipe, 7);
        assert_eq!(changed.context_of, batch(40).context_of);
        let mut hidden = 0;
        for &source in &changed.source_of {
            let sentence = changed.sentences.sentence(source);
            assert_eq!(sentence.last(), Some(&END));
            hidden += sentence.iter().filter(|&&token| token == UNKNOWN).count();
        }
        for context in changed.context_of.iter().flatten().flatten() {
            assert_eq!(changed.sentences.sentence(*context), [10, 11, 12, 13, 14, END]);
        }
        let share = hidden as f64 / (400.0 * 5.0);
        assert!((share - 0.2).abs() < 0.03, "{share}");
        let mut again = batch(40);
        augment(&mut again, &recipe, 7);
        assert_eq!(again, changed, "the same key draws the same");
    }
}
