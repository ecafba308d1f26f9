//! Hashes that identify the file or set of a result.

use std::path::Path;

use abridge_base::hash::{self, Hasher};

/// The number of hash digits in signatures.
const SHOWN: usize = 12;

/// The beginning of a hash, as signatures show it.
pub(crate) fn short(hash: &str) -> &str {
    &hash[..hash.len().min(SHOWN)]
}

/// SHA-256 of texts, each with its length, in hexadecimal.
pub(crate) fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = Hasher::new();
    lines.for_each(|line| hasher.text(line));
    hasher.finish()
}

/// SHA-256 of a file, in hexadecimal.
pub(crate) fn of_file(path: &Path) -> abridge_base::Result<String> {
    Ok(hash::of_file(path)?.1)
}
