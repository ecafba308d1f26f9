//! The first 128 bytes of a token store, and where everything after them is.

use std::ops::Range;

use abridge_base::hash::digest;

/// Bytes of the header.
pub const SIZE: usize = 128;
const MAGIC: &[u8; 8] = b"abridge\0";
const VERSION: u32 = 1;
const HAS_TARGET: u32 = 1;

/// The counts that determine the layout of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub has_target: bool,
    pub documents: u64,
    pub sentences: u64,
    pub source_tokens: u64,
    pub target_tokens: u64,
    pub name_bytes: u64,
    pub source_vocabulary: u64,
    pub target_vocabulary: u64,
}

/// Where the sections are, in bytes from the start of the file.
#[derive(Clone, Debug)]
pub struct Layout {
    pub documents: Range<usize>,
    pub source_offsets: Range<usize>,
    pub target_offsets: Range<usize>,
    pub name_offsets: Range<usize>,
    pub source_tokens: Range<usize>,
    pub target_tokens: Range<usize>,
    pub names: Range<usize>,
}

impl Header {
    /// The header as bytes, with the hash that covers both it and the rest of the file.
    pub fn to_bytes(self, payload: &[u8]) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let flags = if self.has_target { HAS_TARGET } else { 0 };
        bytes[12..16].copy_from_slice(&flags.to_le_bytes());
        for (index, count) in self.counts().into_iter().enumerate() {
            bytes[16 + 8 * index..24 + 8 * index].copy_from_slice(&count.to_le_bytes());
        }
        let hash = hash(&bytes[..96], payload);
        bytes[96..].copy_from_slice(&hash);
        bytes
    }

    /// Reads the header of a whole file and checks that it fits the size; the error is the reason.
    pub fn read(file: &[u8]) -> Result<(Self, Layout), String> {
        let Some(head) = file.get(..SIZE) else {
            return Err(format!("it has {} bytes, fewer than its header", file.len()));
        };
        if head[..8] != *MAGIC {
            return Err("it is not a token store".into());
        }
        let version = u32_at(head, 8);
        if version != VERSION {
            return Err(format!("its version is {version}; this program reads {VERSION}"));
        }
        let count = |index: usize| u64_at(head, 16 + 8 * index);
        let header = Self {
            has_target: u32_at(head, 12) & HAS_TARGET != 0,
            documents: count(0),
            sentences: count(1),
            source_tokens: count(2),
            target_tokens: count(3),
            name_bytes: count(4),
            source_vocabulary: count(5),
            target_vocabulary: count(6),
        };
        let layout = header.layout().ok_or("its header claims impossible sizes")?;
        if layout.names.end != file.len() {
            return Err(format!(
                "it has {} bytes, but its header says {}",
                file.len(),
                layout.names.end
            ));
        }
        Ok((header, layout))
    }

    /// Whether the hash in the header of a file is that of the file.
    pub fn is_true_of(file: &[u8]) -> bool {
        let (head, payload) = file.split_at(SIZE);
        hash(&head[..96], payload) == head[96..]
    }

    /// Where the sections are; `None` if that is beyond what a file can hold.
    pub fn layout(self) -> Option<Layout> {
        let mut end = SIZE as u64;
        let mut section = |count: u64, size: u64| {
            let start = end;
            end = start.checked_add(count.checked_mul(size)?)?;
            Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
        };
        let documents = self.documents.checked_add(1)?;
        let sentences = self.sentences.checked_add(1)?;
        Some(Layout {
            documents: section(documents, 8)?,
            source_offsets: section(sentences, 8)?,
            target_offsets: section(if self.has_target { sentences } else { 0 }, 8)?,
            name_offsets: section(documents, 8)?,
            source_tokens: section(self.source_tokens, 4)?,
            target_tokens: section(self.target_tokens, 4)?,
            names: section(self.name_bytes, 1)?,
        })
    }

    fn counts(self) -> [u64; 7] {
        [
            self.documents,
            self.sentences,
            self.source_tokens,
            self.target_tokens,
            self.name_bytes,
            self.source_vocabulary,
            self.target_vocabulary,
        ]
    }
}

/// The number at a byte position, which must be in bounds.
pub fn u64_at(bytes: &[u8], position: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[position..position + 8]);
    u64::from_le_bytes(number)
}

fn u32_at(bytes: &[u8], position: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[position..position + 4]);
    u32::from_le_bytes(number)
}

fn hash(head: &[u8], payload: &[u8]) -> [u8; 32] {
    digest(&[head, payload])
}
