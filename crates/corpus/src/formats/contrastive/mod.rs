//! Contrastive sets: a source sentence in its context, the reference translation, and translations
//! with one wrong word. A model is right if it scores the reference highest.
//!
//! [`ContrastiveSet::read`] reads ContraPro (its JSON with the documents it points into, or the
//! text and context files made from it), the large English-French pronoun set, Bawden's hand-made
//! sets and the contextual part of MT-GenEval. [`ContrastiveSet::write_contrapro`] writes
//! ContraPro's JSON.

mod bawden;
mod bawden_json;
mod contrapro_json;
mod contrapro_text;
mod contrapro_write;
mod documents;
mod input;
mod large_pronoun;
mod mt_geneval;
mod parallel_lines;
mod pronoun;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use contrapro_write::{ContraProOutput, write_documents};
pub use input::ContrastiveInput;

/// Examples for contrastive scoring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContrastiveSet {
    /// The examples in the order of the file.
    pub items: Vec<ContrastiveItem>,
    /// What a reader should know about the set, such as sentences that differ between its files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One example: a sentence in context and its candidate translations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContrastiveItem {
    /// The example's name, or its number in the file, counted from 0, if the set has no names.
    pub id: String,
    /// The source sentence.
    pub source: String,
    /// The preceding source sentences, oldest first. Fewer near the start of a document.
    pub context: Vec<String>,
    /// The preceding target sentences, oldest first.
    pub target_context: Vec<String>,
    /// The candidate translations; the first is the reference.
    pub candidates: Vec<String>,
    /// The word of the reference that the others replace, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pronoun: Option<String>,
    /// The words that replace it, one per candidate after the reference; empty when unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replacements: Vec<String>,
    /// The pronoun of the source sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_pronoun: Option<String>,
    /// How many sentences back the antecedent is; 0 is the same sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub antecedent_distance: Option<u32>,
    /// The antecedent in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_antecedent: Option<String>,
    /// The antecedent in the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_antecedent: Option<String>,
    /// The document that the sentence comes from, without a language suffix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The sentence's index in its document, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<usize>,
    /// The kind of example, in the words of the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

impl ContrastiveSet {
    /// The largest number of context sentences of any example.
    pub fn longest_context(&self) -> usize {
        self.items.iter().map(|item| item.context.len()).max().unwrap_or(0)
    }

    /// The number of candidates of all items: the number of scores that an evaluation needs.
    pub fn candidates(&self) -> usize {
        self.items.iter().map(|item| item.candidates.len()).sum()
    }
}

impl ContrastiveItem {
    /// Derives the reference's word and its replacements from the texts if the set does not give
    /// them.
    fn find_pronouns(&mut self) {
        let Some((reference, others)) = self.candidates.split_first() else { return };
        let differences: Vec<_> =
            others.iter().map(|other| pronoun::difference(reference, other)).collect();
        if self.pronoun.is_none() {
            self.pronoun = differences.iter().flatten().next().map(|pair| pair.0.clone());
        }
        if self.replacements.is_empty() {
            let words: Option<Vec<_>> =
                differences.into_iter().map(|pair| pair.map(|(_, other)| other)).collect();
            self.replacements = words.unwrap_or_default();
        }
    }
}
