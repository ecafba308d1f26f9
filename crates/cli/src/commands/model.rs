//! The model that a command works with: a directory, an installed model, or the built-in one.

use std::path::{Path, PathBuf};

use abridge_base::files::Outputs;
use abridge_base::tell;
use abridge_model::weights::ModelDirectory;
use abridge_translate::InstalledModels;
use clap::Args;

/// The option `--model`.
#[derive(Debug, Args)]
pub struct ModelArgument {
    /// A model directory, or the name of an installed model (`abridge models --installed`). By default
    /// the built-in English-German model.
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
}

impl ModelArgument {
    /// The path or the name that the user gave.
    pub fn given(&self) -> Option<&Path> {
        self.model.as_deref()
    }

    /// What to call it.
    pub fn name(&self) -> String {
        let default = || InstalledModels::default_name().unwrap_or("the model").to_owned();
        self.given().map_or_else(default, |model| model.display().to_string())
    }

    /// The model directory; says so, unless `quiet`, where it is the built-in model.
    pub fn directory(&self, quiet: bool) -> anyhow::Result<PathBuf> {
        match self.given() {
            Some(model) => directory(model),
            None => default(quiet),
        }
    }

    /// Registers the model as an input.
    pub fn reading(&self, outputs: &mut Outputs) -> anyhow::Result<()> {
        register(&self.directory(true)?, outputs);
        Ok(())
    }
}

/// Registers a model, named by its path or its name, as an input.
pub fn reading(model: &Path, outputs: &mut Outputs) -> anyhow::Result<()> {
    register(&directory(model)?, outputs);
    Ok(())
}

fn register(directory: &Path, outputs: &mut Outputs) {
    for directory in ModelDirectory::read_by_open(directory) {
        outputs.reading(&directory);
    }
}

/// The directory of a model that is named by its path or, if it is installed, by its name.
pub fn directory(model: &Path) -> anyhow::Result<PathBuf> {
    Ok(InstalledModels::locate(Some(model))?)
}

/// The model that is used when none is named.
pub fn default(quiet: bool) -> anyhow::Result<PathBuf> {
    let directory = InstalledModels::locate(None)?;
    if let Some(name) = InstalledModels::default_name().filter(|_| !quiet) {
        tell!("the built-in model {name}; --model names another");
    }
    Ok(directory)
}
