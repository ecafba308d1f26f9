//! Accuracy on contrastive sets, and the gain from context (CXMI).

use std::path::PathBuf;

use abridge_corpus::{ContrastiveInput, ContrastiveSet};
use abridge_evaluate::{
    Accuracy, ContrastiveReport, CxmiSettings, Identity, SentenceGain, check_context,
    check_languages, limit_context, score_set,
};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::translator::Translator;
use crate::values::{language_pair, pairs, to_python};
use crate::work;

/// How often a model prefers the right candidate of a contrastive set.
///
/// `pandas.DataFrame(result.rows)` is the table of the command line; `result.items` has one row per
/// example.
#[pyclass(frozen, module = "abridge")]
pub struct Contrast {
    /// The share of examples that are right.
    #[pyo3(get)]
    accuracy: f64,
    /// What it depends on.
    #[pyo3(get)]
    signature: String,
    rows: Value,
    items: Value,
}

#[pymethods]
impl Contrast {
    /// One dictionary per row: `part`, `name`, `correct`, `items`, `accuracy`, `low`, `high` (the
    /// 95 % interval).
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.rows)
    }

    /// One dictionary per example: `source`, `candidates`, `scores`, `right`.
    #[getter]
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.items)
    }

    fn __repr__(&self) -> String {
        format!("Contrast(accuracy={:.4}, {})", self.accuracy, self.signature)
    }
}

/// How much context makes references more probable, in nats.
#[pyclass(frozen, module = "abridge")]
pub struct Cxmi {
    /// The mean gain per sentence.
    #[pyo3(get)]
    per_sentence: f64,
    /// The mean gain per token.
    #[pyo3(get)]
    per_token: f64,
    /// The mean gain per sentence from sentences from elsewhere: the control.
    #[pyo3(get)]
    random: f64,
    rows: Value,
    words: Value,
}

#[pymethods]
impl Cxmi {
    /// One dictionary per sentence: `document`, `sentence`, `gain`, `random` (the gain from sentences
    /// from elsewhere), `words`, `word_gains` and `random_words` (the gains of its words).
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.rows)
    }

    /// One dictionary per word, by descending gain: `word`, `count`, `total`.
    #[getter]
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.words)
    }

    fn __repr__(&self) -> String {
        format!("Cxmi(per_sentence={:.4}, random={:.4})", self.per_sentence, self.random)
    }
}

/// Scores the candidates of a contrastive set (ContraPro, the large English-French set, Bawden's, or
/// the practice corpus' own) and counts how often the reference wins. A larger `context_size` than
/// the model was trained with is possible, with a warning.
///
/// >>> found = abridge.contrast(translator, "data/text/contrastive.json")
/// >>> found.rows[0]["part"], found.rows[0]["items"]
/// ('all', 720)
#[pyfunction]
#[pyo3(signature = (model, set, *, documents=None, languages=None, context_size=None,
                    progress=None))]
pub fn contrast(
    py: Python<'_>,
    model: &Translator,
    set: PathBuf,
    documents: Option<PathBuf>,
    languages: Option<String>,
    context_size: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Contrast> {
    let trained = model.inner.languages().map(|(source, target)| format!("{source}-{target}"));
    let pair = languages.or_else(|| trained.clone()).unwrap_or_else(|| "en-de".to_owned());
    let (source, target) = language_pair(&pair)?;
    model.warn_of_context(py, context_size)?;
    work::run(py, progress, |link| {
        let translator = &*model.with_context(context_size)?;
        let most = translator.model().config().context_size;
        let mut input = ContrastiveInput::new(&set, source, target);
        input.documents = documents;
        input.context = input.context.max(most);
        let set = ContrastiveSet::read(&input)?;
        check_languages(&set, &pair, trained.as_deref())?;
        let context = context_size.map_or(most, |size| size.min(most));
        check_context(&set, context)?;
        let identity = Identity::new(translator, &set, context);
        let mut limited = set.clone();
        limit_context(&mut limited, context);
        let mut scores = Vec::with_capacity(set.items.len());
        // In chunks, between which Ctrl-C is checked.
        for items in limited.items.chunks(64) {
            let part = ContrastiveSet { items: items.to_vec(), notes: Vec::new() };
            scores.extend(score_set(translator, &part, None, &mut |done| link.step(done))?);
        }
        let report = ContrastiveReport::new(&set, &scores);
        Ok(Contrast {
            accuracy: report.total.share(),
            signature: identity.signature("mean-token-log-probability").to_string(),
            rows: rows(&report),
            items: set
                .items
                .iter()
                .zip(&scores)
                .map(|(item, scores)| {
                    json!({
                        "source": item.source,
                        "candidates": item.candidates,
                        "scores": scores,
                        "right": abridge_evaluate::is_preferred(scores),
                    })
                })
                .collect(),
        })
    })
}

/// How much the references of documents gain from the sentences before them (CXMI, Fernandes et al.,
/// 2021). `documents` are lists of rows `(source, reference)`, or mappings from the languages of the
/// model. A larger `context_size` than the model was trained with is possible, with a warning.
///
/// >>> document = [("I see the lamp.", "Ich sehe die Lampe."), ("It is old.", "Sie ist alt.")]
/// >>> [row["sentence"] for row in abridge.cxmi(translator, [document, document]).rows]
/// [2, 2]
#[pyfunction]
#[pyo3(signature = (model, documents, *, context_size=None, seed=1, progress=None))]
pub fn cxmi(
    py: Python<'_>,
    model: &Translator,
    documents: &Bound<'_, PyAny>,
    context_size: Option<usize>,
    seed: u64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Cxmi> {
    let documents = pairs("documents", documents, model.inner.languages())?;
    model.warn_of_context(py, context_size)?;
    work::run(py, progress, |link| {
        let translator = model.with_context(context_size)?;
        let most = translator.model().config().context_size;
        let context = context_size.map_or(most, |size| size.min(most));
        if context == 0 {
            let problem = "CXMI measures the gain from context, but here is none";
            let remedy = "give a model that uses context, and a context_size of at least 1";
            return Err(abridge_base::Error::usage(problem).remedy(remedy).into());
        }
        let settings = CxmiSettings { context, seed };
        let report =
            abridge_evaluate::cxmi(&translator, &documents, settings, &mut |done| link.step(done))?;
        Ok(Cxmi {
            per_sentence: report.context.per_sentence,
            per_token: report.context.per_token,
            random: report.random.per_sentence,
            rows: report.lines.iter().map(sentence_row).collect(),
            words: serde_json::to_value(&report.words)?,
        })
    })
}

/// Words and gains in lists of their own: polars refuses lists of mixed types.
fn sentence_row(line: &SentenceGain) -> Value {
    let (words, word_gains): (Vec<&String>, Vec<f64>) =
        line.words.iter().map(|(word, gain)| (word, *gain)).unzip();
    json!({
        "document": line.document,
        "sentence": line.sentence,
        "gain": line.gain,
        "random": line.random,
        "words": words,
        "word_gains": word_gains,
        "random_words": line.random_words,
    })
}

fn rows(report: &ContrastiveReport) -> Value {
    let row = |part: &str, name: &str, accuracy: &Accuracy| {
        let (low, high) = accuracy.interval();
        json!({
            "part": part, "name": name, "correct": accuracy.correct, "items": accuracy.items,
            "accuracy": accuracy.share(), "low": low, "high": high,
        })
    };
    let parts = [
        ("distance", &report.by_distance),
        ("pronoun", &report.by_pronoun),
        ("category", &report.by_category),
    ];
    let mut rows = vec![row("all", "all", &report.total)];
    for (part, list) in parts {
        rows.extend(list.iter().map(|(name, accuracy)| row(part, name, accuracy)));
    }
    rows.into()
}
