//! Between Python's values and ours.

use std::path::PathBuf;
use std::sync::Arc;

use abridge_corpus::{Document, Segment};
use burn::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};
use serde_json::Value;

use crate::errors::{bug, config};

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
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let mut object = serde_json::Map::new();
        for item in mapping.items()? {
            let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
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
            let Some([source, target]) = two_strings(&pair?) else {
                return Err(config(format!(
                    "{name}: sentence {} of document {} is not a pair (source, target)",
                    place + 1,
                    number + 1
                )));
            };
            segments.push(Segment::pair(one_line(source), one_line(target)));
        }
        documents.push(Document::new(format!("{name}-{number}"), segments));
    }
    Ok(documents)
}

/// Two strings in a tuple, a list, a row of a database or anything else that is no string itself.
fn two_strings(pair: &Bound<'_, PyAny>) -> Option<[String; 2]> {
    if pair.is_instance_of::<PyString>() {
        return None;
    }
    let both: Vec<String> =
        pair.try_iter().ok()?.map(|text| text?.extract()).collect::<PyResult<_>>().ok()?;
    both.try_into().ok()
}

/// A sentence is one line in every file that we write.
fn one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

/// Numbers for `NumPy`, which looks at them where they are: nothing is copied, and the arrays that do
/// keep them alive. Without a crate for `NumPy`: that one would change how the engine is compiled.
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

    /// What a tensor holds.
    pub fn tensor(tensor: &Tensor<2>) -> Self {
        let data = tensor.to_data();
        let shape = tensor.dims().to_vec();
        let values = data.try_into_vec_as().unwrap_or_default();
        Self { values: Values::Floats(Arc::new(values)), shape }
    }

    /// The array; it cannot be written to.
    pub fn view<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = match &self.values {
            Values::Floats(values) => values.len(),
            Values::Ids(values) => values.len(),
        };
        // NumPy believes the shape, and would read beyond the end.
        if self.shape.iter().product::<usize>() != count {
            return Err(bug(format!("{count} numbers do not have the shape {:?}", self.shape)));
        }
        py.import("numpy")?.call_method1("asarray", (Numbers(self.clone()),))
    }
}

/// What an array refers to. The buffer protocol is not in the stable interface of Python 3.10, so it
/// says in `NumPy`'s own way where the numbers are.
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
