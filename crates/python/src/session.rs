//! A document that is translated sentence by sentence.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abridge_translate::{BeamSettings, Control, Turn};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{exception, guarded};
use crate::translation::{Found, Translation};
use crate::translator::Translator;
use crate::values::Array;
use crate::{search, work};

/// A document that is translated sentence by sentence, with its memory. Safe to use from several
/// threads: one sentence is translated after the other.
///
/// >>> session = translator.session()
/// >>> for sentence in ["The lamp is old.", "It is broken."]:
/// ...     text = session.translate(sentence, max_length=20).text
/// >>> len(session)
/// 2
/// >>> [memory.entry.shape for memory in session.memory()]
/// [(9, 16), (9, 16)]
/// >>> session.clear()
/// >>> len(session)
/// 0
#[pyclass(frozen, module = "abridge")]
pub struct Session {
    translator: Arc<abridge_translate::Translator>,
    inner: Mutex<abridge_translate::Session>,
}

/// A sentence of the memory.
#[pyclass(frozen, module = "abridge")]
pub struct Memory {
    /// The tokens of the sentence.
    #[pyo3(get)]
    tokens: Vec<String>,
    entry: Option<Array>,
    group_weights: Option<Array>,
}

#[pymethods]
impl Memory {
    /// The memory entry, an array `[rows, width]`; `None` in models without a memory.
    #[getter]
    fn entry<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.entry.as_ref().map(|entry| entry.view(py)).transpose()
    }

    /// The weights of tokens for groups, an array `[tokens, groups]`, in models that have groups.
    #[getter]
    fn group_weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.group_weights.as_ref().map(|weights| weights.view(py)).transpose()
    }
}

#[pymethods]
impl Session {
    /// Translates the next sentence. If that fails, the session is unchanged.
    #[pyo3(signature = (sentence, *, attention=false, **search))]
    fn translate(
        &self,
        py: Python<'_>,
        sentence: String,
        attention: bool,
        search: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Translation> {
        let settings = search::settings(&self.translator, search, &[])?;
        self.next(py, &sentence, attention, &settings)
    }

    /// The session as bytes, for `Translator.restore(bytes)` in any process.
    ///
    /// >>> session = translator.session()
    /// >>> kept = session.save()
    /// >>> session.restore(kept)
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = guarded(|| py.detach(|| self.lock().save()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Replaces this session by a saved one of the same model.
    fn restore(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<()> {
        let session = work::run(py, None, |_| Ok(self.translator.restore(&bytes)?))?;
        guarded(|| py.detach(|| *self.lock() = session))
    }

    /// Forgets everything: a new document begins.
    pub fn clear(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| py.detach(|| self.lock().clear()))
    }

    /// The number of remembered sentences.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        guarded(|| py.detach(|| self.lock().len()))
    }

    /// A session is true even if it remembers nothing.
    #[expect(clippy::unused_self, reason = "Python calls it on an object")]
    fn __bool__(&self) -> bool {
        true
    }

    /// The largest number of remembered sentences.
    #[getter]
    fn context_size(&self, py: Python<'_>) -> PyResult<usize> {
        guarded(|| py.detach(|| self.lock().context_size()))
    }

    /// How many sentences of the document have been translated.
    #[getter]
    fn sentences(&self, py: Python<'_>) -> PyResult<u64> {
        guarded(|| py.detach(|| self.lock().sentences()))
    }

    /// The remembered sentences, oldest first.
    fn memory(&self, py: Python<'_>) -> PyResult<Vec<Memory>> {
        let session = guarded(|| py.detach(|| self.lock().clone()))?;
        let memory = |remembered: &abridge_model::Remembered| {
            let piece =
                |&id: &u32| self.translator.source().piece(id).unwrap_or_default().to_owned();
            let entry = remembered.entry.as_ref();
            let weights = entry.and_then(|entry| entry.weights.as_ref());
            Memory {
                tokens: remembered.tokens.iter().map(piece).collect(),
                entry: entry.map(|entry| Array::tensor(&entry.rows)),
                group_weights: weights.map(Array::tensor),
            }
        };
        guarded(|| session.remembered().map(memory).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (len, most) = (self.__len__(py)?, self.context_size(py)?);
        Ok(format!("Session(remembers {len} of at most {most} sentences)"))
    }
}

impl Session {
    /// A new document.
    pub fn start(translator: &Translator, context_size: Option<usize>) -> PyResult<Self> {
        let session = guarded(|| translator.inner.session(context_size))?;
        let session = session.map_err(|error| exception(&error.into()))?;
        Ok(Self::new(translator, session))
    }

    /// A document with its session.
    pub fn new(translator: &Translator, session: abridge_translate::Session) -> Self {
        Self { translator: translator.inner.clone(), inner: Mutex::new(session) }
    }

    /// Translates the next sentence.
    pub fn next(
        &self,
        py: Python<'_>,
        sentence: &str,
        attention: bool,
        settings: &BeamSettings,
    ) -> PyResult<Translation> {
        let found = work::run(py, None, |link| {
            let mut session = self.lock();
            let mut turns = [Turn { session: &mut session, sentences: vec![sentence] }];
            let control = Control { stop: Some(&link.stop), attention, ..Control::default() };
            let mut found = self.translator.translate_turns(&mut turns, settings, &control)?;
            let found = found.pop().and_then(|mut found| found.pop());
            let found = found.ok_or_else(|| anyhow::anyhow!("nothing was translated"))?;
            Ok(Found::new(found, &self.translator, attention))
        })?;
        Translation::new(py, found, &self.translator)
    }

    /// A failed translation leaves the session unchanged, so a poisoned lock does not matter.
    fn lock(&self) -> MutexGuard<'_, abridge_translate::Session> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
