//! What can go wrong in translation.

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

    /// A sentence has more tokens than the model has positions.
    #[error(
        "sentence {sentence} has {tokens} tokens, but the model takes at most {most}; split it"
    )]
    TooLong {
        /// The sentence of its document, from 1.
        sentence: usize,
        /// Its tokens.
        tokens: usize,
        /// The most that the model takes.
        most: usize,
    },
}
