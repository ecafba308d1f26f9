//! Batches of random words with the lengths of real text, for measuring time and memory.

use abridge_base::random;

use crate::tokens::{END, SPECIAL_TOKENS};
use crate::{Batch, Example, ModelConfig, Packed, Purpose, SourceBatch};

/// Mean and standard deviation of the number of tokens in a sentence.
const LENGTH: (f64, f64) = (22.0, 12.0);

/// A run of consecutive sentences from the middle of a document, with the context before it. Batches
/// with different numbers have different words.
pub fn batch(config: &ModelConfig, sentences: usize, number: u64) -> Batch {
    let before = config.context_size;
    let text = |side: u64, count: usize, vocabulary: usize| -> Vec<Vec<u32>> {
        (0..count as u64).map(|i| sentence(random::key(&[side, i, number]), vocabulary)).collect()
    };
    let sources = text(0, before + sentences, config.source_vocabulary);
    let targets = text(1, sentences, config.target_vocabulary);
    let examples = (before..before + sentences)
        .map(|position| Example {
            source: position,
            context: config.layout(Purpose::Training).positions(position),
        })
        .collect();
    let source =
        SourceBatch { sentences: Packed::new(sources), translations: Packed::default(), examples };
    Batch { source, targets: Packed::new(targets) }
}

/// Words and the end token; lengths have a log-normal distribution with the moments of [`LENGTH`].
fn sentence(key: u64, vocabulary: usize) -> Vec<u32> {
    let (mean, deviation) = LENGTH;
    let spread = (1.0f64 + (deviation / mean).powi(2)).ln();
    let length = (mean.ln() - spread / 2.0 + spread.sqrt() * random::normal(key, 0)).exp();
    let words = vocabulary.saturating_sub(SPECIAL_TOKENS).max(1) as u64;
    let word = |i| SPECIAL_TOKENS as u32 + (random::value(key, 1000 + i) % words) as u32;
    let mut tokens: Vec<u32> = (0..(length as u64).clamp(2, 120) - 1).map(word).collect();
    tokens.push(END);
    tokens
}
