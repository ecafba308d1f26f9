//! The memory needed to translate real sentences, one at a time (the paper's Figure 5).
//!
//! The same allocator counts the same for every model: everything in use at the peak beyond the
//! weights, from the memory of previous sentences to the hypotheses of the search.
//!
//! Fused attention keeps one row of weights at a time. Unfused attention keeps the scores and the
//! weights of a layer, queries × keys for each head, so a text of twice the length takes four times
//! as much. [`Footprint::with_matrices`] is the peak with these matrices added.

use abridge_machine::allocator::Counted;
use abridge_model::config::Context;
use abridge_model::{Model, ModelConfig, Packed, Purpose, Remembered, Result, SentenceInContext};
use abridge_translate::{BeamSettings, beam_search_with};
use serde::{Deserialize, Serialize};

/// Means over sentences, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    /// The number of sentences translated.
    pub sentences: usize,
    /// The peak beyond the weights.
    pub operation: f64,
    /// The same with unfused attention.
    pub with_matrices: f64,
    /// The memory of previous sentences.
    pub kept: f64,
}

/// Scores and weights, each a 32-bit float.
const BYTES_PER_PAIR: usize = 2 * 4;

/// Translates sentences of documents (as tokens, each with its end token) with their context, and
/// measures; at most `most` sentences, evenly spread. The program must use the counting allocator,
/// and nothing else may run.
pub fn footprint(
    model: &Model,
    documents: &[Vec<Vec<u32>>],
    most: usize,
    beam: &BeamSettings,
    allocator: &Counted,
) -> Result<Footprint> {
    let places: Vec<(usize, usize)> = documents
        .iter()
        .enumerate()
        .flat_map(|(document, sentences)| (0..sentences.len()).map(move |place| (document, place)))
        .collect();
    let count = places.len().min(most);
    let spread = (0..count).map(|n| places[(2 * n + 1) * places.len() / (2 * count)]);
    let lean = model.lean_decoder();
    let mut sum = Footprint::default();
    for (number, (document, place)) in spread.enumerate() {
        let sentences = &documents[document][..=place];
        if number == 0 {
            // The first translation makes lasting allocations: tables, threads, lazy weights.
            measure(model, lean.as_ref(), sentences, beam, allocator)?;
        }
        let one = measure(model, lean.as_ref(), sentences, beam, allocator)?;
        sum.sentences += 1;
        sum.operation += one.operation;
        sum.with_matrices += one.with_matrices;
        sum.kept += one.kept;
    }
    let n = sum.sentences.max(1) as f64;
    Ok(Footprint {
        operation: sum.operation / n,
        with_matrices: sum.with_matrices / n,
        kept: sum.kept / n,
        ..sum
    })
}

/// Translates the last of some sentences.
fn measure(
    model: &Model,
    lean: Option<&abridge_model::lean::LeanDecoder>,
    sentences: &[Vec<u32>],
    beam: &BeamSettings,
    allocator: &Counted,
) -> Result<Footprint> {
    let config = model.config();
    let Some((sentence, before)) = sentences.split_last() else {
        return Ok(Footprint::default());
    };
    let before = &before[before.len().saturating_sub(config.context_size)..];
    let weights = allocator.current();
    let mut past: Vec<Remembered> = Vec::with_capacity(before.len());
    for sentence in before {
        let readings = model.read(&Packed::new([sentence]))?;
        past.extend(readings.iter().map(|reading| reading.remembered.owned()));
    }
    let peak = |part: usize| allocator.peak().saturating_sub(weights) + part;
    allocator.reset();
    let readings = model.read(&Packed::new([sentence]))?;
    let layout = config.layout(Purpose::Inference);
    let mut in_context = Vec::new();
    for reading in &readings {
        let context = layout.context(|back| past.iter().rev().nth(back - 1));
        in_context.push(SentenceInContext { reading, context });
    }
    let sources = model.sources_from_memory(&in_context)?;
    let pairs = Pairs::new(config, sentence, before);
    let (reading, reading_with) = (peak(0), peak(pairs.encoder * BYTES_PER_PAIR));
    allocator.reset();
    let found = beam_search_with(model, lean, &sources, beam);
    drop(found);
    let per_step = pairs.decoder * beam.beam * BYTES_PER_PAIR;
    Ok(Footprint {
        sentences: 1,
        operation: reading.max(peak(0)) as f64,
        with_matrices: reading_with.max(peak(per_step)) as f64,
        kept: past.iter().map(Remembered::size_in_bytes).sum::<usize>() as f64,
    })
}

/// Query-key pairs, over all heads, in the largest attention.
struct Pairs {
    encoder: usize,
    /// For one step of one hypothesis.
    decoder: usize,
}

impl Pairs {
    fn new(config: &ModelConfig, sentence: &[u32], before: &[Vec<u32>]) -> Self {
        let own = sentence.len();
        let context: usize = before.iter().map(Vec::len).sum();
        let rows = |sentence: &Vec<u32>| config.entry_rows(sentence.len());
        let (encoder, keys) = match config.context {
            Context::SingleEncoder => ((own + context).pow(2), own + context),
            Context::MultiEncoder => (own.max(context).pow(2), own.max(context)),
            Context::Memory => (own.pow(2), own.max(before.iter().map(rows).sum())),
            Context::None => (own.pow(2), own),
        };
        Self { encoder: config.heads * encoder, decoder: config.heads * keys }
    }
}

#[cfg(test)]
mod tests {
    use abridge_model::{ModelSize, Preset};
    use burn::tensor::Device;

    use super::*;

    fn matrices(preset: Preset, context: usize) -> f64 {
        let model =
            preset.config(ModelSize::Tiny, 20, 20, context).init(1, &Device::flex()).unwrap();
        let document: Vec<Vec<u32>> = (0..=context).map(|_| vec![7; 30]).collect();
        let beam = BeamSettings { beam: 1, max_length: 2, ..BeamSettings::default() };
        // Tests use another allocator, which counts nothing: only the matrices remain.
        footprint(&model, &[document], 100, &beam, &Counted).unwrap().with_matrices
    }

    #[test]
    fn matrices_of_joined_texts_grow_with_the_square() {
        // The mean over the sentences of a document, whose n-th has n before it; 4 heads.
        let mean = |pairs: &dyn Fn(usize) -> usize, context: usize| {
            let sum: usize = (0..=context).map(pairs).sum();
            (sum * 4 * BYTES_PER_PAIR) as f64 / (context + 1) as f64
        };
        for context in [1, 4] {
            let joined = |before: usize| (30 * (before + 1)).pow(2);
            assert!(
                (matrices(Preset::SingleEncoder, context) - mean(&joined, context)).abs() < 1.0
            );
            let beside = |before: usize| (30 * before.max(1)).pow(2);
            assert!((matrices(Preset::MultiEncoder, context) - mean(&beside, context)).abs() < 1.0);
            let alone = |_: usize| 900;
            assert!((matrices(Preset::Grouping, context) - mean(&alone, context)).abs() < 1.0);
        }
    }
}
