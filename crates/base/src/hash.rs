//! SHA-256 of files, bytes and sequences of strings.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::files::open_regular;
use crate::{Error, Result};

/// An incremental hash.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// A hash of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// Adds a string, prefixed with its length, so that `a`, `bc` differs from `ab`, `c`.
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.update(text);
    }

    /// Adds a number.
    pub fn count(&mut self, count: usize) {
        self.update((count as u64).to_le_bytes());
    }

    /// The hash in hexadecimal.
    pub fn finish(self) -> String {
        format!("{:x}", self.0.finalize())
    }
}

/// The hash of some bytes, in hexadecimal.
pub fn of_bytes(bytes: impl AsRef<[u8]>) -> String {
    let mut hasher = Hasher::new();
    hasher.update(bytes);
    hasher.finish()
}

/// The hash of the concatenated parts, as bytes.
pub fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.0.finalize().into()
}

/// The size and the hash of a regular file.
pub fn of_file(path: &Path) -> Result<(u64, String)> {
    of_file_with(path, &mut |_| {})
}

/// The same for a file that may be large; `reached` gets the number of bytes so far.
pub fn of_file_with(path: &Path, reached: &mut dyn FnMut(u64)) -> Result<(u64, String)> {
    let mut file = open_regular(path)?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    let mut size = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((size, hasher.finish())),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                size += count as u64;
                reached(size);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_sha_256() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes("abc"), abc);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("abc");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(of_file(&file).unwrap(), (3, abc.to_owned()));
    }

    #[test]
    fn boundaries_between_strings_matter() {
        let of = |texts: &[&str]| {
            let mut hasher = Hasher::new();
            for text in texts {
                hasher.text(text);
            }
            hasher.finish()
        };
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
    }
}
