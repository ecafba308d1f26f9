//! Inspection: what the memory keeps, and which earlier words decided.

use abridge_corpus::{Document, Segment};
use abridge_evaluate::inspect::{InspectedDocument, Inspector, Kept};
use abridge_translate::{BeamSettings, Control, DocumentSettings, Translation};
use pyo3::prelude::*;

use crate::errors::{config, guarded};
use crate::translator::Translator;
use crate::values::{Array, sentences};
use crate::work;

/// A document with what the model kept and attended to. A notebook shows it as a page.
#[pyclass(frozen, module = "abridge")]
pub struct Inspection {
    inner: InspectedDocument,
    model: String,
}

/// A sentence with what the model kept and attended to. A notebook shows it as a picture.
#[pyclass(frozen, module = "abridge")]
pub struct InspectedSentence {
    inner: abridge_evaluate::inspect::InspectedSentence,
}

/// A sentence of the memory, as the translation of a later one used it.
#[pyclass(frozen, module = "abridge")]
pub struct ContextSentence {
    inner: abridge_evaluate::inspect::ContextSentence,
}

#[pymethods]
impl Inspection {
    /// The sentences.
    #[getter]
    fn sentences(&self) -> PyResult<Vec<InspectedSentence>> {
        guarded(|| {
            let sentences = self.inner.sentences.iter().cloned();
            sentences.map(|inner| InspectedSentence { inner }).collect()
        })
    }

    /// A self-contained page.
    fn html(&self) -> PyResult<String> {
        guarded(|| InspectedDocument::page(std::slice::from_ref(&self.inner), &self.model))
    }

    /// For notebooks: the page in a frame, so that its style does not affect the notebook.
    fn _repr_html_(&self) -> PyResult<String> {
        let page = self.html()?.replace('&', "&amp;").replace('"', "&quot;");
        let height = (200 + 420 * self.inner.sentences.len()).min(900);
        Ok(format!("<iframe srcdoc=\"{page}\" width=\"100%\" height=\"{height}\"></iframe>"))
    }

    fn __len__(&self) -> usize {
        self.inner.sentences.len()
    }

    fn __getitem__(&self, place: isize) -> PyResult<InspectedSentence> {
        let count = self.inner.sentences.len() as isize;
        let place = if place < 0 { place + count } else { place };
        let found = usize::try_from(place).ok().and_then(|place| self.inner.sentences.get(place));
        let inner = found.cloned().ok_or_else(|| {
            pyo3::exceptions::PyIndexError::new_err(format!("there are {count} sentences"))
        })?;
        Ok(InspectedSentence { inner })
    }
}

#[pymethods]
impl InspectedSentence {
    /// The text.
    #[getter]
    fn source(&self) -> &str {
        &self.inner.source
    }

    /// The translation, given or the model's own.
    #[getter]
    fn translation(&self) -> &str {
        &self.inner.translation
    }

    /// The tokens of the text.
    #[getter]
    fn source_tokens(&self) -> Vec<String> {
        self.inner.source_tokens.clone()
    }

    /// The tokens of the translation.
    #[getter]
    fn target_tokens(&self) -> Vec<String> {
        self.inner.target_tokens.clone()
    }

    /// The weights of tokens for groups, an array `[tokens, groups]`; `None` without groups.
    #[getter]
    fn group_weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.inner.kept {
            Kept::Groups(groups) => Array::view_of(py, || Array::matrix(&groups.weights)).map(Some),
            Kept::Note(_) => Ok(None),
        }
    }

    /// The sentences of the memory, oldest first.
    #[getter]
    fn context(&self) -> PyResult<Vec<ContextSentence>> {
        guarded(|| {
            let context = self.inner.context.iter().cloned();
            context.map(|inner| ContextSentence { inner }).collect()
        })
    }

    /// The earlier words without which a token of the translation would be less probable, strongest
    /// first: `(distance, word, nats)`.
    #[pyo3(signature = (target, count=5))]
    fn deciding(&self, target: usize, count: usize) -> PyResult<Vec<(usize, String, f32)>> {
        guarded(|| {
            let found = self.inner.deciding(target, count).into_iter();
            found.map(|(distance, word, nats)| (distance, word.to_owned(), nats)).collect()
        })
    }

    /// A picture, as SVG.
    fn svg(&self) -> PyResult<String> {
        guarded(|| self.inner.draw().standalone(&self.inner.source))
    }

    fn _repr_html_(&self) -> PyResult<String> {
        self.svg()
    }
}

#[pymethods]
impl ContextSentence {
    /// How many sentences back; 0 is the sentence itself.
    #[getter]
    fn distance(&self) -> usize {
        self.inner.distance
    }

    /// Its tokens.
    #[getter]
    fn tokens(&self) -> Vec<String> {
        self.inner.tokens.clone()
    }

    /// The attention of each token of the translation to each row of the memory entry.
    #[getter]
    fn entry_attention<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::view_of(py, || Array::matrix(&self.inner.entry))
    }

    /// The attention of each token of the translation to each word.
    #[getter]
    fn attention<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::view_of(py, || Array::matrix(&self.inner.words))
    }

    /// How many nats each token of the translation loses when a word here is left out; empty for the
    /// sentence itself.
    #[getter]
    fn influence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::view_of(py, || Array::matrix(&self.inner.influence))
    }
}

impl Inspection {
    /// Inspects a document.
    pub fn make(
        py: Python<'_>,
        translator: &Translator,
        sources: &Bound<'_, PyAny>,
        translations: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
        settings: &BeamSettings,
    ) -> PyResult<Self> {
        let sources = sentences("sentences", sources)?;
        let targets = translations.map(|given| sentences("translations", given)).transpose()?;
        if let Some(targets) = targets.as_ref().filter(|targets| targets.len() != sources.len()) {
            return Err(config(format!(
                "{} sentences, but {} translations",
                sources.len(),
                targets.len()
            )));
        }
        let inner = work::run(py, progress, |link| {
            let targets = if let Some(targets) = targets {
                targets
            } else {
                let control = Control { stop: Some(&link.stop), ..Control::default() };
                let mut found = Vec::with_capacity(sources.len());
                let mut take = |_, translation: Translation| -> anyhow::Result<()> {
                    found.push(translation.into_text());
                    Ok(())
                };
                let how = DocumentSettings { context: None, known: &[], control };
                let documents = std::slice::from_ref(&sources);
                translator.inner.translate_in_order(documents, settings, &how, &mut take)?;
                found
            };
            let pairs = sources.into_iter().zip(targets);
            let segments = pairs.map(|(source, target)| Segment::pair(source, target));
            let document = Document::new("1", segments.collect());
            let inspector = Inspector::new(translator.inner.share(translator.inner.threads())?);
            Ok(inspector.document(&document, settings, &mut |done| link.step(done))?)
        })?;
        Ok(Self { inner, model: translator.directory().display().to_string() })
    }
}
