//! Hears how an experiment goes.

use abridge_corpus::prepare;

/// Hears how an experiment goes; all of it may be ignored.
pub trait Observer: Sync {
    /// Something that is worth a line of its own.
    fn line(&self, text: &str);
    /// What goes on now, in place of what went on before.
    fn status(&self, text: &str);
    /// Nothing goes on until the next status.
    fn idle(&self);
    /// Hears how data is prepared.
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
