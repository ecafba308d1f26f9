//! The bytes of a file: mapped if they come from a path, owned if they were made in memory.

use std::ops::Deref;
use std::path::Path;

use abridge_machine::file::MappedFile;

use crate::{Error, Result};

/// Bytes that can be read like a slice.
#[derive(Debug)]
pub enum Bytes {
    Mapped(MappedFile),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps a file into memory.
    pub fn map(path: &Path) -> Result<Self> {
        let file = abridge_base::files::open_regular(path)?;
        MappedFile::map(&file).map(Self::Mapped).map_err(|error| Error::io("open", path, error))
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
