//! The attention of a translation, word by word.
//!
//! The network writes subword tokens and attends to rows of memory entries. For display, the
//! weights of tokens are combined into words, and the weight of a row is distributed over the words
//! that the row was made of.

use abridge_corpus::Tokenizer;
use abridge_model::tokens::END;
use abridge_translate::{Translation, Translator, origins};
use serde::Serialize;
use utoipa::ToSchema;

/// The attention of a translation.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct AttentionView {
    /// The words of the sentence.
    pub source: Vec<String>,
    /// The words of the translation.
    pub target: Vec<String>,
    /// For each word of the translation, one weight per word of the sentence.
    pub source_weights: Vec<Vec<f32>>,
    /// The previous sentences, the nearest last; then the sentence itself, if its memory includes
    /// it.
    pub context: Vec<AttendedSentence>,
}

/// A sentence of the memory.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct AttendedSentence {
    /// How many sentences back; 0 is the sentence itself.
    pub distance: usize,
    /// Its words.
    pub words: Vec<String>,
    /// For each word of the translation, one weight per word.
    pub weights: Vec<Vec<f32>>,
    /// For each word of the translation, one weight per row of the memory entry.
    pub entry_weights: Vec<Vec<f32>>,
    /// For each row of the memory entry, the share of each word in it.
    pub shares: Vec<Vec<f32>>,
}

/// Words, and for each token the index of its word.
struct Words {
    words: Vec<String>,
    of: Vec<usize>,
}

impl Words {
    fn new(tokenizer: &Tokenizer, tokens: &[u32]) -> Self {
        let mut spans: Vec<(usize, usize)> = Vec::new();
        let mut of = Vec::with_capacity(tokens.len());
        for (place, &token) in tokens.iter().enumerate() {
            let piece = tokenizer.piece(token).unwrap_or_default();
            let begins = token == END || piece.starts_with('▁') || spans.is_empty();
            match spans.last_mut() {
                Some((_, end)) if !begins => *end = place + 1,
                _ => spans.push((place, place + 1)),
            }
            of.push(spans.len() - 1);
        }
        let word = |&(from, to): &(usize, usize)| match &tokens[from..to] {
            [END] => "⏎".to_owned(),
            tokens => tokenizer.decode(tokens).trim().to_owned(),
        };
        Self { words: spans.iter().map(word).collect(), of }
    }

    /// Sums the weights of each word's tokens.
    fn gather(&self, weights: &[f32]) -> Vec<f32> {
        let mut words = vec![0.0; self.words.len()];
        self.of.iter().zip(weights).for_each(|(&word, weight)| words[word] += weight);
        words
    }

    /// The mean over the tokens of each word.
    fn mean(&self, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let columns = rows.first().map_or(0, Vec::len);
        let mut means = vec![vec![0.0; columns]; self.words.len()];
        let mut counts = vec![0.0f32; self.words.len()];
        for (&word, row) in self.of.iter().zip(rows) {
            counts[word] += 1.0;
            means[word].iter_mut().zip(row).for_each(|(mean, weight)| *mean += weight);
        }
        for (mean, count) in means.iter_mut().zip(counts) {
            for mean in mean {
                *mean /= count.max(1.0);
            }
        }
        means
    }
}

impl AttentionView {
    /// Only of the first part, if a sentence was split; `None` if attention was not recorded.
    pub fn new(translator: &Translator, translation: &Translation) -> Option<Self> {
        let part = translation.parts.first()?;
        let attention = part.attention.as_ref()?;
        let config = translator.model().config();
        let layout = translator.layout();
        let tokens = &translation.hypotheses.first()?.tokens;
        let first = tokens.iter().position(|token| *token == END).map_or(tokens.len(), |at| at + 1);
        let target = Words::new(translator.target(), &tokens[..first]);
        let source = Words::new(translator.source(), &part.source);
        let weights = attention.weights.mean();
        let by_word = |rows: &[Vec<f32>]| rounded(target.mean(rows));
        let source_rows: Vec<Vec<f32>> =
            weights.source.iter().map(|row| source.gather(row)).collect();
        let context = attention.slots.iter().filter_map(|(slot, remembered)| {
            let columns: Vec<usize> = attention
                .weights
                .rows
                .iter()
                .enumerate()
                .filter(|(_, row)| row.slot == *slot)
                .map(|(column, _)| column)
                .collect();
            if columns.is_empty() {
                return None;
            }
            let words = Words::new(translator.source(), &remembered.tokens);
            let shares: Vec<Vec<f32>> =
                origins(config, remembered.tokens.len(), remembered.entry.as_ref())
                    .iter()
                    .map(|row| words.gather(row))
                    .collect();
            let rows: Vec<Vec<f32>> = weights
                .memory
                .iter()
                .map(|row| columns.iter().map(|&column| row[column]).collect())
                .collect();
            let over_words: Vec<Vec<f32>> = rows
                .iter()
                .map(|row| {
                    let mut sum = vec![0.0; words.words.len()];
                    for (weight, share) in row.iter().zip(&shares) {
                        sum.iter_mut().zip(share).for_each(|(sum, share)| *sum += weight * share);
                    }
                    sum
                })
                .collect();
            Some(AttendedSentence {
                distance: layout.place(*slot).back(),
                weights: by_word(&over_words),
                entry_weights: by_word(&rows),
                shares: rounded(shares),
                words: words.words,
            })
        });
        let mut context: Vec<AttendedSentence> = context.collect();
        context.sort_by_key(|sentence| std::cmp::Reverse(sentence.distance));
        Some(Self {
            source_weights: by_word(&source_rows),
            source: source.words,
            target: target.words,
            context,
        })
    }
}

/// Four digits are enough for display and take a third of the bytes.
fn rounded(mut rows: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let round = |weight: &mut f32| {
        *weight = if weight.is_finite() { (*weight * 1e4).round() / 1e4 } else { 0.0 };
    };
    rows.iter_mut().flatten().for_each(round);
    rows
}
