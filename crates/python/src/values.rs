//! Values of Python as values of the library, and back.

use std::path::PathBuf;
use std::sync::Arc;

use abridge_corpus::{Document, Segment};
use burn::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyDict, PyFrozenSet, PyIterator, PyList, PyMapping, PySet, PyString, PyTuple, PyType,
};
use serde_json::Value;

use crate::errors::{bug, config, guarded};

/// A JSON value as a value of Python.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (_, Some(number)) => number.into_pyobject(py)?.into_any(),
            _ => number.as_f64().unwrap_or(f64::NAN).into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(values) => {
            let values = values.iter().map(|value| to_python(py, value));
            PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Object(values) => {
            let dict = PyDict::new(py);
            for (key, value) in values {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// How deeply lists and mappings may be nested; one that contains itself has no end.
const MOST_NESTED: usize = 64;

/// A value of Python as JSON; values JSON cannot represent are errors.
pub fn to_json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    to_json_at(name, value, 0)
}

fn to_json_at(name: &str, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > MOST_NESTED {
        return Err(config(format!(
            "{name} is nested more than {MOST_NESTED} deep; is there a list or a mapping that \
             contains itself?"
        )));
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(value) = value.cast::<pyo3::types::PyBool>() {
        return Ok(Value::from(value.is_true()));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Value::from(number));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Value::from(number));
    }
    if let Ok(text) = value.extract::<String>() {
        return Ok(Value::from(text));
    }
    if let Ok(path) = value.extract::<PathBuf>() {
        return Ok(Value::from(path.to_string_lossy()));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let mut object = serde_json::Map::new();
        for item in mapping.items()? {
            let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
            let inner = to_json_at(&format!("{name}.{key}"), &value, depth + 1)?;
            object.insert(key, inner);
        }
        return Ok(object.into());
    }
    if let Ok(values) = value.try_iter() {
        return values.map(|value| to_json_at(name, &value?, depth + 1)).collect();
    }
    let kind = value.get_type().name()?;
    Err(config(format!("{name} is a {kind}; give a number, a text, a list or a dictionary")))
}

/// The two languages of a pair such as `en-de`.
pub fn language_pair(languages: &str) -> PyResult<(&str, &str)> {
    let problem = || config(format!("languages {languages:?} is not a pair such as \"en-de\""));
    languages.split_once('-').ok_or_else(problem)
}

/// The items of any iterable that has an order. A string, a mapping and a set can be iterated over
/// in Python, but here that is a mistake.
pub fn items<'py>(
    name: &str,
    value: &Bound<'py, PyAny>,
    wanted: &str,
) -> PyResult<Bound<'py, PyIterator>> {
    let problem = if value.is_instance_of::<PyString>() {
        "is one string"
    } else if is_mapping(value)? {
        "is a mapping"
    } else if is_set(value) {
        "is a set, which has no order"
    } else {
        return value.try_iter();
    };
    Err(config(format!("{name} {problem}; give a list of {wanted}")))
}

/// Whether it is a mapping of any kind. Whether a class is one is found out in Python, where a Ctrl-C
/// can come: unlike a cast to `PyMapping`, this does not lose it.
fn is_mapping(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static MAPPING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>() {
        return Ok(false);
    }
    value.is_instance(MAPPING.import(value.py(), "collections.abc", "Mapping")?)
}

fn is_set(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>()
}

/// Sentences from any iterable of strings.
pub fn sentences(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    items(name, value, "sentences")?.map(|sentence| sentence?.extract()).collect()
}

/// Documents from any iterable of iterables of strings.
pub fn documents(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<String>>> {
    let document = |document: PyResult<Bound<'_, PyAny>>| sentences("a document", &document?);
    items(name, value, "documents")?.map(document).collect()
}

/// Documents with translations, from any iterable of iterables of rows: pairs `(source, target)`, or
/// mappings from `languages`, if they are known.
pub fn pairs(
    name: &str,
    value: &Bound<'_, PyAny>,
    languages: Option<(&str, &str)>,
) -> PyResult<Vec<Document>> {
    let mut documents = Vec::new();
    for (number, document) in items(name, value, "documents")?.enumerate() {
        let document_name = format!("{name}: document {}", number + 1);
        let mut segments = Vec::new();
        let rows = items(&document_name, &document?, "pairs (source, target)")?;
        for (place, row) in rows.enumerate() {
            let [source, target] = two_texts(&row?, languages)?.map_err(|problem| {
                let (sentence, document) = (place + 1, number + 1);
                config(format!("{name}: sentence {sentence} of document {document} {problem}"))
            })?;
            segments.push(Segment::pair(one_line(source), one_line(target)));
        }
        documents.push(Document::new(format!("{name}-{number}"), segments));
    }
    Ok(documents)
}

/// Source and target of a row: a tuple, a list, a row of a database or any other iterable of two
/// strings, or a mapping. If it is none of them, the problem continues "sentence 1 of document 1 ...".
fn two_texts(
    row: &Bound<'_, PyAny>,
    languages: Option<(&str, &str)>,
) -> PyResult<Result<[String; 2], String>> {
    const REMEDY: &str = "give a pair (source, target)";
    if is_mapping(row)? {
        let Some(languages) = languages else {
            let problem = "is a mapping, but the model does not name its languages";
            return Ok(Err(format!("{problem}; {REMEDY}")));
        };
        return texts_of(row, languages);
    }
    if is_set(row) {
        return Ok(Err(format!("is a set, which has no order; {REMEDY}")));
    }
    let no_pair = || Ok(Err("is not a pair (source, target)".to_owned()));
    let Ok(texts) = row.try_iter() else { return no_pair() };
    if row.is_instance_of::<PyString>() {
        return no_pair();
    }
    let mut pair = Vec::with_capacity(2);
    for text in texts {
        let Ok(text) = text?.extract::<String>() else { return no_pair() };
        pair.push(text);
    }
    pair.try_into().map_or_else(|_| no_pair(), |pair| Ok(Ok(pair)))
}

/// The texts of `{"en": …, "de": …}` or, as Hugging Face has it, `{"translation": {"en": …, "de": …}}`.
fn texts_of(
    mapping: &Bound<'_, PyAny>,
    (source, target): (&str, &str),
) -> PyResult<Result<[String; 2], String>> {
    let inner = match item(mapping, "translation")? {
        Some(inner) if is_mapping(&inner)? => inner,
        _ => mapping.clone(),
    };
    let text = |language: &str| -> PyResult<Option<String>> {
        Ok(item(&inner, language)?.and_then(|text| text.extract().ok()))
    };
    Ok(match (text(source)?, text(target)?) {
        (Some(source), Some(target)) => Ok([source, target]),
        _ => Err(format!(
            "is a mapping without the texts {source:?} and {target:?}; name its languages with \
             `languages`, or give a pair (source, target)"
        )),
    })
}

fn item<'py>(mapping: &Bound<'py, PyAny>, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(if mapping.contains(key)? { Some(mapping.get_item(key)?) } else { None })
}

/// A sentence is one line in every file that we write.
fn one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

/// Numbers that `NumPy` reads in place: nothing is copied, and its arrays keep them alive. Without a
/// crate for `NumPy`, because that would change how the engine is compiled.
#[derive(Clone)]
pub struct Array {
    values: Values,
    shape: Vec<usize>,
}

#[derive(Clone)]
enum Values {
    Floats(Arc<Vec<f32>>),
    Ids(Arc<Vec<u32>>),
}

impl Array {
    /// A list of numbers.
    pub fn floats(values: Vec<f32>) -> Self {
        Self { shape: vec![values.len()], values: Values::Floats(Arc::new(values)) }
    }

    /// A list of ids.
    pub fn ids(values: Vec<u32>) -> Self {
        Self { shape: vec![values.len()], values: Values::Ids(Arc::new(values)) }
    }

    /// Rows of the same length.
    pub fn matrix(rows: &[Vec<f32>]) -> Self {
        let width = rows.first().map_or(0, Vec::len);
        let shape = vec![rows.len(), width];
        Self { values: Values::Floats(Arc::new(rows.concat())), shape }
    }

    /// The numbers of a tensor.
    pub fn tensor(tensor: &Tensor<2>) -> Self {
        let data = tensor.to_data();
        let shape = tensor.dims().to_vec();
        let values = data.try_into_vec_as().unwrap_or_default();
        Self { values: Values::Floats(Arc::new(values)), shape }
    }

    /// The read-only array.
    pub fn view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = match &self.values {
            Values::Floats(values) => values.len(),
            Values::Ids(values) => values.len(),
        };
        // NumPy trusts the shape, and would read beyond the end.
        if self.shape.iter().product::<usize>() != count {
            return Err(bug(format!("{count} numbers do not have the shape {:?}", self.shape)));
        }
        py.import("numpy")?.call_method1("asarray", (Numbers(self.clone()),))
    }

    /// The array that `make` gives.
    pub fn view_of(py: Python<'_>, make: impl FnOnce() -> Self) -> PyResult<Bound<'_, PyAny>> {
        guarded(make)?.view(py)
    }
}

/// What an array refers to. The stable interface of Python 3.10 lacks the buffer protocol, so `NumPy`'s
/// own protocol says where the numbers are.
#[pyclass(frozen, module = "abridge")]
struct Numbers(Array);

#[pymethods]
impl Numbers {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (address, kind) = match &self.0.values {
            Values::Floats(values) => (values.as_ptr() as usize, "f4"),
            Values::Ids(values) => (values.as_ptr() as usize, "u4"),
        };
        let order = if cfg!(target_endian = "big") { '>' } else { '<' };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, &self.0.shape)?)?;
        interface.set_item("typestr", format!("{order}{kind}"))?;
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }
}
