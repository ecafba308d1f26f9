//! Starting from the weights of another model, for instance a sentence-level one.
//!
//! Its configuration is kept, and the context of the recipe's preset is added. Parameters with the
//! same name are copied; new ones keep their initial values, except for context attentions, whose
//! output is zero at first. This is how sentence-level pre-training, which the paper leaves open,
//! is done.

use std::path::Path;

use abridge_corpus::Tokenizer;
use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::Side;
use abridge_model::config::Context;
use abridge_model::device::is_cpu;
use abridge_model::ops::check_precision;
use abridge_model::weights::ModelDirectory;
use abridge_model::{Model, ModelConfig};
use burn::tensor::Device;

use crate::event::Event;
use crate::recipe::{TrainRecipe, Trained};
use crate::{Error, Result};

/// The network that a recipe trains on some data, from scratch or from another model.
#[derive(Debug)]
pub struct Beginning {
    /// Its configuration.
    pub config: ModelConfig,
    pub(crate) start: Option<Start>,
}

impl Beginning {
    /// Determines the network and checks that it can be trained here; reads no weights yet.
    pub fn of(
        recipe: &TrainRecipe,
        data: &PreparedDirectory,
        from: Option<&Path>,
        device: &Device,
    ) -> Result<Self> {
        let start = from.map(|from| Start::open(from, data)).transpose()?;
        let vocabularies = &data.description().vocabularies;
        let config = match &start {
            Some(start) => start.config(recipe)?,
            None => recipe.config(vocabularies.source, vocabularies.target)?,
        };
        check_precision(recipe.optimisation.precision, device)?;
        // The engine does not tell how much memory another device has.
        if is_cpu(device) {
            check_memory(&config)?;
        }
        if config.shared_embeddings {
            check_joint(data)?;
        }
        if recipe.optimisation.train == Trained::Context && config.context == Context::None {
            return Err(Error::Recipe(
                "optimisation.train=context trains only the memory on top of a network, but this \
                 network has no context; choose another model.preset"
                    .into(),
            ));
        }
        Ok(Self { config, start })
    }

    /// The network with its initial weights; those that the recipe does not train are frozen.
    pub fn model(&self, recipe: &TrainRecipe, device: &Device) -> Result<(Model, Option<Event>)> {
        if recipe.optimisation.train == Trained::Context && self.start.is_none() {
            return Err(Error::Recipe(
                "optimisation.train=context trains a memory on top of an existing model, but none \
                 is given; name it with --from, or set optimisation.train=all"
                    .into(),
            ));
        }
        let model = self.config.init(recipe.seed.0, device)?;
        let (model, event) = match &self.start {
            None => (model, None),
            Some(start) => start.take_over(model).map(|(model, event)| (model, Some(event)))?,
        };
        Ok((recipe.optimisation.freeze(model), event))
    }
}

/// A model directory to start from, whose vocabularies match the data.
#[derive(Debug)]
pub(crate) struct Start {
    directory: ModelDirectory,
}

impl Start {
    /// Opens a model directory and checks that its vocabularies are those of the data.
    pub fn open(path: &Path, data: &PreparedDirectory) -> Result<Self> {
        let directory = ModelDirectory::open(path)?;
        for (side, name) in [(Side::Source, "source"), (Side::Target, "target")] {
            let (theirs, ours) = (Tokenizer::load(path, name)?, data.tokenizer(side)?);
            if let Some(difference) = theirs.difference(&ours) {
                return Err(refusal(
                    path,
                    &format!(
                        "its {name} vocabulary differs from that of the data: {difference}; \
                         prepare the data with the tokenizers of the model"
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
                        "its {name} is {theirs}, but the recipe has {ours}; remove \
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

    /// Copies the matching parameters into a network.
    pub fn take_over(&self, model: Model) -> Result<(Model, Event)> {
        let path = self.directory.path();
        let (mut model, taken) = self.directory.take_over(model)?;
        if self.directory.config().context == Context::None {
            // New parameters contribute nothing yet: the output is that of the network below.
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

/// A shared embedding requires that a token id is the same piece in both languages.
fn check_joint(data: &PreparedDirectory) -> Result<()> {
    let (source, target) = (data.tokenizer(Side::Source)?, data.tokenizer(Side::Target)?);
    if source.difference(&target).is_none() {
        return Ok(());
    }
    Err(Error::Recipe(
        "model.change.shared_embeddings needs one vocabulary for both languages, but the data has \
         two; prepare it with --joint"
            .into(),
    ))
}

/// Rejects a network whose weights, gradient and two running means alone exceed the memory of the
/// machine: the failing allocation would end the process without a message.
fn check_memory(config: &ModelConfig) -> Result<()> {
    const BYTES: u128 = 16;
    let parameters = config.roughly_parameters();
    let (needed, total) = (parameters * BYTES, abridge_machine::memory::total());
    match total {
        Some(total) if needed > u128::from(total) => Err(Error::Recipe(format!(
            "{:.1} billion parameters need at least {} GB to be trained, but this machine has {}; \
             choose smaller sizes",
            parameters as f64 / 1e9,
            needed / 1_000_000_000,
            total / 1_000_000_000
        ))),
        _ => Ok(()),
    }
}
