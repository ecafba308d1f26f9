//! What a translation is: hypotheses with scores, and where they looked.

use abridge_model::{Attended, Remembered};

use crate::beam::Hypothesis;

/// The translation of one sentence.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The best first; as many as were asked for and found, at least one.
    pub hypotheses: Vec<Rendition>,
    /// The parts in which the sentence was translated: one, unless it was too long.
    pub parts: Vec<Part>,
}

/// One way to translate a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendition {
    /// The text.
    pub text: String,
    /// The log-probability, divided by the length penalty; of a sentence in parts their mean.
    pub score: f64,
    /// The target tokens, each part ending with an end. An empty sentence has none.
    pub tokens: Vec<u32>,
    /// The log-probability of each token.
    pub token_scores: Vec<f32>,
    /// Whether it, or a part of it, ended only because it was as long as is allowed.
    pub is_cut: bool,
}

/// A stretch of source text that was translated at once.
#[derive(Clone, Debug)]
pub struct Part {
    /// The source tokens, the end included.
    pub source: Vec<u32>,
    /// Where the best hypothesis looked, if that was asked for.
    pub attention: Option<Attention>,
}

/// Where a hypothesis looked, and at what.
#[derive(Clone, Debug)]
pub struct Attention {
    /// The weights.
    pub weights: Attended,
    /// The sentences that the slots hold, by [`MemoryLayout`](abridge_model::MemoryLayout): tokens,
    /// entries and group weights.
    pub slots: Vec<(usize, Remembered)>,
}

impl Translation {
    /// The best hypothesis' text.
    pub fn text(&self) -> &str {
        self.hypotheses.first().map_or("", |best| best.text.as_str())
    }

    /// The best hypothesis' score.
    pub fn score(&self) -> f64 {
        self.hypotheses.first().map_or(0.0, |best| best.score)
    }

    /// Whether the best hypothesis may lack its end.
    pub fn is_cut(&self) -> bool {
        self.hypotheses.first().is_some_and(|best| best.is_cut)
    }

    /// Into the best hypothesis' text.
    pub fn into_text(mut self) -> String {
        if self.hypotheses.is_empty() { String::new() } else { self.hypotheses.swap_remove(0).text }
    }
}

impl Rendition {
    /// The translation of nothing.
    pub(crate) fn empty() -> Self {
        Self {
            text: String::new(),
            score: 0.0,
            tokens: Vec::new(),
            token_scores: Vec::new(),
            is_cut: false,
        }
    }

    pub(crate) fn new(text: String, hypothesis: Hypothesis) -> Self {
        let Hypothesis { tokens, score, token_scores, is_cut } = hypothesis;
        Self { text, score, tokens, token_scores, is_cut }
    }

    /// Puts the translations of parts together; `joints` are what stands between the parts.
    pub(crate) fn join(parts: &[&Self], joints: &[&str]) -> Self {
        let mut whole = Self::empty();
        for (place, part) in parts.iter().enumerate() {
            if place > 0 && !whole.text.is_empty() && !part.text.is_empty() {
                whole.text.push_str(joints.get(place - 1).unwrap_or(&" "));
            }
            whole.text.push_str(&part.text);
            whole.tokens.extend_from_slice(&part.tokens);
            whole.token_scores.extend_from_slice(&part.token_scores);
            whole.score += part.score / parts.len() as f64;
            whole.is_cut |= part.is_cut;
        }
        whole
    }
}
