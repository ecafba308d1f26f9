//! The groups of settings of a recipe.

use std::path::PathBuf;

use abridge_model::ops::ProductPrecision;
use abridge_model::{Model, ModelSize, Preset};
use serde::{Deserialize, Serialize};

use crate::optimiser::AdamConfig;
use crate::schedule::Schedule;

/// Which network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelRecipe {
    /// One of the ten models of the paper; `abridge models` lists them.
    pub preset: String,
    /// `base` (the paper's), `small` or `tiny`.
    pub size: String,
    /// How many preceding sentences are context; ignored by `sentence`.
    pub context_size: usize,
    /// Fields of the model's configuration that differ from the preset, for instance
    /// `dropout = 0.1` or `shortener = { kind = "grouping", groups = 11 }`.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub change: toml::Table,
}

impl Default for ModelRecipe {
    fn default() -> Self {
        Self {
            preset: Preset::Grouping.name().into(),
            size: ModelSize::Base.name().into(),
            context_size: 1,
            change: toml::Table::new(),
        }
    }
}

/// How sentences are batched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BatchRecipe {
    /// `runs` of consecutive sentences, each encoded once, or single `sentences` as in the paper.
    pub batching: Batching,
    /// Tokens per micro-batch, on either side.
    pub max_tokens: usize,
    /// The longest run of consecutive sentences.
    pub run_length: usize,
    /// Micro-batches whose gradients make one update.
    pub per_update: usize,
}

/// The units from which batches are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Batching {
    /// Runs of consecutive sentences; each sentence is encoded once.
    Runs,
    /// Single sentences of similar length, with their context, as in the paper.
    Sentences,
}

impl Default for BatchRecipe {
    fn default() -> Self {
        Self { batching: Batching::Runs, max_tokens: 4096, run_length: 16, per_update: 8 }
    }
}

/// How parameters are optimised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimisationRecipe {
    /// The probability mass that label smoothing takes from the true token.
    pub label_smoothing: f64,
    /// The largest global norm of the gradients; larger ones are clipped.
    pub clip_norm: f64,
    /// The precision of the matrix products of a training step; weights, sums and the optimiser's
    /// state are always `f32`. Written only if it is not `f32`, so that older recipes stay the
    /// same.
    #[serde(skip_serializing_if = "ProductPrecision::is_f32")]
    pub precision: ProductPrecision,
    /// Which parameters are trained. Written only if not all are.
    #[serde(skip_serializing_if = "Trained::is_all")]
    pub train: Trained,
    /// The factor on the learning rate for parameters of the sentence-level network, if all
    /// parameters are trained.
    #[serde(skip_serializing_if = "is_one")]
    pub base_rate: f64,
    /// The learning rate over time.
    pub schedule: Schedule,
    /// The optimiser.
    pub adam: AdamConfig,
}

impl OptimisationRecipe {
    /// The network with all parameters frozen except those that the recipe trains.
    pub(crate) fn freeze(&self, model: Model) -> Model {
        match self.train {
            Trained::All => model,
            Trained::Context => model.with_frozen_base(),
        }
    }
}

/// Which parameters are trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trained {
    /// All.
    #[default]
    All,
    /// Those of a memory on top of a sentence-level network, which is frozen.
    Context,
}

impl Trained {
    /// Whether all are trained.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }
}

#[allow(clippy::float_cmp, clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(factor: &f64) -> bool {
    *factor == 1.0
}

impl Default for OptimisationRecipe {
    fn default() -> Self {
        Self {
            label_smoothing: 0.1,
            clip_norm: 0.1,
            precision: ProductPrecision::F32,
            train: Trained::All,
            base_rate: 1.0,
            schedule: Schedule::default(),
            adam: AdamConfig::default(),
        }
    }
}

/// When to validate, and when to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopRecipe {
    /// Validate and save every this many updates; at the end of each epoch if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate_every: Option<u64>,
    /// Stop after this many validations without a lower loss.
    pub patience: u32,
    /// Stop after this many updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_updates: Option<u64>,
    /// Stop after this many epochs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_epochs: Option<u64>,
}

impl Default for StopRecipe {
    fn default() -> Self {
        Self { validate_every: None, patience: 5, max_updates: None, max_epochs: None }
    }
}

/// Augmentations of batches, as an extension of the paper. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextRecipe {
    /// The probability that a sentence is translated without its context.
    pub drop: f64,
    /// Whether each run of consecutive sentences draws its own context size, from 0 to the model's.
    pub random_size: bool,
    /// The probability that a token of the current sentence, but not of its context, is hidden.
    pub coword_dropout: f64,
}

/// What validation reports besides the loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValidationRecipe {
    /// BLEU of the first n sentences of each corpus; 0 for none.
    pub sentences: usize,
    /// The beam size; 1 is greedy search.
    pub beam: usize,
    /// The corpora whose validation loss decides which checkpoint is best, with all tokens weighted
    /// equally; those of the mixture if none is named. Losses of all corpora are reported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corpora: Vec<String>,
    /// A contrastive set whose accuracy is reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contrastive: Option<PathBuf>,
    /// The folder of the documents that ContraPro's JSON refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contrastive_documents: Option<PathBuf>,
}

impl Default for ValidationRecipe {
    fn default() -> Self {
        Self {
            sentences: 200,
            beam: 1,
            corpora: Vec::new(),
            contrastive: None,
            contrastive_documents: None,
        }
    }
}

/// Which checkpoints are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointRecipe {
    /// Keep the n newest, at least two.
    pub keep: usize,
    /// Keep the n checkpoints with the lowest validation loss; the best one is always kept.
    pub keep_best: usize,
}

impl Default for CheckpointRecipe {
    fn default() -> Self {
        Self { keep: 2, keep_best: 1 }
    }
}
