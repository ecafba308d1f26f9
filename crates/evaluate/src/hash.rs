//! Hashes that say which file or which set a result is about.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

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
