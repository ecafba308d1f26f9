//! What can go wrong: a configuration, or a file of weights.

use std::path::PathBuf;

use abridge_base::Kind;
use abridge_base::error::HasKind;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that names what is wrong and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration is inconsistent, or is not valid TOML.
    #[error("configuration: {0}")]
    Config(String),

    /// A file of weights cannot be used.
    #[error("{}: {problem}", file.display())]
    Weights {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// A file or directory cannot be written.
    #[error(transparent)]
    File(#[from] abridge_base::Error),

    /// A device was requested that this build or this machine does not have, or it failed.
    #[error("{0}")]
    Device(String),

    /// A token, a sentence or a slot does not fit the model.
    #[error("{0}")]
    Input(String),
}

impl Error {
    /// A device that failed while it computed, most often because its memory is full.
    pub fn failed_device(reason: impl std::fmt::Display) -> Self {
        // The engine's reasons have many lines.
        let reason: Vec<String> =
            reason.to_string().split_whitespace().map(str::to_owned).collect();
        Self::Device(format!(
            "the device failed: {}; if its memory is full, use a smaller batches.max_tokens or fewer \
             --workers; or compute on another --device",
            reason.join(" ")
        ))
    }
}

impl HasKind for Error {
    fn kind(&self) -> Kind {
        match self {
            Self::Weights { .. } => Kind::Model,
            Self::File(error) => error.kind(),
            Self::Config(_) | Self::Device(_) | Self::Input(_) => Kind::Usage,
        }
    }
}
