//! The special tokens that every vocabulary starts with, with the ids that fairseq gave them.

/// `<s>`: begins a sentence in other systems; never used here, but it has a row.
pub const BEGIN: u32 = 0;
/// `<pad>`: fills up batches in systems that pad; its source embedding stays zero.
pub const PAD: u32 = 1;
/// `</s>`: ends every sentence, and starts every translation.
pub const END: u32 = 2;
/// `<unk>`: text that the vocabulary cannot spell.
pub const UNKNOWN: u32 = 3;
/// `<brk>`: separates the sentences of a joined context.
pub const BREAK: u32 = 4;

/// How the special tokens are spelled; the index is the id.
pub const SPECIAL: [&str; 5] = ["<s>", "<pad>", "</s>", "<unk>", "<brk>"];

/// How many special tokens there are; ordinary pieces start here.
pub const SPECIAL_TOKENS: usize = SPECIAL.len();
