//! Receives the progress of an experiment.

use abridge_corpus::prepare;

/// Receives the progress of an experiment; all of it may be ignored.
pub trait Observer: Sync {
    /// A message for a separate line.
    fn line(&self, text: &str);
    /// The current status, which replaces the previous one.
    fn status(&self, text: &str);
    /// Clears the status.
    fn idle(&self);
    /// Receives the progress of data preparation.
    fn preparation(&self) -> Box<dyn prepare::Progress>;
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn line(&self, _text: &str) {}
    fn status(&self, _text: &str) {}
    fn idle(&self) {}
    fn preparation(&self) -> Box<dyn prepare::Progress> {
        Box::new(prepare::Silent)
    }
}
