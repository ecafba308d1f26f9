//! How probable given translations are.

use abridge_translate::ScoreRequest;
use pyo3::prelude::*;

use crate::values::Array;
use crate::{values, work};

/// Candidates between two checks for Ctrl-C.
const CHUNK: usize = 256;

/// How probable a translation is.
#[pyclass(frozen, module = "abridge")]
pub struct Score {
    /// The log-probability of all tokens, the end included.
    #[pyo3(get)]
    sum: f64,
    /// The log-probability per token, by which candidates are ranked.
    #[pyo3(get)]
    mean: f64,
    token_scores: Array,
}

#[pymethods]
impl Score {
    /// The log-probability of each token, as an array.
    #[getter]
    fn token_scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.token_scores.view(py)
    }

    fn __repr__(&self) -> String {
        format!("Score(sum={:.4}, mean={:.4})", self.sum, self.mean)
    }
}

/// Scores the candidates of one sentence.
pub fn score(
    py: Python<'_>,
    translator: &abridge_translate::Translator,
    source: String,
    candidates: &Bound<'_, PyAny>,
    context: Option<&Bound<'_, PyAny>>,
    context_translations: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Score>> {
    let list = |name: &str, value: Option<&Bound<'_, PyAny>>| match value {
        Some(value) => values::sentences(name, value),
        None => Ok(Vec::new()),
    };
    let candidates = values::sentences("candidates", candidates)?;
    let context = list("context", context)?;
    let context_translations = list("context_translations", context_translations)?;
    let scores = work::run(py, progress, |link| {
        let mut scores = Vec::with_capacity(candidates.len());
        for candidates in candidates.chunks(CHUNK) {
            let request = ScoreRequest {
                source: &source,
                context: &context,
                context_translations: &context_translations,
                shown: None,
                candidates,
            };
            scores.extend(translator.score(&[request], &|_| {})?.into_iter().flatten());
            link.step(candidates.len());
        }
        Ok(scores)
    })?;
    let for_python = |score: abridge_translate::Score| Score {
        sum: score.sum,
        mean: score.mean(),
        token_scores: Array::floats(score.token_scores),
    };
    Ok(scores.into_iter().map(for_python).collect())
}
