//! The bytes of a file: mapped where they came from a path, owned where they were made in memory.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::{Error, Result};

/// Bytes that can be read like a slice.
#[derive(Debug)]
pub enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps a file into memory.
    pub fn map(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
        // SAFETY: the map is read-only. Another process that shrinks the file while it is mapped
        // could stop this one; `prepare` never changes a store in place but replaces whole
        // directories, which leaves the mapped file alive.
        #[expect(unsafe_code, reason = "mapping a file is unsafe by nature")]
        let map = unsafe { Mmap::map(&file) };
        map.map(Self::Mapped).map_err(|error| Error::io("map", path, error))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}
