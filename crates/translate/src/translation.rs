//! Translations: hypotheses with scores and attention.

use abridge_model::{Attended, Remembered};

use crate::beam::Hypothesis;

/// The translation of one sentence.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The hypotheses, best first; at most as many as requested, at least one.
    pub hypotheses: Vec<Rendition>,
    /// The parts in which the sentence was translated; one, unless it was too long.
    pub parts: Vec<Part>,
}

/// One way to translate a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendition {
    /// The text.
    pub text: String,
    /// The log-probability, divided by the length penalty; the mean over parts if there are
    /// several.
    pub score: f64,
    /// The target tokens; each part ends with an end token. An empty sentence has none.
    pub tokens: Vec<u32>,
    /// The log-probability of each token.
    pub token_scores: Vec<f32>,
    /// Whether it, or a part of it, was truncated at the maximum length.
    pub is_cut: bool,
}

/// A part of the source that was translated at once.
#[derive(Clone, Debug)]
pub struct Part {
    /// The source tokens, including the end token.
    pub source: Vec<u32>,
    /// The attention of the best hypothesis, if requested.
    pub attention: Option<Attention>,
}

/// The attention of a hypothesis.
#[derive(Clone, Debug)]
pub struct Attention {
    /// The weights.
    pub weights: Attended,
    /// The sentences in the slots of the [`MemoryLayout`](abridge_model::MemoryLayout): tokens,
    /// entries and group weights.
    pub slots: Vec<(usize, Remembered)>,
}

impl Translation {
    /// The text of the best hypothesis.
    pub fn text(&self) -> &str {
        self.hypotheses.first().map_or("", |best| best.text.as_str())
    }

    /// The score of the best hypothesis.
    pub fn score(&self) -> f64 {
        self.hypotheses.first().map_or(0.0, |best| best.score)
    }

    /// Whether the best hypothesis may be truncated.
    pub fn is_cut(&self) -> bool {
        self.hypotheses.first().is_some_and(|best| best.is_cut)
    }

    /// Converts into the text of the best hypothesis.
    pub fn into_text(mut self) -> String {
        if self.hypotheses.is_empty() { String::new() } else { self.hypotheses.swap_remove(0).text }
    }
}

impl Rendition {
    /// The translation of an empty sentence.
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

    /// Joins the translations of parts; `joints` are the separators.
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
