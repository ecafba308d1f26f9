//! What can go wrong in training.

use abridge_base::Kind;
use abridge_base::error::HasKind;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error in training.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A batch, configuration or weights that do not fit the network.
    #[error(transparent)]
    Model(#[from] abridge_model::Error),

    /// The data is wrong.
    #[error(transparent)]
    Corpus(#[from] abridge_corpus::Error),

    /// The recipe is wrong.
    #[error("recipe: {0}")]
    Recipe(String),

    /// A checkpoint or run directory cannot be used.
    #[error("{0}")]
    Checkpoint(String),

    /// An update was requested without batches.
    #[error("an update needs at least one batch")]
    EmptyUpdate,

    /// Threads or processes could not be started.
    #[error("cannot start the workers: {0}")]
    Workers(String),

    /// Something other than the loss could not be measured.
    #[error("validation: {0}")]
    Validation(String),

    /// Too many gradients in a row were not finite.
    #[error(
        "the gradients of {updates} updates in a row were not finite, the last at update {update} \
         (epoch {epoch}, batch {batch}); a lower optimisation.schedule.peak may help"
    )]
    NotFinite {
        /// How many.
        updates: u64,
        /// The last update.
        update: u64,
        /// Its epoch.
        epoch: u64,
        /// Its last batch.
        batch: usize,
    },
}

impl HasKind for Error {
    fn kind(&self) -> Kind {
        match self {
            Self::Model(error) => error.kind(),
            Self::Corpus(error) => error.kind(),
            Self::Checkpoint(_) => Kind::Model,
            Self::Recipe(_)
            | Self::EmptyUpdate
            | Self::Workers(_)
            | Self::Validation(_)
            | Self::NotFinite { .. } => Kind::Usage,
        }
    }
}
