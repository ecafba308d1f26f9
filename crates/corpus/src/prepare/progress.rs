//! What preparation tells while it works; the command line shows it as bars or as lines.

/// Hears about progress.
pub trait Progress {
    /// A stage of `total` steps begins; the one before it, if any, is done.
    fn stage(&mut self, name: &str, total: u64);
    /// So many steps of the stage are done.
    fn reached(&mut self, done: u64);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&mut self, _name: &str, _total: u64) {}
    fn reached(&mut self, _done: u64) {}
}
