//! Between Python's values and ours.

use std::path::PathBuf;

use abridge_corpus::{Document, Segment};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use serde_json::Value;

use crate::errors::config;

/// A JSON value as Python has it.
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

/// A value of Python as JSON; what JSON has no words for is refused by name.
pub fn to_json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
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
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut object = serde_json::Map::new();
        for (key, value) in dict {
            let key: String = key.extract()?;
            let inner = to_json(&format!("{name}.{key}"), &value)?;
            object.insert(key, inner);
        }
        return Ok(object.into());
    }
    if let Ok(values) = value.try_iter() {
        return values.map(|value| to_json(name, &value?)).collect();
    }
    Err(config(format!("{name} is a {}, which has no place here", value.get_type().name()?)))
}

/// Sentences from any iterable of strings; a single string is a mistake, though it is iterable, too.
pub fn sentences(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return Err(config(format!("{name} is one string; give a list of sentences")));
    }
    value.try_iter()?.map(|sentence| sentence?.extract()).collect()
}

/// Documents from any iterable of iterables of strings.
pub fn documents(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<String>>> {
    if value.is_instance_of::<PyString>() {
        return Err(config(format!("{name} is one string; give a list of documents")));
    }
    let document = |document: PyResult<Bound<'_, PyAny>>| sentences("a document", &document?);
    value.try_iter()?.map(document).collect()
}

/// Documents with translations, from any iterable of iterables of pairs `(source, target)`.
pub fn pairs(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<Document>> {
    let mut documents = Vec::new();
    for (number, document) in value.try_iter()?.enumerate() {
        let mut segments = Vec::new();
        for (place, pair) in document?.try_iter()?.enumerate() {
            let pair: (String, String) = pair?.extract().map_err(|_| {
                config(format!(
                    "{name}: sentence {} of document {} is not a pair (source, target)",
                    place + 1,
                    number + 1
                ))
            })?;
            segments.push(Segment::pair(one_line(pair.0), one_line(pair.1)));
        }
        documents.push(Document::new(format!("{name}-{number}"), segments));
    }
    Ok(documents)
}

/// A sentence is one line in every file that we write.
fn one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

/// Numbers as a `NumPy` array that is read only, without a crate for `NumPy`: that one would change how
/// the engine is compiled.
fn array<'py>(
    py: Python<'py>,
    bytes: Vec<u8>,
    kind: &str,
    shape: Vec<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    if bytes.is_empty() {
        return numpy.call_method1("empty", (shape, kind));
    }
    let flat = numpy.call_method1("frombuffer", (PyBytes::new(py, &bytes), kind))?;
    flat.call_method1("reshape", (shape,))
}

/// A list of numbers as an array.
pub fn floats<'py>(py: Python<'py>, values: &[f32]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    array(py, bytes, "<f4", vec![values.len()])
}

/// A list of ids as an array.
pub fn ids<'py>(py: Python<'py>, values: &[u32]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    array(py, bytes, "<u4", vec![values.len()])
}

/// Rows of the same length as an array.
pub fn matrix<'py>(py: Python<'py>, rows: &[Vec<f32>]) -> PyResult<Bound<'py, PyAny>> {
    let width = rows.first().map_or(0, Vec::len);
    let bytes = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    array(py, bytes, "<f4", vec![rows.len(), width])
}
