//! The result of a run: a model directory that every other command accepts.

use std::collections::BTreeMap;
use std::path::Path;

use abridge_base::files::OutputDirectory;
use abridge_base::manifest::Manifest;
use abridge_model::Model;
use abridge_model::weights::{ModelDirectory, WeightPrecision};

use crate::origin::Origin;
use crate::run_directory::tokenizers;
use crate::trainer::Training;
use crate::{Error, Result};

impl Training {
    /// Writes the best network so far, with the tokenizers of the data that it was trained on.
    pub fn write_model(&self, out: &Path) -> Result<()> {
        let state = self.state();
        let mut provenance = BTreeMap::from([
            (UPDATES.to_owned(), state.best_update.to_string()),
            ("data".to_owned(), state.origin.train.clone()),
        ]);
        if let Some(loss) = state.best_loss {
            provenance.insert("valid loss".to_owned(), loss.to_string());
        }
        let output = begin_model(out)?;
        write_model(self.path(), &self.best_model()?, &state.origin, provenance, output)
    }
}

/// The keys of a model's provenance that mark it as the result of a run.
const UPDATES: &str = "updates";
const RECIPE: &str = "recipe";

/// Begins the model directory of a run. An earlier result of a run is replaced, unless the directory
/// contains other files; any other model is not.
pub fn begin_model(out: &Path) -> Result<OutputDirectory> {
    Ok(OutputDirectory::begin(out, |path| {
        let manifest = Manifest::read(path).ok()?;
        let is_of_run = [UPDATES, RECIPE].iter().all(|key| manifest.provenance.contains_key(*key));
        is_of_run.then(|| manifest.names())
    })?)
}

/// Writes a network of a run with the tokenizers of the run; of a memory on top of a frozen model,
/// only the memory.
pub fn write_model(
    run: &Path,
    model: &Model,
    origin: &Origin,
    mut provenance: BTreeMap<String, String>,
    output: OutputDirectory,
) -> Result<()> {
    let (source, target, languages) = tokenizers(run)?;
    provenance.insert("languages".to_owned(), languages);
    provenance.insert(RECIPE.to_owned(), origin.recipe_hash());
    if let Some(from) = &origin.from {
        provenance.insert("from".to_owned(), from.clone());
    }
    // If the model below is missing, both are written as one model.
    if let Some(Ok(below)) = origin.below() {
        provenance = below.below_a_memory(output.path(), provenance);
    }
    let single = WeightPrecision::Single;
    ModelDirectory::write_into(output, single, model, provenance, |folder| -> Result<(), Error> {
        source.save(folder, "source")?;
        target.save(folder, "target")?;
        Ok(())
    })
}
