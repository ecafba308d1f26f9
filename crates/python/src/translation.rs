//! Translations as objects of Python.

use abridge_translate::{Explanation, SentenceAttention, Translator};
use pyo3::prelude::*;

use crate::errors::guarded;
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
    /// Whether it ended only because it reached the maximum length.
    #[pyo3(get)]
    is_cut: bool,
    /// The hypotheses, as many as `n_best`, the best first.
    #[pyo3(get)]
    hypotheses: Vec<Py<Hypothesis>>,
    /// What it attended to, if requested with `attention=True`.
    #[pyo3(get)]
    attention: Option<Py<Attention>>,
}

/// A translation before it becomes an object of Python.
pub struct Found {
    translation: abridge_translate::Translation,
    explanation: Option<Explanation>,
}

impl Found {
    /// A translation, with what it attended to if that was requested.
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

/// What a translation attended to.
#[pyclass(frozen, module = "abridge")]
pub struct Attention {
    /// The words of the source.
    #[pyo3(get)]
    source: Vec<String>,
    /// The words of the translation.
    #[pyo3(get)]
    target: Vec<String>,
    /// Pairs `(source, target)` of indices: each target word with the source word that it attended to
    /// most.
    #[pyo3(get)]
    alignment: Vec<(usize, usize)>,
    explanation: Explanation,
}

/// The attention of a translation to one sentence of the memory.
#[pyclass(frozen, module = "abridge")]
pub struct MemoryAttention {
    /// How many sentences back; 0 is the sentence itself.
    #[pyo3(get)]
    distance: usize,
    /// Whether it is the translation of that sentence, in models that remember translations.
    #[pyo3(get)]
    is_translation: bool,
    /// Its words.
    #[pyo3(get)]
    words: Vec<String>,
    attention: Array,
    entry_attention: Array,
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
    /// The sentences of the memory, nearest first, and each before its translation.
    fn memory(&self) -> PyResult<Vec<MemoryAttention>> {
        guarded(|| {
            let target = &self.explanation.target;
            let mut seen: Vec<&SentenceAttention> = Vec::new();
            for sentence in target.iter().flat_map(|word| &word.memory) {
                if !seen.iter().any(|other| is_same(other, sentence)) {
                    seen.push(sentence);
                }
            }
            seen.sort_by_key(|sentence| (sentence.back, sentence.is_translation));
            seen.into_iter().map(|sentence| self.attention_to(sentence)).collect()
        })
    }
}

#[pymethods]
impl MemoryAttention {
    /// An array with one row per target word and one column per word of the sentence.
    #[getter]
    fn attention<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.attention.view(py)
    }

    /// An array with one row per target word and one column per row of the sentence's memory entry.
    #[getter]
    fn entry_attention<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.entry_attention.view(py)
    }

    fn __repr__(&self) -> String {
        let is_translation = if self.is_translation { "True" } else { "False" };
        format!("MemoryAttention(distance={}, is_translation={is_translation})", self.distance)
    }
}

/// Whether both are the same sentence. Parts of a long sentence, which are translated one after the
/// other, see different sentences at the same distance.
fn is_same(one: &SentenceAttention, other: &SentenceAttention) -> bool {
    (one.back, one.is_translation) == (other.back, other.is_translation)
        && one.words.iter().map(|(word, _)| word).eq(other.words.iter().map(|(word, _)| word))
}

impl Translation {
    /// The object for Python.
    pub fn new(py: Python<'_>, found: Found, translator: &Translator) -> PyResult<Self> {
        let Found { translation, explanation } = found;
        let attention = explanation.map(|explanation| guarded(|| Attention::new(explanation)));
        let attention = attention.transpose()?.map(|attention| Py::new(py, attention));
        let attention = attention.transpose()?;
        let (text, score) = (translation.text().to_owned(), translation.score());
        let is_cut = translation.is_cut();
        let convert = |found: abridge_translate::Rendition| {
            let piece = |&id: &u32| translator.target().piece(id).unwrap_or_default().to_owned();
            let hypothesis = guarded(|| Hypothesis {
                text: found.text,
                score: found.score,
                tokens: found.tokens.iter().map(piece).collect(),
                ids: Array::ids(found.tokens),
                token_scores: Array::floats(found.token_scores),
            });
            Py::new(py, hypothesis?)
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
            target: explanation.target.iter().map(|target| target.word.clone()).collect(),
            alignment: explanation.alignment(),
            explanation,
        }
    }

    /// The weights of one sentence for all target words; 0 where it got no attention.
    fn attention_to(&self, sentence: &SentenceAttention) -> MemoryAttention {
        let found = self.explanation.target.iter();
        let found: Vec<Option<&SentenceAttention>> = found
            .map(|target| target.memory.iter().find(|other| is_same(other, sentence)))
            .collect();
        let matrix = |columns: usize, row: fn(&SentenceAttention) -> Vec<f32>| {
            let rows = found.iter().map(|found| found.map_or_else(|| vec![0.0; columns], row));
            Array::matrix(&rows.collect::<Vec<_>>())
        };
        MemoryAttention {
            distance: sentence.back,
            is_translation: sentence.is_translation,
            words: sentence.words.iter().map(|(word, _)| word.clone()).collect(),
            attention: matrix(sentence.words.len(), |found| {
                found.words.iter().map(|(_, weight)| *weight).collect()
            }),
            entry_attention: matrix(sentence.rows.len(), |found| found.rows.clone()),
        }
    }
}
