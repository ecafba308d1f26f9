//! The mean of several checkpoints of a run, as one model.

use std::collections::BTreeMap;
use std::path::Path;

use abridge_base::files::OutputDirectory;
use abridge_base::manifest::Manifest;
use abridge_model::Model;
use abridge_model::weights::{NamedTensors, Parameter, write_tensors};
use burn::tensor::Device;

use crate::checkpoint::{Checkpoints, Found};
use crate::deliver::write_model;
use crate::{Error, Result};

/// Which checkpoints are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The newest ones, this many.
    Last(usize),
    /// Those with the lowest validation losses.
    Best(usize),
}

/// The key in a model's provenance that marks it as an average.
const AVERAGE: &str = "average of updates";

/// Averages checkpoints of a run into a model directory; returns their updates. An earlier average
/// is replaced; any other model is not.
pub fn average(run: &Path, choice: Choice, out: &Path) -> Result<Vec<u64>> {
    let output = OutputDirectory::begin(out, |path| {
        let manifest = Manifest::read(path).ok()?;
        manifest.provenance.contains_key(AVERAGE).then(|| manifest.names())
    })?;
    let mut found = Checkpoints::new(run.join("checkpoints")).complete();
    let wanted = match choice {
        Choice::Last(count) => count,
        Choice::Best(count) => {
            found.retain(|checkpoint| checkpoint.state.valid_loss.is_some());
            let loss = |checkpoint: &Found| checkpoint.state.valid_loss.unwrap_or(f64::INFINITY);
            // The best last; of equal ones, the later.
            found.sort_by(|a, b| loss(b).total_cmp(&loss(a)));
            count
        }
    };
    if wanted == 0 {
        return Err(Error::Recipe("0 checkpoints have no average; ask for at least 1".into()));
    }
    if found.len() < wanted {
        return Err(Error::Checkpoint(format!(
            "{}: {wanted} checkpoints were requested, but {} exist; checkpoints.keep and \
             checkpoints.keep_best in the recipe set how many are kept",
            run.display(),
            found.len()
        )));
    }
    let mut chosen = found.split_off(found.len() - wanted);
    chosen.sort_by_key(|checkpoint| checkpoint.state.update);
    let updates: Vec<u64> = chosen.iter().map(|checkpoint| checkpoint.state.update).collect();
    let list = updates.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let provenance = BTreeMap::from([
        (AVERAGE.to_owned(), list),
        ("data".to_owned(), chosen[0].state.origin.train.clone()),
    ]);
    let model = mean(output.path(), &chosen)?;
    write_model(run, &model, &chosen[0].state.origin, provenance, output)?;
    Ok(updates)
}

/// The mean, summed in double precision, in the order of the updates.
fn mean(folder: &Path, chosen: &[Found]) -> Result<Model> {
    let config = chosen[0].config()?;
    let device = Device::flex();
    let parameters = config.init(0, &device)?.parameters();
    let files = chosen.iter().map(Found::tensors).collect::<Result<Vec<_>>>()?;
    let mut tensors = NamedTensors::new();
    // If the model below a memory is frozen, only the memory is stored and averaged.
    let stored = |parameter: &Parameter| files[0].shape(&parameter.name).is_some();
    for parameter in parameters.into_iter().filter(stored) {
        let mut sum = vec![0.0; parameter.shape.iter().product()];
        for file in &files {
            for (sum, value) in sum.iter_mut().zip(file.read(&parameter.name)?) {
                *sum += f64::from(value);
            }
        }
        let count = files.len() as f64;
        let mean = sum.iter().map(|sum| (sum / count) as f32).collect();
        tensors.insert(parameter.name, (parameter.shape, mean));
    }
    let file = folder.join("average.safetensors");
    write_tensors(&file, &tensors)?;
    let model = chosen[0].state.origin.load(&config, &file, &device);
    // It was only needed to load the network.
    std::fs::remove_file(&file).map_err(|error| abridge_base::Error::io("remove", &file, error))?;
    model
}
