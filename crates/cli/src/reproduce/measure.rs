//! Cells that need no training: parameters, and what the memory keeps.

use abridge_corpus::{Document, Tokenizer};
use abridge_model::tokens::END;
use abridge_model::{DeviceKind, Model, Packed};
use burn::module::Module;

use super::cell::Outcome;

/// The paper's vocabularies, which its counts of parameters stand on.
pub const PAPER_VOCABULARY: usize = 19_804;

/// Sentences over which the memory is averaged.
const SENTENCES: usize = 512;

/// Parameters in millions.
pub fn parameters(config: &abridge_model::ModelConfig) -> anyhow::Result<Outcome> {
    let model = config.init(0, &DeviceKind::Cpu.open()?)?;
    let millions = model.num_params() as f64 / 1e6;
    Ok(Outcome { scores: [("parameters".to_owned(), millions)].into(), ..Outcome::default() })
}

/// The memory that the context of a sentence takes, on average over test sentences: vectors, and
/// KiB with the keys and values of every layer. Models that join texts keep only token ids, and pay
/// by reading all of the context again for each sentence; there the vectors are the states that
/// they make anew.
pub fn memory(model: &Model, tokenizer: &Tokenizer, test: &[Document]) -> anyhow::Result<Outcome> {
    let config = model.config();
    let mut rows = 0.0;
    let mut bytes = 0.0;
    let mut sentences = 0.0;
    let all = test.iter().flat_map(|document| &document.segments).take(SENTENCES);
    for segment in all {
        let mut tokens = tokenizer.encode(&segment.source);
        tokens.truncate(config.max_positions - 1);
        tokens.push(END);
        let count = tokens.len();
        let remembered = model.read(&Packed::new([tokens]))?.remove(0).remembered;
        let kept = remembered.entry.as_ref().map(|entry| entry.rows.dims()[0]);
        rows += kept.unwrap_or(count) as f64;
        bytes += remembered.size_in_bytes() as f64;
        sentences += 1.0;
    }
    let context = config.context_size as f64 / f64::max(sentences, 1.0);
    let scores =
        [("memory".to_owned(), bytes * context / 1024.0), ("rows".to_owned(), rows * context)];
    Ok(Outcome { scores: scores.into(), ..Outcome::default() })
}
