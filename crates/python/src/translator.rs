//! A model that translates and scores.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use abridge_base::files::Outputs;
use abridge_corpus::{Input, read};
use abridge_model::DeviceKind;
use abridge_model::weights::ModelDirectory;
use abridge_translate::{BeamSettings, Control, DocumentSettings, InstalledModels};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};

use crate::errors::{config, exception};
use crate::inspect::Inspection;
use crate::scores::Score;
use crate::session::Session;
use crate::translation::{Found, Translation};
use crate::{scores, search, values, work};

/// A model that translates and scores. Safe to use from several threads.
///
/// The path is that of a model directory, or the name of an installed model; by default the built-in
/// English-German model.
///
/// >>> translator = abridge.Translator("model", threads=2)
/// >>> for translation in translator.translate(["The lamp is old.", "It is broken."]):
/// ...     text, score = translation.text, translation.score
///
/// Methods that translate take these keywords: `beam`, `n_best`, `length_penalty`, `min_length`,
/// `max_length`, `prefix`, and with `sample=True` `top_k`, `top_p`, `temperature` and `seed`. Their
/// defaults are those of the model.
#[pyclass(frozen, module = "abridge")]
pub struct Translator {
    pub inner: Arc<abridge_translate::Translator>,
    path: PathBuf,
    device: DeviceKind,
    to: Option<String>,
}

#[pymethods]
impl Translator {
    #[new]
    #[pyo3(signature = (path=None, *, to=None, threads=None, device="cpu"))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        to: Option<String>,
        threads: Option<usize>,
        device: &str,
    ) -> PyResult<Self> {
        if threads == Some(0) {
            return Err(config("threads is 0; give at least 1"));
        }
        let device: DeviceKind =
            device.parse().map_err(|error: abridge_model::Error| exception(&error.into()))?;
        let (path, inner) = work::run(py, None, |_| {
            let path = InstalledModels::locate(path.as_deref())?;
            let translator = open(&path, device, None, to.as_deref())?;
            let translator = match threads {
                Some(threads) => translator.with_threads(threads)?,
                None => translator,
            };
            Ok((path, translator))
        })?;
        Ok(Self { inner: Arc::new(inner), path, device, to })
    }

    /// The model directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// How many sentences of context the model uses.
    #[getter]
    fn context_size(&self) -> usize {
        self.inner.model().config().context_size
    }

    /// The codes of the source and target language, if the model names them.
    #[getter]
    fn languages(&self) -> Option<(String, String)> {
        let languages = self.inner.languages();
        languages.map(|(source, target)| (source.to_owned(), target.to_owned()))
    }

    /// The codes of the target languages of a multilingual model, one of which `to` chooses.
    #[getter]
    fn target_languages(&self) -> Vec<String> {
        self.inner.target_languages().codes().map(str::to_owned).collect()
    }

    /// The hash of everything that translations depend on; it identifies the model in signatures.
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
    ///
    /// >>> found = translator.translate(["The lamp is old."], beam=4, n_best=2, max_length=20)
    /// >>> len(found[0].hypotheses)
    /// 2
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
    ///
    /// >>> documents = [["The lamp is old.", "It is broken."], ["The table is new."]]
    /// >>> [len(found) for found in translator.translate_documents(documents, max_length=20)]
    /// [2, 1]
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
    /// returns the translation in the same format, as bytes. With `output`, it is also written there.
    ///
    /// >>> from pathlib import Path
    /// >>> written = Path("talk.en").write_text("The lamp is old.\nIt is broken.\n")
    /// >>> translator.translate_file("talk.en", max_length=20).count(b"\n")
    /// 2
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
        // A file has one translation of each sentence.
        let settings = search::settings(&self.inner, search, &["n_best"])?;
        work::run(py, progress, |link| {
            let mut outputs = Outputs::new();
            let input = Input::new(&path);
            for path in ModelDirectory::read_by_open(&self.path).iter().chain(&input.files()) {
                outputs.reading(path);
            }
            let output = output.map(|output| outputs.file(&output)).transpose()?;
            let corpus = read(&input)?;
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

    /// Translates sentences as they come from any iterable, each with the memory of those before it.
    /// `None` among the sentences begins a new document and is passed on.
    ///
    /// >>> for translation in translator.stream(["The lamp is old.", None, "Hello."], max_length=20):
    /// ...     text = str(translation)
    #[pyo3(signature = (sentences, *, context_size=None, attention=false, **search))]
    fn stream(
        slf: &Bound<'_, Self>,
        sentences: &Bound<'_, PyAny>,
        context_size: Option<usize>,
        attention: bool,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        Ok(Stream {
            session: Session::start(slf.get(), context_size)?,
            sentences: values::items("sentences", sentences, "sentences")?.unbind(),
            attention,
            settings: search::settings(&slf.get().inner, search, &[])?,
            turn: Mutex::new(()),
        })
    }

    /// Starts a document that is translated sentence by sentence.
    ///
    /// >>> translator.session()
    /// Session(remembers 0 of at most 2 sentences)
    #[pyo3(signature = (context_size=None))]
    fn session(&self, context_size: Option<usize>) -> PyResult<Session> {
        Session::start(self, context_size)
    }

    /// Restores a session that was saved with `Session.save()`.
    ///
    /// >>> translator.restore(translator.session().save())
    /// Session(remembers 0 of at most 2 sentences)
    fn restore(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<Session> {
        let session = work::run(py, None, |_| Ok(self.inner.restore(&bytes)?))?;
        Ok(Session::new(self, session))
    }

    /// How probable candidate translations of a sentence are, given the sentences before it.
    ///
    /// >>> er, sie = translator.score("It is old.", ["Er ist alt.", "Sie ist alt."], ["I see a lamp."])
    /// >>> er.mean < 0 and sie.mean < 0
    /// True
    #[pyo3(signature = (source, candidates, context=None, context_translations=None, *,
                        progress=None))]
    fn score(
        &self,
        py: Python<'_>,
        source: String,
        candidates: &Bound<'_, PyAny>,
        context: Option<&Bound<'_, PyAny>>,
        context_translations: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Score>> {
        let translator = &self.inner;
        scores::score(py, translator, source, candidates, context, context_translations, progress)
    }

    /// Shows what the memory keeps of each sentence of a document, and which earlier words decided
    /// its translation: one of `translations` or, without them, the model's own.
    ///
    /// >>> seen = translator.inspect(["The lamp is old."], ["Die Lampe ist alt."])
    /// >>> seen[0].group_weights.shape == (len(seen[0].source_tokens), 9)
    /// True
    #[pyo3(signature = (sentences, translations=None, *, progress=None, **search))]
    fn inspect(
        &self,
        py: Python<'_>,
        sentences: &Bound<'_, PyAny>,
        translations: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Inspection> {
        let settings = search::settings(&self.inner, search, &NOT_INSPECTED)?;
        Inspection::make(py, self, sentences, translations, progress, &settings)
    }
}

/// Settings of the search that `inspect` does not have.
const NOT_INSPECTED: [&str; 7] =
    ["n_best", "prefix", "sample", "top_k", "top_p", "temperature", "seed"];

/// Opens a model directory, with `context` sentences if given.
fn open(
    path: &Path,
    device: DeviceKind,
    context: Option<usize>,
    to: Option<&str>,
) -> anyhow::Result<abridge_translate::Translator> {
    let translator = abridge_translate::Translator::open_at(path, &device.open()?, context)?;
    Ok(match to {
        Some(to) => translator.towards(to)?,
        None => translator,
    })
}

impl Translator {
    /// The same model, opened again if `context_size` is larger than in its training.
    pub fn with_context(
        &self,
        context_size: Option<usize>,
    ) -> anyhow::Result<Arc<abridge_translate::Translator>> {
        if self.inner.context_warning(&self.path, context_size).is_none() {
            return Ok(self.inner.clone());
        }
        let larger = open(&self.path, self.device, context_size, self.to.as_deref())?;
        Ok(Arc::new(larger.with_threads(self.inner.threads())?))
    }

    /// Warns if `context_size` is larger than in the training of the model.
    pub fn warn_of_context(&self, py: Python<'_>, context_size: Option<usize>) -> PyResult<()> {
        let Some(warning) = self.inner.context_warning(&self.path, context_size) else {
            return Ok(());
        };
        let warning = CString::new(warning)?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 1)
    }

    fn run(
        &self,
        py: Python<'_>,
        documents: &[Vec<String>],
        context_size: Option<usize>,
        attention: bool,
        progress: Option<&Bound<'_, PyAny>>,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<Translation>>> {
        let settings = search::settings(&self.inner, search, &[])?;
        let found = work::run(py, progress, |link| {
            let mut found: Vec<Vec<Found>> = documents.iter().map(|_| Vec::new()).collect();
            let done = |count| link.done(count);
            let control =
                Control { done: &done, stop: Some(&link.stop), attention, ..Control::default() };
            let how = DocumentSettings { context: context_size, known: &[], control };
            self.inner.translate_in_order(
                documents,
                &settings,
                &how,
                &mut |document, translation| -> anyhow::Result<()> {
                    found[document].push(Found::new(translation, &self.inner, attention));
                    Ok(())
                },
            )?;
            Ok(found)
        })?;
        let for_python = |found| Translation::new(py, found, &self.inner);
        let document = |found: Vec<_>| found.into_iter().map(for_python).collect();
        found.into_iter().map(document).collect()
    }

    /// The model directory.
    pub fn directory(&self) -> &Path {
        &self.path
    }
}

/// Translations of sentences as they come. Safe to use from several threads: each gets the next
/// sentence when the one before it is translated.
#[pyclass(frozen, module = "abridge")]
pub struct Stream {
    session: Session,
    sentences: Py<PyIterator>,
    attention: bool,
    settings: BeamSettings,
    /// Held from taking a sentence to its translation.
    turn: Mutex<()>,
}

#[pymethods]
impl Stream {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        // Python goes on while this waits, and Ctrl-C stops it.
        let _turn = loop {
            match self.turn.try_lock() {
                Ok(turn) => break turn,
                Err(TryLockError::Poisoned(turn)) => break turn.into_inner(),
                Err(TryLockError::WouldBlock) => py.check_signals()?,
            }
            py.detach(|| std::thread::sleep(Duration::from_millis(1)));
        };
        let Some(sentence) = self.sentences.bind(py).clone().next() else { return Ok(None) };
        let sentence = sentence?;
        if sentence.is_none() {
            self.session.clear(py)?;
            return Ok(Some(py.None()));
        }
        let sentence: String = sentence.extract()?;
        let translation = self.session.next(py, &sentence, self.attention, &self.settings)?;
        Ok(Some(Py::new(py, translation)?.into_any()))
    }
}
