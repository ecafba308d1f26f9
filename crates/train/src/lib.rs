//! Training: the paper's recipe, with each sentence encoded once.
//!
//! | part of the recipe | here |
//! | --- | --- |
//! | loss summed over tokens, divided by the tokens of the whole update | [`Workers`] |
//! | clipping by the global norm | [`Gradients::clip`] |
//! | Adam with decoupled decay on all parameters | [`Adam`] |
//! | linear warm-up, then inverse square root | [`Schedule`] |

mod error;
mod gradients;
mod optimiser;
mod schedule;
mod update;

pub use error::{Error, Result};
pub use gradients::Gradients;
pub use optimiser::{Adam, AdamConfig};
pub use schedule::Schedule;
pub use update::{Accumulated, UpdateSettings, Workers};
