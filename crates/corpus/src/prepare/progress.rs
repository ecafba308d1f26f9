//! Progress reports; the command line shows them as bars or as lines.

/// Receives progress reports.
pub trait Progress {
    /// A stage of `total` steps begins; the previous one, if any, is done.
    fn stage(&mut self, name: &str, total: u64);
    /// `done` steps of the stage are complete.
    fn reached(&mut self, done: u64);
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&mut self, _name: &str, _total: u64) {}
    fn reached(&mut self, _done: u64) {}
}
