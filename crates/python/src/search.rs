//! The settings of the search, as keyword arguments.

use abridge_translate::{BeamSettings, Sampling, Translator};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{exception, guarded};

/// Reads `beam`, `n_best`, `length_penalty`, `min_length`, `max_length`, `prefix`, and for sampling
/// `sample`, `top_k`, `top_p`, `temperature`, `seed`; the others have the values that the makers of
/// the model use. `refused` are those that make no sense here.
pub fn settings(
    translator: &Translator,
    arguments: Option<&Bound<'_, PyDict>>,
    refused: &[&str],
) -> PyResult<BeamSettings> {
    guarded(|| read(translator, arguments, refused)).flatten()
}

fn read(
    translator: &Translator,
    arguments: Option<&Bound<'_, PyDict>>,
    refused: &[&str],
) -> PyResult<BeamSettings> {
    let mut settings = translator.default_search().clone();
    let mut sampling = Sampling::default();
    let mut is_sampled = false;
    for (name, value) in arguments.into_iter().flatten() {
        let name: String = name.extract()?;
        let unexpected = || PyTypeError::new_err(format!("unexpected keyword argument '{name}'"));
        if refused.contains(&name.as_str()) {
            return Err(unexpected());
        }
        if value.is_none() {
            continue;
        }
        match name.as_str() {
            "beam" => settings.beam = value.extract()?,
            "n_best" => settings.n_best = value.extract()?,
            "length_penalty" => settings.length_penalty = value.extract()?,
            "min_length" => settings.min_length = value.extract()?,
            "max_length" => settings.max_length = value.extract()?,
            "prefix" => settings.prefix = translator.target().encode(value.extract()?),
            "sample" => is_sampled = value.extract()?,
            "top_k" => sampling.top_k = value.extract()?,
            "top_p" => sampling.top_p = value.extract()?,
            "temperature" => sampling.temperature = value.extract()?,
            "seed" => sampling.seed = value.extract()?,
            _ => return Err(unexpected()),
        }
    }
    settings.sampling = is_sampled.then_some(sampling);
    settings.check().map_err(|error| exception(&error.into()))?;
    Ok(settings)
}
