//! Errors as exceptions, with the words of the command line.

use abridge_base::error::{HasKind, Kind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(abridge, Error, PyException, "Anything that abridge refuses to do.");
pyo3::create_exception!(
    abridge,
    DataError,
    Error,
    "Text, or another file, is not as it should be."
);
pyo3::create_exception!(abridge, ModelError, Error, "A model or checkpoint cannot be used.");
pyo3::create_exception!(abridge, ConfigError, Error, "A setting makes no sense.");
pyo3::create_exception!(abridge, InternalError, Error, "A bug in abridge; please report it.");

/// Puts the exceptions into the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("DataError", py.get_type::<DataError>())?;
    module.add("ModelError", py.get_type::<ModelError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("InternalError", py.get_type::<InternalError>())
}

/// A setting that makes no sense.
pub fn config(problem: impl Into<String>) -> PyErr {
    ConfigError::new_err(problem.into())
}

/// Something that cannot be.
pub fn bug(problem: impl std::fmt::Display) -> PyErr {
    InternalError::new_err(format!("this is a bug in abridge, please report it: {problem}"))
}

/// The exception for an error, with its causes, leaving out what was said already.
pub fn exception(error: &anyhow::Error) -> PyErr {
    let text = error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.as_str() {
            "" => cause,
            said if said.contains(&cause) => text,
            said => format!("{said}: {cause}"),
        }
    });
    match kind(error) {
        Kind::Usage => ConfigError::new_err(text),
        Kind::Data => DataError::new_err(text),
        Kind::Model => ModelError::new_err(text),
        Kind::Bug => InternalError::new_err(text),
        _ => Error::new_err(text),
    }
}

/// The exception for a panic.
pub fn panic(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    bug(text)
}

/// What an error is about: what the outermost cause says that knows it.
fn kind(error: &anyhow::Error) -> Kind {
    type Cause<'a> = &'a (dyn std::error::Error + 'static);
    fn of<E: HasKind + 'static>(cause: Cause<'_>) -> Option<Kind> {
        cause.downcast_ref::<E>().map(HasKind::kind)
    }
    let kinds: [fn(Cause<'_>) -> Option<Kind>; 5] = [
        of::<abridge_base::Error>,
        of::<abridge_model::Error>,
        of::<abridge_train::Error>,
        of::<abridge_translate::Error>,
        |cause| cause.is::<std::io::Error>().then_some(Kind::Data),
    ];
    error.chain().find_map(|cause| kinds.iter().find_map(|kind| kind(cause))).unwrap_or(Kind::Usage)
}
