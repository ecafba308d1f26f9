//! The five tokens that stand for no text, with the ids that fairseq gave them.

/// `<s>`: kept for its place in the vocabulary; no sentence contains it.
pub const BEGIN: u32 = 0;
/// `<pad>`: fills padded views; never part of a sentence.
pub const PAD: u32 = 1;
/// `</s>`: ends every sentence, and starts the decoder.
pub const END: u32 = 2;
/// `<unk>`: a piece of text that the vocabulary cannot spell.
pub const UNKNOWN: u32 = 3;
/// `<brk>`: stands between sentences where a model joins them into one sequence.
pub const BREAK: u32 = 4;

/// The spelling of the special tokens; the index is the id.
pub const SPECIAL: [&str; 5] = ["<s>", "<pad>", "</s>", "<unk>", "<brk>"];

/// What an unknown piece looks like in decoded text, as SentencePiece writes it.
pub const UNKNOWN_SURFACE: &str = " \u{2047} ";

/// The mark that stands for a space inside pieces (▁).
pub const SPACE_MARK: char = '\u{2581}';
