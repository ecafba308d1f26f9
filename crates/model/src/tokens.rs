//! The special tokens that every vocabulary starts with.

/// Begins a sentence in other systems; never used here, but it has a row.
pub const START: u32 = 0;
/// Fills batches up in systems that pad; its source embedding stays zero.
pub const PAD: u32 = 1;
/// Ends every sentence, and starts every translation.
pub const END: u32 = 2;
/// Stands for what the vocabulary does not know.
pub const UNKNOWN: u32 = 3;
/// Separates the sentences of a joined context.
pub const BREAK: u32 = 4;

/// How many special tokens there are; ordinary pieces start here.
pub const SPECIAL_TOKENS: usize = 5;
