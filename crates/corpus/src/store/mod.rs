//! One file of token ids per split: sentences and documents found by offset, mapped into memory.
//!
//! All numbers are little-endian. After a header of 128 bytes come these sections, without gaps:
//!
//! | section | content |
//! | --- | --- |
//! | documents | `u64` × (documents + 1): the first sentence of each document |
//! | source | `u64` × (sentences + 1): the first token of each sentence |
//! | target | the same for the translations, if there are any |
//! | names | `u64` × (documents + 1): the first byte of each document's name |
//! | source tokens, target tokens | `u32` each, without `</s>` |
//! | text of names | UTF-8 |
//!
//! The header holds the magic bytes, the version, these counts, the sizes of both vocabularies and
//! a SHA-256 of everything else, so that a damaged file gives an error, never a wrong batch.

mod content;
mod header;
mod map;
mod reader;
mod shard;

pub use content::{EncodedSide, StoreContent};
pub use reader::{Side, TokenStore};

#[cfg(test)]
mod tests;
