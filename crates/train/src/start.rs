//! Starting from the weights of another model, for instance a sentence-level one.
//!
//! Its configuration is kept, and the context of the recipe's preset is added. What exists under the
//! same name is copied; what is new keeps its initial values, but for context attentions, which at
//! first bring back nothing. This is how sentence-level pre-training, which the paper leaves open,
//! is done.

use std::path::Path;

use abridge_corpus::Tokenizer;
use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::Side;
use abridge_model::config::Context;
use abridge_model::weights::ModelDirectory;
use abridge_model::{Model, ModelConfig};

use crate::event::Event;
use crate::recipe::TrainRecipe;
use crate::{Error, Result};

/// A model directory to start from, which fits the data.
#[derive(Debug)]
pub struct Start {
    directory: ModelDirectory,
}

impl Start {
    /// Opens a model directory and checks that it knows the words of the data.
    pub fn open(path: &Path, data: &PreparedDirectory) -> Result<Self> {
        let directory = ModelDirectory::open(path)?;
        for (side, name) in [(Side::Source, "source"), (Side::Target, "target")] {
            let (theirs, ours) = (Tokenizer::load(path, name)?, data.tokenizer(side)?);
            if let Some(difference) = theirs.difference(&ours) {
                return Err(refusal(
                    path,
                    &format!(
                        "its {name} vocabulary is not that of the data: {difference}; prepare the \
                         data with the tokenizers of the model"
                    ),
                ));
            }
        }
        Ok(Self { directory })
    }

    /// The network that starts from it: its own, with the context that the recipe asks for.
    pub fn config(&self, recipe: &TrainRecipe) -> Result<ModelConfig> {
        let theirs = self.directory.config();
        let config = recipe.config_on(theirs)?;
        for (name, theirs, ours) in [
            ("width", theirs.width, config.width),
            ("heads", theirs.heads, config.heads),
            ("feed_forward", theirs.feed_forward, config.feed_forward),
        ] {
            if theirs != ours {
                return Err(refusal(
                    self.directory.path(),
                    &format!(
                        "its {name} is {theirs}, but that of the recipe is {ours}; remove \
                         model.change.{name}"
                    ),
                ));
            }
        }
        Ok(config)
    }

    /// The hash of its weights.
    pub fn hash(&self) -> String {
        self.directory.weights_hash().to_owned()
    }

    /// Copies what there is into a network.
    pub fn take_over(&self, model: Model) -> Result<(Model, Event)> {
        let path = self.directory.path();
        let (mut model, taken) = self.directory.take_over(model)?;
        if self.directory.config().context == Context::None {
            // What is new adds nothing yet: the output is that of the network below.
            model = model.with_silent_context();
        }
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

fn refusal(path: &Path, why: &str) -> Error {
    Error::Recipe(format!("cannot start from {}: {why}", path.display()))
}
