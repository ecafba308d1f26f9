//! Controls: the same examples with contexts that say something else, or the same in another way.
//!
//! A model that gains from its context must lose that gain when the context is of another document.
//! If it does not, it has learned that there is a context, not what the context says.

mod control;
mod difference;
mod reading;
mod view;

pub use control::Control;
pub use difference::MeanDifference;
pub use reading::{ControlTest, ControlTests, Reading};
pub use view::Example;
pub(crate) use view::View;
