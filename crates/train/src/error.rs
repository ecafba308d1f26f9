//! What can go wrong in training.

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of training.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The network refused a batch, or its configuration.
    #[error(transparent)]
    Model(#[from] abridge_model::Error),

    /// The data is wrong.
    #[error(transparent)]
    Corpus(#[from] abridge_corpus::Error),

    /// An update was asked for with no batch.
    #[error("an update needs at least one batch")]
    EmptyUpdate,

    /// Threads could not be started.
    #[error("cannot start the workers: {0}")]
    Workers(String),
}
