//! The special tokens, and how pieces stand for text.

pub use abridge_base::tokens::{BEGIN, BREAK, END, PAD, SPECIAL, UNKNOWN};

/// What an unknown piece looks like in decoded text, as SentencePiece writes it.
pub const UNKNOWN_SURFACE: &str = " \u{2047} ";

/// The mark that stands for a space inside pieces (▁).
pub const SPACE_MARK: char = '\u{2581}';
