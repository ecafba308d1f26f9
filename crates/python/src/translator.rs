//! A model directory that translates and scores.

use std::path::PathBuf;
use std::sync::Arc;

use abridge_base::files::Outputs;
use abridge_corpus::{Input, read};
use abridge_model::DeviceKind;
use abridge_translate::{Control, DocumentSettings};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyString};

use crate::errors::{config, exception};
use crate::inspect::Inspection;
use crate::scores::Score;
use crate::session::Session;
use crate::translation::Translation;
use crate::{scores, search, values, work};

/// A model directory, ready to translate and to score. Safe to use from several threads.
///
///     translator = abridge.Translator("demo/models/grouping")
///     for translation in translator.translate(["The lamp is old.", "It is broken."]):
///         print(translation)
#[pyclass(frozen, module = "abridge")]
pub struct Translator {
    pub inner: Arc<abridge_translate::Translator>,
    path: PathBuf,
}

#[pymethods]
impl Translator {
    #[new]
    #[pyo3(signature = (path, *, to=None, threads=None, device="cpu"))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        to: Option<&str>,
        threads: Option<usize>,
        device: &str,
    ) -> PyResult<Self> {
        if threads == Some(0) {
            return Err(config("threads is 0; give at least 1"));
        }
        let device: DeviceKind =
            device.parse().map_err(|error: abridge_model::Error| exception(&error.into()))?;
        let inner = work::run(py, None, |_| {
            let mut translator = abridge_translate::Translator::open(&path, &device.open()?)?;
            if let Some(to) = to {
                translator = translator.towards(to)?;
            }
            Ok(match threads {
                Some(threads) => translator.with_threads(threads)?,
                None => translator,
            })
        })?;
        Ok(Self { inner: Arc::new(inner), path })
    }

    /// The model directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// How many sentences the model looks back at.
    #[getter]
    fn context_size(&self) -> usize {
        self.inner.model().config().context_size
    }

    /// The codes of source and target language, where the model names them.
    #[getter]
    fn languages(&self) -> Option<(String, String)> {
        let languages = self.inner.languages();
        languages.map(|(source, target)| (source.to_owned(), target.to_owned()))
    }

    /// The codes of the languages that a model of several can be told to write with `to`.
    #[getter]
    fn target_languages(&self) -> Vec<String> {
        self.inner.target_languages().codes().map(str::to_owned).collect()
    }

    /// The model's name in signatures: a hash of what decides over translations.
    #[getter]
    fn hash(&self) -> &str {
        self.inner.hash()
    }

    /// The number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    fn __repr__(&self) -> String {
        format!("Translator({:?}, threads={})", self.path.to_string_lossy(), self.inner.threads())
    }

    /// Translates the sentences of one document, each with the memory of those before it.
    #[pyo3(signature = (sentences, *, context_size=None, attention=false, progress=None, **search))]
    fn translate(
        &self,
        py: Python<'_>,
        sentences: &Bound<'_, PyAny>,
        context_size: Option<usize>,
        attention: bool,
        progress: Option<&Bound<'_, PyAny>>,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Translation>> {
        let document = values::sentences("sentences", sentences)?;
        let found = self.run(py, &[document], context_size, attention, progress, search)?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Translates documents, each a list of sentences.
    #[pyo3(signature = (documents, *, context_size=None, attention=false, progress=None, **search))]
    fn translate_documents(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        context_size: Option<usize>,
        attention: bool,
        progress: Option<&Bound<'_, PyAny>>,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<Translation>>> {
        let documents = values::documents("documents", documents)?;
        self.run(py, &documents, context_size, attention, progress, search)
    }

    /// Translates a file of any format that abridge reads (lines, JSON lines, subtitles, …) and
    /// returns the translation in the same format, as bytes; with `output`, writes it there.
    #[pyo3(signature = (path, output=None, *, context_size=None, progress=None, **search))]
    fn translate_file(
        &self,
        py: Python<'_>,
        path: PathBuf,
        output: Option<PathBuf>,
        context_size: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<u8>> {
        let settings = search::settings(&self.inner, search)?;
        work::run(py, progress, |link| {
            let mut outputs = Outputs::new();
            outputs.reading(&self.path).reading(&path);
            let output = output.map(|output| outputs.file(&output)).transpose()?;
            let corpus = read(&Input::new(&path))?;
            let sentences = |document: &abridge_corpus::Document| {
                document.segments.iter().map(|segment| segment.source.clone()).collect()
            };
            let documents: Vec<Vec<String>> = corpus.documents.iter().map(sentences).collect();
            let mut texts: Vec<Vec<String>> = documents.iter().map(|_| Vec::new()).collect();
            let done = |count| link.done(count);
            let control = Control { done: &done, stop: Some(&link.stop), ..Control::default() };
            let how = DocumentSettings { context: context_size, known: &[], control };
            self.inner.translate_in_order(
                &documents,
                &settings,
                &how,
                &mut |document, translation| -> anyhow::Result<()> {
                    texts[document].push(translation.into_text());
                    Ok(())
                },
            )?;
            let mut bytes = Vec::new();
            corpus.write_translation(&texts, &mut bytes)?;
            if let Some(output) = &output {
                output.write(&bytes)?;
            }
            Ok(bytes)
        })
    }

    /// Translates sentences as they come from any iterable; the memory goes along. A sentence
    /// `None` begins a new document and gives `None`.
    #[pyo3(signature = (sentences, *, context_size=None, attention=false, **search))]
    fn stream(
        slf: &Bound<'_, Self>,
        sentences: &Bound<'_, PyAny>,
        context_size: Option<usize>,
        attention: bool,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        if sentences.is_instance_of::<PyString>() {
            return Err(config("sentences is one string; give an iterable of sentences"));
        }
        // What is wrong with the settings is said now, not with the first sentence.
        search::settings(&slf.get().inner, search)?;
        Ok(Stream {
            session: Session::start(slf.get(), context_size)?,
            sentences: sentences.try_iter()?.unbind(),
            attention,
            search: search.map(|search| search.clone().unbind()),
        })
    }

    /// Starts a document that is translated sentence by sentence.
    #[pyo3(signature = (context_size=None))]
    fn session(&self, context_size: Option<usize>) -> PyResult<Session> {
        Session::start(self, context_size)
    }

    /// Brings back a session that was saved with `Session.save()`.
    fn restore(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<Session> {
        let session = work::run(py, None, |_| Ok(self.inner.restore(&bytes)?))?;
        Ok(Session::new(self, session))
    }

    /// How probable candidate translations of a sentence are, given the sentences before it.
    #[pyo3(signature = (source, candidates, context=None, context_translations=None))]
    fn score(
        &self,
        py: Python<'_>,
        source: String,
        candidates: &Bound<'_, PyAny>,
        context: Option<&Bound<'_, PyAny>>,
        context_translations: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Score>> {
        scores::score(py, &self.inner, source, candidates, context, context_translations)
    }

    /// Looks inside: what the memory keeps of each sentence of a document, and which earlier words
    /// decided its translation. With `translations`, those are looked at; without, the model's own.
    #[pyo3(signature = (sentences, translations=None, *, progress=None, **search))]
    fn inspect(
        &self,
        py: Python<'_>,
        sentences: &Bound<'_, PyAny>,
        translations: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Inspection> {
        let settings = search::settings(&self.inner, search)?;
        Inspection::make(py, self, sentences, translations, progress, &settings)
    }
}

impl Translator {
    fn run(
        &self,
        py: Python<'_>,
        documents: &[Vec<String>],
        context_size: Option<usize>,
        attention: bool,
        progress: Option<&Bound<'_, PyAny>>,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<Translation>>> {
        let settings = search::settings(&self.inner, search)?;
        let found = work::run(py, progress, |link| {
            let mut found: Vec<Vec<abridge_translate::Translation>> =
                documents.iter().map(|_| Vec::new()).collect();
            let done = |count| link.done(count);
            let control =
                Control { done: &done, stop: Some(&link.stop), attention, ..Control::default() };
            let how = DocumentSettings { context: context_size, known: &[], control };
            self.inner.translate_in_order(
                documents,
                &settings,
                &how,
                &mut |document, translation| -> anyhow::Result<()> {
                    found[document].push(translation);
                    Ok(())
                },
            )?;
            Ok(found)
        })?;
        let for_python = |translation| Translation::new(py, translation, &self.inner, attention);
        let document = |found: Vec<_>| found.into_iter().map(for_python).collect();
        found.into_iter().map(document).collect()
    }

    /// The model directory.
    pub fn directory(&self) -> &std::path::Path {
        &self.path
    }
}

/// Translations of sentences as they come.
#[pyclass(module = "abridge")]
pub struct Stream {
    session: Session,
    sentences: Py<PyIterator>,
    attention: bool,
    search: Option<Py<PyDict>>,
}

#[pymethods]
impl Stream {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Some(sentence) = self.sentences.bind(py).clone().next() else { return Ok(None) };
        let sentence = sentence?;
        if sentence.is_none() {
            self.session.clear();
            return Ok(Some(py.None()));
        }
        let search = self.search.as_ref().map(|search| search.bind(py));
        let sentence: String = sentence.extract()?;
        let translation = self.session.translate(py, sentence, self.attention, search)?;
        Ok(Some(Py::new(py, translation)?.into_any()))
    }
}
