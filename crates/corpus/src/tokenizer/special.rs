//! The special tokens, and how pieces represent text.

pub use abridge_base::tokens::{BEGIN, BREAK, END, PAD, SPECIAL, UNKNOWN};

/// An unknown piece in decoded text, as in SentencePiece.
pub const UNKNOWN_SURFACE: &str = " \u{2047} ";

/// The mark for a space in pieces (▁).
pub const SPACE_MARK: char = '\u{2581}';
