//! From text to a directory that training reads.

use std::path::{Path, PathBuf};

use abridge_base::hash::Hasher;
use abridge_corpus::practice::{PracticeConfig, PracticeLanguage};
use abridge_corpus::prepare::{
    InputFiles, Languages, Progress, Recipe, Request, SplitDocuments, prepare_generated,
    prepare_practice,
};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::config;
use crate::values::{language_pair, pairs, to_python};
use crate::work::{self, Link};

/// A split: files, or documents in memory.
enum Split {
    Files(Vec<InputFiles>),
    Documents(Vec<abridge_corpus::Document>),
}

/// Prepares data for training: learns tokenizers, encodes the splits, writes a directory.
///
/// A split is a pair of files `("train.en", "train.de")`, a list of such pairs, or any iterable of
/// documents, each an iterable of rows: pairs `(source, target)`, as from a database, or mappings
/// such as `{"en": …, "de": …}` or `{"translation": {"en": …, "de": …}}`, as from Hugging Face
/// `datasets`. Returns the manifest.
///
/// >>> document = [("The lamp is old.", "Die Lampe ist alt."), ("It is red.", "Sie ist rot.")]
/// >>> manifest = abridge.prepare("prepared", train=[document] * 20, vocabulary_size=35)
/// >>> manifest["vocabularies"]["source"]
/// 35
#[pyfunction]
#[pyo3(signature = (output, *, train, valid=None, test=None, languages="en-de",
                    vocabulary_size=None, joint=false, threads=None, force=false, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn prepare<'py>(
    py: Python<'py>,
    output: PathBuf,
    train: &Bound<'py, PyAny>,
    valid: Option<&Bound<'py, PyAny>>,
    test: Option<&Bound<'py, PyAny>>,
    languages: &str,
    vocabulary_size: Option<usize>,
    joint: bool,
    threads: Option<usize>,
    force: bool,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (source, target) = language_pair(languages)?;
    let mut recipe = Recipe {
        languages: Languages { source: source.into(), target: target.into() },
        ..Recipe::default()
    };
    recipe.tokenizer.joint = joint;
    recipe.tokenizer.vocabulary_size = vocabulary_size.unwrap_or(recipe.tokenizer.vocabulary_size);
    let mut given = vec![("train", split("train", train, (source, target))?)];
    for (name, value) in [("valid", valid), ("test", test)] {
        if let Some(value) = value {
            given.push((name, split(name, value, (source, target))?));
        }
    }
    let threads = threads.unwrap_or_else(cores);
    let manifest = work::run(py, progress, |link| {
        let mut all_files = true;
        for (name, split) in &given {
            match split {
                Split::Files(files) => set(&mut recipe, name, files.clone()),
                Split::Documents(_) => all_files = false,
            }
        }
        let request =
            Request { recipe: &recipe, data: Path::new(""), output: &output, threads, force };
        let mut progress = StageProgress { link, reached: 0 };
        let outcome = if all_files {
            abridge_corpus::prepare::prepare(&request, &mut progress)?
        } else {
            let settings = json!({ "documents": "from Python", "sha256": hash(&given) });
            let read = |_: &Path| -> abridge_corpus::Result<Vec<SplitDocuments>> {
                let read = |(name, split): (&str, Split)| match split {
                    Split::Files(files) => SplitDocuments::read(name, &files, Path::new("")),
                    Split::Documents(documents) => SplitDocuments::new(name, documents),
                };
                given.into_iter().map(read).collect()
            };
            prepare_generated(&request, settings, read, &mut progress)?
        };
        Ok(serde_json::to_value(outcome.description())?)
    })?;
    to_python(py, &manifest)
}

/// Prepares the built-in practice corpus, in which only the context shows what a pronoun refers to.
///
/// >>> manifest = abridge.practice("practice", train_documents=150)
#[pyfunction]
#[pyo3(signature = (output, *, languages="en-de", train_documents=None, progress=None))]
pub fn practice<'py>(
    py: Python<'py>,
    output: PathBuf,
    languages: &str,
    train_documents: Option<usize>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let language: PracticeLanguage =
        languages.parse().map_err(|error: abridge_corpus::Error| config(error.to_string()))?;
    let manifest = work::run(py, progress, |link| {
        let mut corpus = PracticeConfig::new(language);
        corpus.train_documents = train_documents.unwrap_or(corpus.train_documents);
        let recipe = Recipe::practice(language);
        let request = Request {
            recipe: &recipe,
            data: Path::new(""),
            output: &output,
            threads: cores(),
            force: false,
        };
        let outcome = prepare_practice(&corpus, &request, &mut StageProgress { link, reached: 0 })?;
        Ok(serde_json::to_value(outcome.description())?)
    })?;
    to_python(py, &manifest)
}

/// Forwards progress across all stages.
struct StageProgress<'a> {
    link: &'a Link,
    reached: u64,
}

impl Progress for StageProgress<'_> {
    fn stage(&mut self, _name: &str, _total: u64) {
        self.reached = 0;
        self.link.step(0);
    }

    fn reached(&mut self, done: u64) {
        self.link.step(done.saturating_sub(self.reached) as usize);
        self.reached = done;
    }
}

fn split(name: &str, value: &Bound<'_, PyAny>, languages: (&str, &str)) -> PyResult<Split> {
    let files = |(source, target): (PathBuf, PathBuf)| InputFiles {
        source,
        target: Some(target),
        docids: None,
        format: None,
        repeated_ids: false,
    };
    if let Ok(pair) = value.extract::<(PathBuf, PathBuf)>() {
        return Ok(Split::Files(vec![files(pair)]));
    }
    // An iterator can be read only once, so only a list is first tried as pairs of files.
    if value.is_instance_of::<pyo3::types::PyList>()
        && let Ok(pairs) = value.extract::<Vec<(PathBuf, PathBuf)>>()
        && !pairs.is_empty()
    {
        return Ok(Split::Files(pairs.into_iter().map(files).collect()));
    }
    Ok(Split::Documents(pairs(name, value, Some(languages))?))
}

fn set(recipe: &mut Recipe, name: &str, files: Vec<InputFiles>) {
    match name {
        "train" => recipe.train = files,
        "valid" => recipe.valid = files,
        _ => recipe.test = files,
    }
}

/// The hash of all text in memory and its division into documents. Files are hashed where they are
/// read.
fn hash(given: &[(&str, Split)]) -> String {
    let mut hasher = Hasher::new();
    for (name, split) in given {
        let Split::Documents(documents) = split else { continue };
        hasher.text(name);
        hasher.count(documents.len());
        for document in documents {
            hasher.count(document.segments.len());
            for segment in &document.segments {
                hasher.text(&segment.source);
                hasher.text(segment.target.as_deref().unwrap_or_default());
            }
        }
    }
    hasher.finish()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
