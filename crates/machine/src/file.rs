//! Memory-mapped files.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;

use memmap2::Mmap;

/// The bytes of a file, mapped into memory as a slice; only pages that are accessed are read.
///
/// Our files are never changed in place but replaced as a whole, which does not affect a mapped
/// one. If another process truncates the file, access beyond the new end kills this process.
#[derive(Debug)]
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps a file, which may be removed while it is mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::map(&File::open(path)?)
    }

    /// Maps an open file, which may be closed and removed while it is mapped.
    pub fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and lives as long as the value. As with any mapped file, the
        // caller must ensure that nobody writes to it meanwhile; our files are replaced as a whole,
        // never changed in place. The content is validated like any other untrusted input.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(map))
    }

    /// Gives the memory of some bytes back to the system, for example after they were copied. They
    /// stay accessible, and are then read from the file again.
    pub fn release(&self, bytes: Range<usize>) {
        assert!(bytes.start <= bytes.end && bytes.end <= self.0.len(), "bytes of the file");
        #[cfg(unix)]
        if !bytes.is_empty() {
            use memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the range is in the map, which is read-only and of a file: what is dropped
            // has never changed, and any access finds the same bytes in the file. If the system
            // refuses, they just stay in memory.
            let _ = unsafe { self.0.unchecked_advise_range(DontNeed, bytes.start, bytes.len()) };
        }
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
        mapped.release(0..mapped.len());
        mapped.release(3..3);
        assert_eq!(&*mapped, b"still here");
        assert!(MappedFile::open(&path).is_err());
    }
}
