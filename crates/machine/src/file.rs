//! Files that are read by looking at them.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// The bytes of a file, mapped into memory: a slice, of which only what is looked at is read.
///
/// Files of ours are never changed in place but replaced as a whole, which leaves a mapped one as it
/// was. Another process that cuts it short ends this one when it looks beyond the new end.
#[derive(Debug)]
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps a file, which may be closed and removed while it is mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::map(&File::open(path)?)
    }

    /// Maps an open file, which may be closed and removed while it is mapped.
    pub fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and lives as long as the value. That nobody writes into the
        // file meanwhile is up to who names it, as with any mapped file: ours are replaced as a
        // whole, never in place. What is read is checked as what comes from outside always is.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(map))
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_outlives_its_name() {
        let path = std::env::temp_dir().join(format!("abridge-mapped-{}", std::process::id()));
        std::fs::write(&path, b"still here").expect("write");
        let mapped = MappedFile::open(&path).expect("map");
        std::fs::remove_file(&path).expect("remove");
        assert_eq!(&*mapped, b"still here");
        assert!(MappedFile::open(&path).is_err());
    }
}
