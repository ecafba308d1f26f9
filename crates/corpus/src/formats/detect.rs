//! Finds the format of a file from its name and its first lines.

use super::Format;
use super::file::TextFile;
use crate::Result;

/// The format of a file that is already read.
pub(super) fn format(file: &TextFile) -> Result<Format> {
    if let Some(at) = file.text.find('\0') {
        let remedy = "give a text file; of office and other binary formats, export the text";
        return Err(file.error(file.line_at(at), "this is not text").remedy(remedy));
    }
    Ok(Format::Lines)
}
