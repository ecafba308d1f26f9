//! What a translation is to Python.

use abridge_translate::{Explanation, Translator};
use pyo3::prelude::*;

use crate::values::Array;

/// The translation of one sentence.
///
/// `str(translation)` is its text.
#[pyclass(frozen, module = "abridge")]
pub struct Translation {
    /// The text of the best hypothesis.
    #[pyo3(get)]
    text: String,
    /// Its log-probability, divided by the length penalty.
    #[pyo3(get)]
    score: f64,
    /// Whether it ended only because it was as long as is allowed.
    #[pyo3(get)]
    is_cut: bool,
    /// All hypotheses that were asked for, the best first.
    #[pyo3(get)]
    hypotheses: Vec<Py<Hypothesis>>,
    /// Where it looked, if that was asked for with `attention=True`.
    #[pyo3(get)]
    attention: Option<Py<Attention>>,
}

/// What the work found, without anything of Python's.
pub struct Found {
    translation: abridge_translate::Translation,
    explanation: Option<Explanation>,
}

impl Found {
    /// A translation, with where it looked if that is wanted and was noted.
    pub fn new(
        translation: abridge_translate::Translation,
        translator: &Translator,
        attention: bool,
    ) -> Self {
        let explanation = attention.then(|| translator.explain(&translation));
        Self { translation, explanation }
    }
}

/// One way to translate a sentence.
#[pyclass(frozen, module = "abridge")]
pub struct Hypothesis {
    /// The text.
    #[pyo3(get)]
    text: String,
    /// The log-probability, divided by the length penalty.
    #[pyo3(get)]
    score: f64,
    /// The tokens, with `▁` for a space; the end is `</s>`.
    #[pyo3(get)]
    tokens: Vec<String>,
    ids: Array,
    token_scores: Array,
}

/// Which words a translation looked at.
#[pyclass(frozen, module = "abridge")]
pub struct Attention {
    /// The words of the source.
    #[pyo3(get)]
    source: Vec<String>,
    /// The words of the translation.
    #[pyo3(get)]
    target: Vec<String>,
    /// Pairs `(source, target)` of places: each target word with the source word that it looked at most.
    #[pyo3(get)]
    alignment: Vec<(usize, usize)>,
    explanation: Explanation,
}

#[pymethods]
impl Translation {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("Translation(text={:?}, score={:.4})", self.text, self.score)
    }
}

#[pymethods]
impl Hypothesis {
    /// The ids of the tokens, as an array.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ids.view(py)
    }

    /// The log-probability of each token, as an array.
    #[getter]
    fn token_scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.token_scores.view(py)
    }

    fn __repr__(&self) -> String {
        format!("Hypothesis(text={:?}, score={:.4})", self.text, self.score)
    }
}

#[pymethods]
impl Attention {
    /// The sentences of the memory, nearest first: `(distance, words, weights)`, where `weights` is
    /// an array with one row per target word and one column per word of that sentence.
    fn memory<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(usize, Vec<String>, Bound<'py, PyAny>)>> {
        let mut seen: Vec<(usize, bool)> = Vec::new();
        for look in &self.explanation.looks {
            for sentence in &look.memory {
                let key = (sentence.back, sentence.is_translation);
                if !seen.contains(&key) {
                    seen.push(key);
                }
            }
        }
        seen.sort_unstable();
        let mut sentences = Vec::new();
        for (back, is_translation) in seen {
            let mut words = Vec::new();
            let mut rows = Vec::new();
            for look in &self.explanation.looks {
                let found = look
                    .memory
                    .iter()
                    .find(|s| s.back == back && s.is_translation == is_translation);
                let Some(found) = found else {
                    rows.push(Vec::new());
                    continue;
                };
                words = found.words.iter().map(|(word, _)| word.clone()).collect();
                rows.push(found.words.iter().map(|(_, weight)| *weight).collect());
            }
            for row in &mut rows {
                row.resize(words.len(), 0.0);
            }
            sentences.push((back, words, Array::matrix(&rows).view(py)?));
        }
        Ok(sentences)
    }
}

impl Translation {
    /// For Python, with where it looked.
    pub fn new(py: Python<'_>, found: Found, translator: &Translator) -> PyResult<Self> {
        let Found { translation, explanation } = found;
        let attention = explanation.map(|explanation| Py::new(py, Attention::new(explanation)));
        let attention = attention.transpose()?;
        let (text, score) = (translation.text().to_owned(), translation.score());
        let is_cut = translation.is_cut();
        let convert = |found: abridge_translate::Rendition| {
            let piece = |&id: &u32| translator.target().piece(id).unwrap_or_default().to_owned();
            let hypothesis = Hypothesis {
                text: found.text,
                score: found.score,
                tokens: found.tokens.iter().map(piece).collect(),
                ids: Array::ids(found.tokens),
                token_scores: Array::floats(found.token_scores),
            };
            Py::new(py, hypothesis)
        };
        let hypotheses = translation.hypotheses.into_iter().map(convert);
        let hypotheses = hypotheses.collect::<PyResult<_>>()?;
        Ok(Self { text, score, is_cut, hypotheses, attention })
    }
}

impl Attention {
    fn new(explanation: Explanation) -> Self {
        Self {
            source: explanation.source.clone(),
            target: explanation.looks.iter().map(|look| look.word.clone()).collect(),
            alignment: explanation.alignment(),
            explanation,
        }
    }
}
