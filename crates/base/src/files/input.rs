//! Reading files.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use crate::{Error, Result};

/// Opens a file, but not a device, FIFO or socket, which may never end.
pub fn open_regular(path: &Path) -> Result<File> {
    // Checked before opening, because opening a FIFO waits for a writer.
    let failed = |error| Error::io("read", path, error);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(Error::new("is a directory").in_file(path).remedy("name a file in it"));
    }
    if let Some(kind) = kind_of_special(&metadata) {
        return Err(Error::new(format!("is {kind}, not a file")).in_file(path));
    }
    File::open(path).map_err(failed)
}

/// Reads a whole regular file of at most `most` bytes; see [`open_regular`].
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_regular(path)?;
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Error::io("read", path, error))?;
    if bytes.len() as u64 > most {
        let mebibytes = most >> 20;
        return Err(
            Error::new(format!("larger than {mebibytes} MiB; not the expected file")).in_file(path)
        );
    }
    Ok(bytes)
}

/// Like [`read_regular`], for text.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    String::from_utf8(read_regular(path, most)?)
        .map_err(|_| Error::new("is not UTF-8 text").in_file(path))
}

/// The kind of a special file; `None` for files and directories.
pub fn kind_of_special(metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_file() || metadata.is_dir() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return Some("a FIFO");
        } else if kind.is_socket() {
            return Some("a socket");
        }
    }
    Some("a device")
}
