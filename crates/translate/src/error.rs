//! Errors of translation.

use abridge_base::Kind;
use abridge_base::error::HasKind;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of translation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error in the model directory or a batch.
    #[error(transparent)]
    Model(#[from] abridge_model::Error),

    /// An error in a tokenizer.
    #[error(transparent)]
    Corpus(#[from] abridge_corpus::Error),

    /// A given sentence has more tokens than the model has positions.
    #[error(
        "sentence {sentence}, or one in its context, has {tokens} tokens, but the model takes at \
         most {most}; split it"
    )]
    TooLong {
        /// The sentence, from 1.
        sentence: usize,
        /// The number of tokens.
        tokens: usize,
        /// The model's limit.
        most: usize,
    },

    /// The settings are invalid, or do not fit the model.
    #[error("{0}")]
    Settings(String),

    /// A stored session cannot be used.
    #[error("{0}")]
    Session(String),

    /// The caller stopped the translation.
    #[error("stopped")]
    Stopped,
}

impl HasKind for Error {
    fn kind(&self) -> Kind {
        match self {
            Self::Model(error) => error.kind(),
            Self::Corpus(error) => error.kind(),
            Self::TooLong { .. } => Kind::Data,
            Self::Settings(_) | Self::Session(_) | Self::Stopped => Kind::Usage,
        }
    }
}
