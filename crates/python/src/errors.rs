//! Errors as exceptions, with the messages of the command line.

use std::panic::{AssertUnwindSafe, catch_unwind};

use abridge_base::error::Kind;
use abridge_experiments::failure;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(abridge, Error, PyException, "Any error of abridge.");
pyo3::create_exception!(abridge, DataError, Error, "Text or another file is invalid.");
pyo3::create_exception!(abridge, ModelError, Error, "A model or checkpoint is invalid.");
pyo3::create_exception!(abridge, ConfigError, Error, "A setting is invalid.");
pyo3::create_exception!(abridge, InternalError, Error, "A bug in abridge; please report it.");

/// Adds the exceptions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("DataError", py.get_type::<DataError>())?;
    module.add("ModelError", py.get_type::<ModelError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("InternalError", py.get_type::<InternalError>())
}

/// The exception for an invalid setting.
pub fn config(problem: impl Into<String>) -> PyErr {
    ConfigError::new_err(problem.into())
}

/// The exception for a bug.
pub fn bug(problem: impl std::fmt::Display) -> PyErr {
    InternalError::new_err(format!("this is a bug in abridge, please report it: {problem}"))
}

/// The exception for an error, with its causes.
pub fn exception(error: &anyhow::Error) -> PyErr {
    let message = failure::message(error);
    match failure::kind(error, &[]) {
        Kind::Usage => ConfigError::new_err(message),
        Kind::Data => DataError::new_err(message),
        Kind::Model => ModelError::new_err(message),
        Kind::Bug => InternalError::new_err(message),
        _ => Error::new_err(message),
    }
}

/// Does something in which a panic becomes an exception. Whatever computes on the calling thread goes
/// through here; long work does in [`crate::work::run`].
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| panic(payload.as_ref()))
}

/// The exception for a panic.
pub fn panic(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
    bug(message.unwrap_or_default())
}
