//! Files that are complete or as they were.

use std::path::Path;

use anyhow::Context;

/// Writes a file beside its name and renames it.
pub fn write_whole(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let part = file.with_file_name(format!(".{name}.part"));
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, file))
        .with_context(|| format!("cannot write {}", file.display()))
}
