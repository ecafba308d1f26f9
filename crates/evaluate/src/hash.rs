//! Hashes that say which file or which set a result is about.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// How much of a hash a signature shows.
const SHOWN: usize = 12;

/// The beginning of a hash, as signatures show it.
pub(crate) fn short(hash: &str) -> &str {
    &hash[..hash.len().min(SHOWN)]
}

/// SHA-256 of texts, each with its length, in hexadecimal.
pub(crate) fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for line in lines {
        hasher.update((line.len() as u64).to_le_bytes());
        hasher.update(line);
    }
    format!("{:x}", hasher.finalize())
}

/// SHA-256 of a file, in hexadecimal.
pub(crate) fn of_file(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format!("{:x}", hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}
