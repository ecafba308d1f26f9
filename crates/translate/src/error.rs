//! What can go wrong in translation.

use abridge_base::Kind;
use abridge_base::error::HasKind;

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of translation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model directory or a batch is wrong.
    #[error(transparent)]
    Model(#[from] abridge_model::Error),

    /// A tokenizer is wrong.
    #[error(transparent)]
    Corpus(#[from] abridge_corpus::Error),

    /// A sentence that is to be scored has more tokens than the model has positions.
    #[error(
        "sentence {sentence}, or one before it, has {tokens} tokens, but the model takes at most \
         {most}; split it"
    )]
    TooLong {
        /// The sentence, from 1.
        sentence: usize,
        /// The tokens.
        tokens: usize,
        /// The most that the model takes.
        most: usize,
    },

    /// The settings make no sense, or not with this model.
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
