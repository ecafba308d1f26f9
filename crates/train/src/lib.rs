//! Training: the paper's recipe, with each sentence encoded once.
//!
//! A [`TrainRecipe`] says what is trained and how; [`Training`] runs it in a run directory, which
//! it resumes by itself.
//!
//! | part of the recipe | here |
//! | --- | --- |
//! | loss summed over tokens, divided by the tokens of the whole update | [`Workers`] |
//! | clipping by the global norm | [`Gradients::clip`] |
//! | Adam with decoupled decay on all parameters | [`Adam`] |
//! | linear warm-up, then inverse square root | [`Schedule`] |
//! | best checkpoint by validation loss, patience | [`Training`] |

mod checkpoint;
mod deliver;
mod error;
mod gradients;
mod inherit;
mod optimiser;
mod recipe;
mod schedule;
mod trainer;
mod update;

pub use checkpoint::{Checkpoints, Origin, Restored, RunState};
pub use error::{Error, Result};
pub use gradients::Gradients;
pub use optimiser::{Adam, AdamConfig};
pub use recipe::{
    BatchRecipe, Batching, ModelRecipe, OptimisationRecipe, Seed, StopRecipe, TrainRecipe,
};
pub use schedule::Schedule;
pub use trainer::{Ending, Event, RunPaths, Training, for_model};
pub use update::{Accumulated, UpdateSettings, Workers};
