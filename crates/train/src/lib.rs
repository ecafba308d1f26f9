//! Training: the paper's recipe, with each sentence encoded once.
//!
//! A [`TrainRecipe`] says what is trained and how; [`Training`] runs it in a run directory, and
//! resumes an existing run automatically.
//!
//! | part of the recipe | here |
//! | --- | --- |
//! | loss summed over tokens, divided by the tokens of the whole update | [`GradientWorkers`] |
//! | clipping by the global norm | [`Gradients::clip`] |
//! | Adam with decoupled decay on all parameters | [`Adam`] |
//! | linear warm-up, then inverse square root | [`Schedule`] |
//! | best checkpoint by validation loss, patience | [`Training`] |
//!
//! Several processes train together as [`Ranks`]; a caller may measure more at each
//! validation with a [`Validator`].

#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod augment;
mod average;
mod batches;
mod checkpoint;
mod deliver;
mod error;
mod event;
mod gradients;
mod inherit;
mod loss_scale;
mod manifest;
mod optimiser;
mod origin;
mod ranks;
mod recipe;
mod run_directory;
mod schedule;
mod start;
mod tensorboard;
mod trainer;
mod update;
mod validation;

pub use average::{Choice, average};
pub use checkpoint::{Checkpoints, Found, RunState};
pub use deliver::begin_model;
pub use error::{Error, Result};
pub use event::{CorpusCoverage, Ending, Event};
pub use gradients::{Gradients, learning_count};
pub use loss_scale::LossScale;
pub use optimiser::{Adam, AdamConfig};
pub use origin::Origin;
#[cfg(feature = "mpi")]
pub use ranks::MpiRanks;
pub use ranks::{Alone, Ranks};
pub use recipe::{
    BatchRecipe, Batching, CheckpointRecipe, ContextRecipe, MixtureRecipe, ModelRecipe,
    OptimisationRecipe, PhaseRecipe, Seed, StopRecipe, TrainRecipe, Trained, ValidationRecipe,
};
pub use run_directory::RunPaths;
pub use schedule::{CoolDown, Schedule};
pub use start::Beginning;
pub use trainer::{Options, Training};
pub use update::{Accumulated, GradientWorkers, UpdateSettings};
pub use validation::{PerToken, Validator};
