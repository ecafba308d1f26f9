//! An extension of the paper: random augmentations that make batches harder, so that a model is
//! robust at any context size and learns to use its context.
//!
//! All randomness depends only on the seed, the update and the index of the micro-batch in it, so
//! neither the number of workers nor a resume changes what is drawn.

use abridge_base::tokens::{END, UNKNOWN};
use abridge_base::{SourceBatch, random};

use crate::recipe::ContextRecipe;

/// Applies the augmentations of the recipe; `numbers` are the sentence numbers of the examples in
/// the corpus, `languages` the tokens of target languages.
pub fn augment(
    batch: &mut SourceBatch,
    numbers: &[usize],
    recipe: &ContextRecipe,
    languages: &[u32],
    key: u64,
) {
    if recipe.random_size {
        random_size(batch, numbers, random::key(&[key, 1]));
    }
    if recipe.drop > 0.0 {
        drop_context(batch, numbers, recipe.drop, random::key(&[key, 2]));
    }
    if recipe.coword_dropout > 0.0 {
        coword_dropout(batch, numbers, recipe.coword_dropout, languages, random::key(&[key, 3]));
    }
}

/// Draws a context size for each run of consecutive sentences, from none to all; the nearest
/// sentences stay.
fn random_size(batch: &mut SourceBatch, numbers: &[usize], key: u64) {
    let mut previous = None;
    let mut size = 0;
    let mut runs = 0;
    for (example, &number) in batch.examples.iter_mut().zip(numbers) {
        let context = &mut example.context;
        if previous.is_none_or(|previous| previous + 1 != number) {
            size = (random::value(key, runs) % (context.len() as u64 + 1)) as usize;
            runs += 1;
        }
        previous = Some(number);
        let far = context.len() - size;
        context[..far].fill(None);
    }
}

/// With the given probability, a sentence loses its whole context.
fn drop_context(batch: &mut SourceBatch, numbers: &[usize], probability: f64, key: u64) {
    for (example, &number) in batch.examples.iter_mut().zip(numbers) {
        if random::uniform(key, number as u64) < probability {
            example.context.fill(None);
        }
    }
}

/// CoWord dropout: tokens of the sentence to translate become unknown, those of its context do not,
/// so that missing information can only come from the context.
///
/// A sentence is also the context of others in its run, so a sentence with hidden tokens is added
/// to the batch, and is encoded in addition to the complete one.
fn coword_dropout(
    batch: &mut SourceBatch,
    numbers: &[usize],
    probability: f64,
    languages: &[u32],
    key: u64,
) {
    for (example, &number) in batch.examples.iter_mut().zip(numbers) {
        let key = random::key(&[key, number as u64]);
        let whole = batch.sentences.get(example.source);
        let hidden: Vec<u32> = whole
            .iter()
            .enumerate()
            .map(|(place, &token)| {
                // The target language cannot be inferred from the context.
                let is_word = token != END && !languages.contains(&token);
                let hide = is_word && random::uniform(key, place as u64) < probability;
                if hide { UNKNOWN } else { token }
            })
            .collect();
        if hidden != whole {
            if !batch.translations.is_empty() {
                let translation = batch.translations.get(example.source).to_vec();
                batch.translations.push(&translation);
            }
            example.source = batch.sentences.len();
            batch.sentences.push(&hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use abridge_base::Example;

    use super::*;

    /// Runs of ten sentences with three sentences of context, each of five words.
    fn batch(runs: usize) -> (SourceBatch, Vec<usize>) {
        let mut batch = SourceBatch::default();
        let mut numbers = Vec::new();
        for run in 0..runs {
            for place in 0..10 {
                let number = run * 100 + place;
                let first = run * 10;
                batch.sentences.push(&[10, 11, 12, 13, 14, END]);
                let context = (1..=3)
                    .rev()
                    .map(|distance| place.checked_sub(distance).map(|previous| first + previous));
                let context = context.collect();
                batch.examples.push(Example { source: first + place, context });
                numbers.push(number);
            }
        }
        (batch, numbers)
    }

    fn augmented(runs: usize, recipe: &ContextRecipe) -> SourceBatch {
        let (mut batch, numbers) = batch(runs);
        augment(&mut batch, &numbers, recipe, &[], 7);
        batch
    }

    #[test]
    fn nothing_changes_unless_asked() {
        assert_eq!(augmented(2, &ContextRecipe::default()), batch(2).0);
    }

    #[test]
    fn whole_contexts_are_dropped_with_the_given_probability() {
        let changed = augmented(400, &ContextRecipe { drop: 0.3, ..ContextRecipe::default() });
        let (mut dropped, mut all) = (0, 0);
        for (after, before) in changed.examples.iter().zip(&batch(400).0.examples) {
            let (after, before) = (&after.context, &before.context);
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
        let recipe = ContextRecipe { random_size: true, ..ContextRecipe::default() };
        let changed = augmented(200, &recipe);
        let mut sizes = [0; 4];
        for run in changed.examples.chunks(10) {
            let size = run[9].context.iter().flatten().count();
            sizes[size] += 1;
            for (place, Example { context, .. }) in run.iter().enumerate() {
                assert_eq!(context.iter().flatten().count(), size.min(place));
                assert!(context[..3 - size].iter().all(Option::is_none));
            }
        }
        assert!(sizes.iter().all(|&count| count > 30), "{sizes:?}");
    }

    #[test]
    fn words_are_hidden_in_the_sentence_but_not_when_it_is_context() {
        let recipe = ContextRecipe { coword_dropout: 0.2, ..ContextRecipe::default() };
        let changed = augmented(40, &recipe);
        let mut hidden = 0;
        for (example, before) in changed.examples.iter().zip(&batch(40).0.examples) {
            assert_eq!(example.context, before.context);
            let sentence = changed.sentences.get(example.source);
            assert_eq!(sentence.last(), Some(&END));
            hidden += sentence.iter().filter(|&&token| token == UNKNOWN).count();
        }
        for context in changed.examples.iter().flat_map(|example| &example.context).flatten() {
            assert_eq!(changed.sentences.get(*context), [10, 11, 12, 13, 14, END]);
        }
        let share = hidden as f64 / (400.0 * 5.0);
        assert!((share - 0.2).abs() < 0.03, "{share}");
        assert_eq!(augmented(40, &recipe), changed, "the same key draws the same");

        // The language token is never hidden.
        let (mut said, numbers) = batch(40);
        augment(&mut said, &numbers, &recipe, &[10], 7);
        let first = |example: &Example| said.sentences.get(example.source)[0];
        assert!(said.examples.iter().all(|example| first(example) == 10));
        let first = |example: &Example| changed.sentences.get(example.source)[0];
        assert!(changed.examples.iter().any(|example| first(example) == UNKNOWN));
    }
}
