//! Models of other toolkits as model directories.

use std::path::{Path, PathBuf};

use abridge_corpus::Tokenizer;
use abridge_model::weights::{FairseqCheckpoint, ModelDirectory, WeightPrecision};
use abridge_model::{DeviceKind, Preset};
use abridge_translate::ForeignTranslator;
use pyo3::prelude::*;

use crate::errors::{config, exception};
use crate::work;

/// Turns a model of another toolkit into a model directory: an OPUS-MT or other MarianMT directory,
/// a Marian or Firefox model, or, with `preset`, a checkpoint of the published code (`.pt`, whose
/// pickle is never run, or safetensors).
///
/// >>> abridge.import_model("opus-mt-en-de", "imported")  # doctest: +SKIP
#[pyfunction]
#[pyo3(signature = (path, output, *, target_language=None, precision=None, preset=None,
                    context_size=1, heads=8, source_model=None, source_dictionary=None,
                    target_model=None, target_dictionary=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn import_model(
    py: Python<'_>,
    path: PathBuf,
    output: PathBuf,
    target_language: Option<String>,
    precision: Option<&str>,
    preset: Option<&str>,
    context_size: usize,
    heads: usize,
    source_model: Option<PathBuf>,
    source_dictionary: Option<PathBuf>,
    target_model: Option<PathBuf>,
    target_dictionary: Option<PathBuf>,
) -> PyResult<PathBuf> {
    let preset: Option<Preset> = preset
        .map(str::parse)
        .transpose()
        .map_err(|error: abridge_model::Error| exception(&error.into()))?;
    let precision = precision.map(str::parse::<WeightPrecision>).transpose();
    let precision = precision.map_err(|error| config(error.clone()))?;
    work::run(py, None, |_| {
        let device = DeviceKind::Cpu.open()?;
        let directory = ModelDirectory::begin_new(&output)?;
        let Some(preset) = preset else {
            anyhow::ensure!(
                ForeignTranslator::is_one(&path),
                "{} is neither a directory nor a .npz or .bin of Marian's; if it is a checkpoint of \
                 the published implementation, say which model with preset",
                path.display()
            );
            let foreign = ForeignTranslator::open(&path, target_language.as_deref(), &device)?;
            foreign.write(precision.unwrap_or(foreign.precision()), directory)?;
            return Ok(output.clone());
        };
        let checkpoint = FairseqCheckpoint::open(&path)?;
        let config = checkpoint.infer(preset, heads, context_size)?;
        let model = checkpoint.load(&config, &device)?;
        let provenance = [("imported from".to_owned(), path.display().to_string())].into();
        let precision = precision.unwrap_or(WeightPrecision::Single);
        let attach = |folder: &Path| -> anyhow::Result<()> {
            for (name, model, dictionary) in [
                ("source", &source_model, &source_dictionary),
                ("target", &target_model, &target_dictionary),
            ] {
                if let Some(model) = model {
                    Tokenizer::import(model, dictionary.as_deref())?.save(folder, name)?;
                }
            }
            Ok(())
        };
        ModelDirectory::write_into(directory, precision, &model, provenance, attach)?;
        Ok(output.clone())
    })
}
