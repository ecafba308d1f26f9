//! Controls: the same examples with other contexts, or with the same context rearranged.
//!
//! A model that uses its context must lose its gain when the context comes from another document.
//! If it does not, the gain comes from the presence of a context, not from its content.

mod control;
mod difference;
mod draws;
mod reading;
mod view;

pub use control::Control;
pub use difference::MeanDifference;
pub use draws::{Controls, Draw, Spread};
pub use reading::{ControlTest, ControlTests, Reading};
pub use view::Example;
pub(crate) use view::View;
