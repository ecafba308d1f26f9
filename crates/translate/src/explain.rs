//! Which words a translation attended to: alignments, and words of the memory.

use std::ops::Range;

use abridge_corpus::Tokenizer;
use abridge_model::tokens::END;
use abridge_model::{AttentionWeights, MemoryEntry, ModelConfig, Remembered};

use crate::translation::{Attention, Translation};
use crate::translator::Translator;

/// A word of the best hypothesis and what it attended to.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetWord {
    /// The word.
    pub word: String,
    /// The index of the source word that it attended to most.
    pub source: Option<usize>,
    /// The sentences of the memory that it attended to, by descending weight.
    pub memory: Vec<SentenceAttention>,
}

/// What a word attended to in one sentence of the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct SentenceAttention {
    /// How many sentences back; 0 is the sentence itself.
    pub back: usize,
    /// Whether it is the translation of that sentence, in models that remember translations.
    pub is_translation: bool,
    /// The attention weight of the whole sentence.
    pub weight: f32,
    /// The weight of each row of its memory entry.
    pub rows: Vec<f32>,
    /// Its words with their weights, in reading order. The weight of each memory row is distributed
    /// over the tokens that the row was made from.
    pub words: Vec<(String, f32)>,
}

/// Everything that a translation attended to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The words of the source.
    pub source: Vec<String>,
    /// The words of the translation.
    pub target: Vec<TargetWord>,
}

impl Explanation {
    /// For each target word, the pair of the source word that it attended to most and itself.
    pub fn alignment(&self) -> Vec<(usize, usize)> {
        let pairs = self.target.iter().enumerate();
        pairs.filter_map(|(target, word)| Some((word.source?, target))).collect()
    }
}

impl Translator {
    /// Explains a translation that was made with [`Control::attention`](crate::Control).
    pub fn explain(&self, translation: &Translation) -> Explanation {
        let mut explanation = Explanation::default();
        let Some(best) = translation.hypotheses.first() else { return explanation };
        let mut targets = best.tokens.split_inclusive(|&token| token == END);
        for part in &translation.parts {
            let Some(attention) = &part.attention else { continue };
            let target = targets.next().unwrap_or_default();
            self.explain_part(&part.source, target, attention, &mut explanation);
        }
        explanation
    }

    fn explain_part(
        &self,
        source: &[u32],
        target: &[u32],
        attention: &Attention,
        explanation: &mut Explanation,
    ) {
        let weights = attention.weights.mean();
        let first = explanation.source.len();
        let source_words = words(self.source(), source);
        let held: Vec<Held> =
            attention.slots.iter().flat_map(|(slot, held)| self.held(*slot, held)).collect();
        for (word, tokens) in words(self.target(), target) {
            let own = mean(&weights.source, &tokens);
            let share = |word: &(String, Range<usize>)| own[word.1.clone()].iter().sum::<f32>();
            let shares = source_words.iter().map(share).enumerate();
            let most = shares.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
            explanation.target.push(TargetWord {
                word,
                source: most.map(|(place, _)| first + place),
                memory: memory_attention(&weights, &tokens, attention, &held),
            });
        }
        explanation.source.extend(source_words.into_iter().map(|(word, _)| word));
    }

    /// A sentence and, if it is remembered, its translation.
    fn held(&self, slot: usize, remembered: &Remembered) -> Vec<Held> {
        let config = self.model().config();
        let layout = self.layout();
        let back = layout.place(slot).back();
        let entry = remembered.entry.as_ref();
        let mut held = vec![Held {
            slot,
            back,
            is_translation: false,
            words: words(self.source(), &remembered.tokens),
            origins: origins(config, remembered.tokens.len(), entry),
        }];
        held.extend(remembered.translation.as_ref().map(|translation| Held {
            slot: layout.translation_slot(slot),
            back,
            is_translation: true,
            words: words(self.target(), &translation.tokens),
            origins: origins(config, translation.tokens.len(), Some(&translation.entry)),
        }));
        held
    }
}

/// A sentence in a slot.
struct Held {
    slot: usize,
    back: usize,
    is_translation: bool,
    words: Vec<(String, Range<usize>)>,
    /// For each row of the entry, the share of each token in it.
    origins: Vec<Vec<f32>>,
}

fn memory_attention(
    weights: &AttentionWeights,
    tokens: &Range<usize>,
    attention: &Attention,
    held: &[Held],
) -> Vec<SentenceAttention> {
    let columns = mean(&weights.memory, tokens);
    let mut sentences: Vec<SentenceAttention> = held
        .iter()
        .map(|held| {
            let length = held.origins.first().map_or(0, Vec::len);
            let mut by_token = vec![0.0; length];
            let mut rows = Vec::new();
            for (row, column) in attention.weights.rows.iter().zip(&columns) {
                if row.slot != held.slot {
                    continue;
                }
                rows.push(*column);
                if let Some(origin) = held.origins.get(row.row) {
                    by_token.iter_mut().zip(origin).for_each(|(sum, share)| *sum += column * share);
                }
            }
            let words = held
                .words
                .iter()
                .map(|(word, tokens)| (word.clone(), by_token[tokens.clone()].iter().sum::<f32>()));
            SentenceAttention {
                back: held.back,
                is_translation: held.is_translation,
                weight: rows.iter().sum(),
                rows,
                words: words.collect(),
            }
        })
        .filter(|sentence| sentence.weight > 0.0)
        .collect();
    sentences.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    sentences
}

/// What each row of a sentence's entry was made from: for each row, one share per token. Refinement
/// also lets rows attend to the whole sentence, which shares do not show.
pub fn origins(config: &ModelConfig, tokens: usize, entry: Option<&MemoryEntry>) -> Vec<Vec<f32>> {
    // Concatenating models see the tokens themselves.
    let window = config.shortener.map_or(Some(1), |shortener| shortener.tokens_per_row(tokens));
    let Some(window) = window else { return entry.map_or_else(Vec::new, group_origins) };
    let rows = config.shortener.map_or(tokens, |shortener| shortener.rows(tokens));
    let row = |row: usize| {
        let own = row * window..tokens.min((row + 1) * window);
        let share = 1.0 / own.len() as f32;
        (0..tokens).map(|token| if own.contains(&token) { share } else { 0.0 }).collect()
    };
    (0..rows).map(row).collect()
}

/// The weights of each group, normalised to add up to one.
fn group_origins(entry: &MemoryEntry) -> Vec<Vec<f32>> {
    let Some(weights) = &entry.weights else { return Vec::new() };
    let [tokens, groups] = weights.dims();
    let values: Vec<f32> = weights.to_data().iter::<f32>().collect();
    let group = |group: usize| {
        let column: Vec<f32> = (0..tokens).map(|token| values[token * groups + group]).collect();
        let total = column.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        column.into_iter().map(|weight| weight / total).collect()
    };
    (0..groups).map(group).collect()
}

/// The mean of some rows; empty if there are none.
fn mean(rows: &[Vec<f32>], range: &Range<usize>) -> Vec<f32> {
    let rows = &rows[range.clone()];
    let mut sum = vec![0.0; rows.first().map_or(0, Vec::len)];
    for row in rows {
        sum.iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight / rows.len() as f32);
    }
    sum
}

/// The words of a sentence and the tokens that spell each.
fn words(tokenizer: &Tokenizer, tokens: &[u32]) -> Vec<(String, Range<usize>)> {
    let length = tokens.iter().position(|&token| token == END).unwrap_or(tokens.len());
    let mut words: Vec<Range<usize>> = Vec::new();
    for (place, &token) in tokens[..length].iter().enumerate() {
        // The target language token is not a word.
        if tokenizer.languages().code(token).is_some() {
            continue;
        }
        let begins = tokenizer.piece(token).is_some_and(|piece| piece.starts_with('\u{2581}'));
        match words.last_mut() {
            Some(word) if !begins => word.end = place + 1,
            _ => words.push(place..place + 1),
        }
    }
    words
        .into_iter()
        .map(|word| (tokenizer.decode(&tokens[word.clone()]).trim().to_owned(), word))
        .collect()
}
