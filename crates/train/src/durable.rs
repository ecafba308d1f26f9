//! Files that are there whole or not at all, whatever happens in between.

use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes a new file and makes its content durable.
pub fn create(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Replaces a file in one step: written beside it, made durable, renamed.
pub fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.part"));
    let written = create(&beside, content).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The file itself is untouched; what was written beside it only takes space.
        let _ = fs::remove_file(&beside);
    }
    written?;
    path.parent().map_or(Ok(()), sync)
}

/// Makes the entries of a folder durable.
pub fn sync(folder: &Path) -> std::io::Result<()> {
    let here = Path::new(".");
    fs::File::open(if folder.as_os_str().is_empty() { here } else { folder })?.sync_all()
}
