//! Starting from the weights of another model, for instance a sentence-level one.
//!
//! What exists under the same name is copied; what is new keeps its initial values. This is how
//! sentence-level pre-training, which the paper leaves open, is done.

use std::path::Path;

use abridge_corpus::Tokenizer;
use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::Side;
use abridge_model::weights::{ModelDirectory, TensorFile};
use abridge_model::{Model, ModelConfig};

use crate::event::Event;
use crate::{Error, Result};

/// A model directory to start from, which fits the data.
#[derive(Debug)]
pub struct Start {
    directory: ModelDirectory,
}

impl Start {
    /// Opens a model directory and checks that it knows the same words and has the same heads.
    pub fn open(path: &Path, data: &PreparedDirectory, config: &ModelConfig) -> Result<Self> {
        let directory = ModelDirectory::open(path)?;
        let refuse = |why: String| {
            Err(Error::Recipe(format!("cannot start from {}: {why}", path.display())))
        };
        for (side, name) in [(Side::Source, "source"), (Side::Target, "target")] {
            let (theirs, ours) = (Tokenizer::load(path, name)?, data.tokenizer(side)?);
            if let Some(difference) = theirs.difference(&ours) {
                return refuse(format!(
                    "its {name} vocabulary is not that of the data: {difference}; prepare the data \
                     with the tokenizers of the model"
                ));
            }
        }
        let theirs = directory.config();
        for (name, theirs, ours) in [
            ("width", theirs.width, config.width),
            ("heads", theirs.heads, config.heads),
            ("feed_forward", theirs.feed_forward, config.feed_forward),
        ] {
            if theirs != ours {
                return refuse(format!(
                    "its {name} is {theirs}, but that of the recipe is {ours}; set \
                     model.change.{name}={theirs}, or another model.width"
                ));
            }
        }
        Ok(Self { directory })
    }

    /// The hash of its weights.
    pub fn hash(&self) -> String {
        self.directory.weights_hash().to_owned()
    }

    /// Copies what there is into a network.
    pub fn take_over(&self, model: Model) -> Result<(Model, Event)> {
        let path = self.directory.path();
        let stored = TensorFile::open(&path.join("model.safetensors"))?;
        let (model, taken) = model.take_over(&stored)?;
        let event = Event::Started {
            update: 0,
            from: path.display().to_string(),
            copied: taken.copied.len(),
            new: taken.new,
            unused: taken.unused,
        };
        Ok((model, event))
    }
}
