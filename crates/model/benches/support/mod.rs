//! What the benchmarks of training share: options, text with the lengths of real text, and clocks.
#![allow(dead_code, reason = "each benchmark uses a part of it")]

use abridge_model::tokens::{END, SPECIAL_TOKENS};
use abridge_model::{Batch, Example, ModelConfig, Packed, Purpose, SourceBatch, random};

/// The values of an option, with commas between.
pub fn list<T: std::str::FromStr>(text: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    text.split(',').map(|item| item.parse().expect("a known name or number")).collect()
}

/// A run of consecutive sentences from the middle of a document, with the context before it.
pub fn batch(config: &ModelConfig, sentences: usize, worker: u64) -> Batch {
    let before = config.context_size;
    let text = |side: u64, count: usize, vocabulary: usize| -> Vec<Vec<u32>> {
        (0..count as u64).map(|i| sentence(random::key(&[side, i, worker]), vocabulary)).collect()
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

/// Lengths of mean 22 and deviation 12, as real text has.
fn sentence(key: u64, vocabulary: usize) -> Vec<u32> {
    // A log-normal distribution with those moments.
    let spread = (1.0f64 + (12.0f64 / 22.0).powi(2)).ln();
    let length = (22f64.ln() - spread / 2.0 + spread.sqrt() * random::normal(key, 0)).exp();
    let words = (vocabulary - SPECIAL_TOKENS) as u64;
    let word = |i| SPECIAL_TOKENS as u32 + (random::value(key, 1000 + i) % words) as u32;
    let mut tokens: Vec<u32> = (0..(length as u64).clamp(2, 120) - 1).map(word).collect();
    tokens.push(END);
    tokens
}

/// Processor time of this process so far, from Linux's `/proc`; 0 elsewhere.
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// The largest resident memory so far, from Linux's `/proc`; 0 elsewhere.
pub fn peak_mebibytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) / 1024.0
}
