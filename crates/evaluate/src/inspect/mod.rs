//! Inspection of a model: what its memory keeps of each sentence, and which earlier words a
//! translation attended to.

mod draw;
mod influence;
mod look;
mod page;
mod pieces;
mod shares;
mod statistics;
mod terminal;

pub use look::Inspector;
pub use statistics::{GroupStatistics, GroupUse};

/// A document with the observations of its translation.
#[derive(Clone, Debug, PartialEq)]
pub struct InspectedDocument {
    /// The name of the document.
    pub id: String,
    /// Its sentences.
    pub sentences: Vec<InspectedSentence>,
}

/// A sentence with the observations of its translation.
#[derive(Clone, Debug, PartialEq)]
pub struct InspectedSentence {
    /// The position in the document, from 0.
    pub position: usize,
    /// The text.
    pub source: String,
    /// The translation, found or given.
    pub translation: String,
    /// The tokens of the text, including the end token, for display.
    pub source_tokens: Vec<String>,
    /// The tokens of the translation, including the end token.
    pub target_tokens: Vec<String>,
    /// What the memory keeps of it.
    pub kept: Kept,
    /// The sentences of the memory, oldest first; the sentence itself last, if its memory includes
    /// it.
    pub context: Vec<ContextSentence>,
}

/// What the memory keeps of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// Groups of tokens.
    Groups(Groups),
    /// A description in words, if there is nothing to draw.
    Note(String),
}

/// The weights of a sentence's tokens for groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// Which weights add up to one.
    pub kind: GroupKind,
    /// One list per token with one weight per group.
    pub weights: Vec<Vec<f32>>,
}

/// A sentence's tokens and their groups, without any translation.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedSentence {
    /// The tokens, for display.
    pub tokens: Vec<String>,
    /// Their weights.
    pub groups: Groups,
}

/// Which weights add up to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// A token's weights over the groups.
    Grouping,
    /// A group's weights over the tokens.
    Selecting,
}

/// A sentence of the memory as a translation saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextSentence {
    /// How many sentences back; 0 is the sentence itself.
    pub distance: usize,
    /// Its tokens.
    pub tokens: Vec<String>,
    /// For each token of the translation, the attention to each row of the entry.
    pub entry: Vec<Vec<f32>>,
    /// For each token of the translation, the attention to each word: the attention to the rows,
    /// distributed over the words they were made of.
    pub words: Vec<Vec<f32>>,
    /// For each token of the translation, how many nats it loses when a word is left out; empty for
    /// the sentence itself.
    pub influence: Vec<Vec<f32>>,
}

impl InspectedSentence {
    /// The words of the context without which a token of the translation would be less probable,
    /// strongest first: distance, word, nats.
    pub fn deciding(&self, target: usize, count: usize) -> Vec<(usize, &str, f32)> {
        self.top(target, count, |sentence| &sentence.influence)
    }

    /// The words of the memory that a token of the translation attended to most, strongest first:
    /// distance, word, weight.
    pub fn strongest(&self, target: usize, count: usize) -> Vec<(usize, &str, f32)> {
        self.top(target, count, |sentence| &sentence.words)
    }

    fn top(
        &self,
        target: usize,
        count: usize,
        part: fn(&ContextSentence) -> &Vec<Vec<f32>>,
    ) -> Vec<(usize, &str, f32)> {
        let mut words: Vec<(usize, &str, f32)> = Vec::new();
        for sentence in &self.context {
            let weights = part(sentence).get(target).map_or(&[][..], Vec::as_slice);
            let tokens = sentence.tokens.iter().map(String::as_str).zip(weights);
            words.extend(tokens.map(|(token, &weight)| (sentence.distance, token, weight)));
        }
        words.sort_by(|a, b| b.2.total_cmp(&a.2));
        words.retain(|word| word.2 > 0.0);
        words.truncate(count);
        words
    }
}

/// A distance in words.
fn distance_in_words(distance: usize) -> String {
    match distance {
        0 => "the sentence itself".into(),
        1 => "the sentence before".into(),
        more => format!("{more} sentences before"),
    }
}

/// How many times less probable something becomes when it loses this many nats.
fn times(nats: f32) -> String {
    let factor = nats.exp();
    if factor < 9.95 { format!("{factor:.1}×") } else { format!("{factor:.0}×") }
}
