//! How long training and encoding take, to compare with `sentencepiece_peer.py` on the same text.
//!
//! `cargo bench -p abridge-corpus --bench tokenizer -- train.en` takes a file of lines; without one
//! it makes up lines of invented words.

use std::time::Instant;

use abridge_corpus::tokenizer::{TrainSettings, count_words, encode_lines};
use abridge_corpus::{Error, Result, Tokenizer};

const PIECES: usize = 20_000;

fn main() -> Result<()> {
    // Cargo itself adds `--bench`.
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let text = match &path {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Error::io("read", path.as_ref(), error))?,
        None => invented_lines(),
    };
    let lines: Vec<&str> = text.lines().collect();
    println!("{} lines, {} bytes", lines.len(), text.len());

    let start = Instant::now();
    let counts = count_words(&lines, 2);
    let counted = start.elapsed();
    let settings = TrainSettings { vocabulary_size: PIECES, ..TrainSettings::default() };
    let tokenizer = Tokenizer::train(&counts, settings, &mut |_| {})?;
    println!(
        "train {PIECES} pieces: {:.2} s (of it counting words {:.2} s)",
        start.elapsed().as_secs_f64(),
        counted.as_secs_f64()
    );
    for threads in [1, 2] {
        let start = Instant::now();
        let (ids, _) = encode_lines(&tokenizer, &lines, threads);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "encode, {threads} thread(s): {seconds:.2} s, {:.3} tokens per line",
            ids.len() as f64 / lines.len() as f64
        );
    }
    Ok(())
}

/// Lines of words made of syllables, with varying frequencies.
fn invented_lines() -> String {
    const SYLLABLES: [&str; 24] = [
        "ba", "dor", "fen", "gri", "hul", "jan", "kes", "lor", "mip", "nau", "pov", "quin", "ras",
        "sti", "tur", "vel", "wog", "zan", "ell", "isk", "ul", "am", "er", "on",
    ];
    let mut state = 42_u64;
    let mut next = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = String::new();
    for _ in 0..50_000 {
        for _ in 0..20 {
            // The smaller of two draws makes some words common and most of them rare.
            let mut word = next(40_000).min(next(40_000)) as usize + 24;
            while word > 0 {
                text.push_str(SYLLABLES[word % SYLLABLES.len()]);
                word /= SYLLABLES.len();
            }
            text.push(' ');
        }
        text.push('\n');
    }
    text
}
