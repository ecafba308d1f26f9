//! SentencePiece's own normalisation: a table from byte sequences to their replacement.
//!
//! The table inside a `.model` is a double-array trie of 32-bit units (the layout of Darts-clone)
//! followed by the replacements, each ended by a zero byte.

use super::protobuf::broken;
use crate::Result;

/// The compiled table of a normaliser; empty for the identity.
#[derive(Clone, Debug, Default)]
pub struct CharacterMap {
    units: Vec<u32>,
    replacements: String,
}

impl CharacterMap {
    /// Reads the `precompiled_charsmap` of a model.
    pub fn new(blob: &[u8]) -> Result<Self> {
        if blob.is_empty() {
            return Ok(Self::default());
        }
        let damaged = || broken("its character map is damaged");
        let (size, rest) = blob.split_first_chunk::<4>().ok_or_else(damaged)?;
        let size = u32::from_le_bytes(*size) as usize;
        if size > rest.len() || !size.is_multiple_of(4) {
            return Err(damaged());
        }
        let (trie, replacements) = rest.split_at(size);
        let units = trie.as_chunks::<4>().0.iter().map(|&unit| u32::from_le_bytes(unit)).collect();
        let replacements = std::str::from_utf8(replacements).map_err(|_| damaged())?.to_owned();
        Ok(Self { units, replacements })
    }

    /// The longest prefix of `text` in the table: its length in bytes, and its replacement.
    pub fn longest_prefix(&self, text: &str) -> Option<(usize, &str)> {
        let mut found = None;
        let mut position = offset(*self.units.first()?);
        for (index, &byte) in text.as_bytes().iter().enumerate() {
            position ^= usize::from(byte);
            let Some(&unit) = self.units.get(position) else { break };
            if unit & 0x8000_00FF != u32::from(byte) {
                break;
            }
            position ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let Some(&leaf) = self.units.get(position) else { break };
                found = Some((index + 1, leaf & 0x7FFF_FFFF));
            }
        }
        let (length, start) = found?;
        let replacement = self.replacements.get(start as usize..)?.split('\0').next()?;
        // A damaged table could end inside a character.
        text.is_char_boundary(length).then_some((length, replacement))
    }
}

/// The offset of the children of a unit.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize
}
