//! Training.

use std::path::PathBuf;

use abridge_experiments::validation::Measure;
use abridge_model::DeviceKind;
use abridge_train::{Ending, Options, RunPaths, TrainRecipe, Training, Validator};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyMappingMethods};

use crate::errors::exception;
use crate::values::to_json;
use crate::work;

/// The outcome of a run.
#[pyclass(frozen, get_all, module = "abridge")]
pub struct Trained {
    /// The model directory; `None` if the run was stopped before its end.
    model: Option<PathBuf>,
    /// Updates made in all.
    updates: u64,
    /// The lowest validation loss, in bits per token.
    best_loss: Option<f64>,
    /// "limit", "patience", or "stopped", after which the same call resumes the run.
    ending: String,
}

#[pymethods]
impl Trained {
    fn __repr__(&self) -> String {
        format!("Trained(updates={}, ending={:?})", self.updates, self.ending)
    }
}

/// Trains a model on prepared data, or resumes a run that was stopped.
///
/// `recipe` is a dictionary, the text of a TOML file, or its path; settings that it leaves out have
/// the paper's values. `settings` change it, such as `{"stop.max_updates": 500}`. `on_update` is called
/// with a dictionary for every event of the run; if it returns `False`, the run saves and stops.
///
/// >>> recipe = {"model": {"preset": "sentence", "size": "tiny"}, "stop": {"max_updates": 2}}
/// >>> abridge.train(recipe, "data", "run", on_update=lambda event: event.get("update", 0) < 1)
/// Trained(updates=1, ending="stopped")
/// >>> abridge.train(recipe, "data", "run")
/// Trained(updates=2, ending="limit")
#[pyfunction]
#[pyo3(signature = (recipe, data, run, *, settings=None, start_from=None, workers=None, force=false,
                    device="cpu", on_update=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn train(
    py: Python<'_>,
    recipe: &Bound<'_, PyAny>,
    data: PathBuf,
    run: PathBuf,
    settings: Option<&Bound<'_, PyMapping>>,
    start_from: Option<PathBuf>,
    workers: Option<usize>,
    force: bool,
    device: &str,
    on_update: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trained> {
    let device: DeviceKind =
        device.parse().map_err(|error: abridge_model::Error| exception(&error.into()))?;
    let (recipe, files) = read(recipe, &changes(settings)?)?;
    work::run(py, on_update, |link| {
        let device = device.open()?;
        let paths = RunPaths { data: &data, run: &run };
        let measure = Measure::open(&recipe, &data)?;
        let options = Options {
            workers,
            force,
            from: start_from,
            recipe: files,
            validator: measure.map(|measure| Box::new(measure) as Box<dyn Validator>),
            ..Options::default()
        };
        let mut training = Training::open(recipe, &paths, &device, options)?;
        let ending = training.run(&link.stop, &mut |event| {
            if let Ok(event) = serde_json::to_value(event) {
                link.event(event);
            }
        })?;
        let model = run.join("model");
        let is_over = ending != Ending::Interrupted;
        if is_over {
            training.write_model(&model)?;
        }
        let state = training.state();
        Ok(Trained {
            model: is_over.then_some(model),
            updates: state.update,
            best_loss: state.best_loss,
            ending: match ending {
                Ending::Patience => "patience",
                Ending::Limit => "limit",
                Ending::Interrupted => "stopped",
            }
            .to_owned(),
        })
    })
}

/// Changes as `key=value`, in TOML's spelling.
fn changes(settings: Option<&Bound<'_, PyMapping>>) -> PyResult<Vec<String>> {
    let mut all = Vec::new();
    for item in settings.map(PyMappingMethods::items).transpose()?.into_iter().flatten() {
        let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
        let value = to_json(&key, &value)?;
        all.push(format!("{key}={value}"));
    }
    Ok(all)
}

/// A recipe as a dictionary, as a path, or as text; and the files that it comes from.
fn read(recipe: &Bound<'_, PyAny>, settings: &[String]) -> PyResult<(TrainRecipe, Vec<PathBuf>)> {
    let wrong = |error: abridge_train::Error| exception(&error.into());
    if recipe.is_instance_of::<PyMapping>() {
        let value = to_json("recipe", recipe)?;
        let text = toml::to_string(&value)
            .map_err(|error| exception(&abridge_train::Error::Recipe(error.to_string()).into()))?;
        return Ok((TrainRecipe::parse(&text, settings).map_err(wrong)?, Vec::new()));
    }
    if let Ok(text) = recipe.extract::<String>()
        && (text.contains('\n') || text.contains('='))
    {
        return Ok((TrainRecipe::parse(&text, settings).map_err(wrong)?, Vec::new()));
    }
    let path: PathBuf = recipe.extract()?;
    let read = TrainRecipe::read(Some(&path), settings).map_err(wrong)?;
    Ok((read, TrainRecipe::files(&path).map_err(wrong)?))
}
