//! Several corpora in one directory: each is stored separately, so that their mixture can be
//! changed without preparing again.

use serde::{Deserialize, Serialize};

use super::filter::FilterRecipe;
use super::recipe::InputFiles;
use crate::{Document, Error, Result};
use abridge_base::random::Random;

/// Distinguishes this use of randomness from others.
const CUTS: u64 = 5;

/// One corpus among several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusRecipe {
    /// Its name: a folder in the directory, and a key in mixtures.
    pub name: String,
    /// The target language, for a model with several: each source sentence then begins with the
    /// token of this language, `>>de<<`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Its share of the target tokens in training, relative to the weights of the others; by size
    /// if no corpus has one. A training recipe can override it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The probability that a sentence of the training text begins a new document. In excerpts that
    /// were selected for their last sentence, the number of preceding sentences would otherwise
    /// reveal what comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_documents: Option<f64>,
    /// Filters for its training text, instead of those of the recipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filters: Option<FilterRecipe>,
    /// Text to train on.
    #[serde(default)]
    pub train: Vec<InputFiles>,
    /// Text that determines when training stops.
    #[serde(default)]
    pub valid: Vec<InputFiles>,
    /// Text to evaluate on.
    #[serde(default)]
    pub test: Vec<InputFiles>,
}

impl CorpusRecipe {
    /// The files of a split.
    pub fn split(&self, name: &str) -> &[InputFiles] {
        match name {
            "train" => &self.train,
            "valid" => &self.valid,
            "test" => &self.test,
            _ => &[],
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let name = &self.name;
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(allowed) {
            return Err(Error::new(format!("`{name}` is not a name for a corpus"))
                .remedy("use letters, digits, `-`, `_` and `.`, as in a file name"));
        }
        let is_code = |code: &&String| {
            !code.is_empty() && code.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        };
        if let Some(target) = self.target.as_ref().filter(|target| !is_code(target)) {
            return Err(Error::new(format!("`{target}` is not a language code"))
                .remedy("give the `target` of a corpus as in `target = \"de\"`"));
        }
        if let Some(weight) = self.weight.filter(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::new(format!("the weight of `{name}` is {weight}"))
                .remedy("weights must be finite and 0 or more"));
        }
        if let Some(share) = self.cut_documents.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(Error::new(format!("cut_documents of `{name}` is {share}"))
                .remedy("a probability must be in [0, 1]"));
        }
        if let Some(filters) = &self.filters {
            filters.check().map_err(|error| Error::new(format!("`{name}`: {error}")))?;
        }
        if self.train.is_empty() && self.valid.is_empty() && self.test.is_empty() {
            return Err(Error::new(format!("the corpus `{name}` has no files"))
                .remedy("name the files of at least one split"));
        }
        Ok(())
    }
}

/// Cuts a document at random: each sentence but the first begins a new document with the given
/// probability. The cuts depend only on the document's number.
pub(super) fn cut_document(document: Document, number: u64, probability: f64) -> Vec<Document> {
    const STEPS: usize = 1 << 32;
    let below = (probability * STEPS as f64) as usize;
    let mut random = Random::keyed(&[CUTS, number]);
    let Document { id, segments } = document;
    let mut pieces: Vec<Document> = Vec::new();
    for segment in segments {
        let begins = pieces.is_empty() || random.below(STEPS) < below;
        if begins {
            let name = match pieces.len() {
                0 => id.clone(),
                before => format!("{id}+{}", before + 1),
            };
            pieces.push(Document::new(name, Vec::new()));
        }
        if let Some(piece) = pieces.last_mut() {
            piece.segments.push(segment);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;

    #[test]
    fn cuts_lose_nothing_and_have_the_given_frequency() {
        let segment = |n: usize| Segment::pair(format!("Line {n}."), format!("Zeile {n}."));
        let document = |d: usize| Document::new(format!("d{d}"), (0..10).map(segment).collect());
        let documents: Vec<Document> = (0..500).map(document).collect();
        let cut_documents = |documents: Vec<Document>, probability: f64| {
            let numbered = documents.into_iter().zip(0..);
            numbered.flat_map(|(d, n)| cut_document(d, n, probability)).collect::<Vec<_>>()
        };
        let pieces = cut_documents(documents.clone(), 0.3);
        let all = |documents: &[Document]| {
            documents.iter().flat_map(|d| d.segments.clone()).collect::<Vec<_>>()
        };
        assert_eq!(all(&pieces), all(&documents));
        let share = (pieces.len() - 500) as f64 / (500.0 * 9.0);
        assert!((share - 0.3).abs() < 0.03, "{share}");
        assert_eq!(pieces, cut_documents(documents.clone(), 0.3));
        assert_eq!(cut_documents(documents.clone(), 0.0), documents);
        assert_eq!(cut_documents(documents, 1.0).len(), 5000);
        let mut names: Vec<&str> = pieces.iter().map(|piece| piece.id.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), pieces.len());
    }
}
