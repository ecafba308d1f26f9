//! Reads a file line by line.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::bytes::{self, Bytes};
use super::file::BYTE_ORDER_MARK;
use crate::{Error, Result};

/// The longest line; without a limit, a file without newlines would fill the memory.
const LONGEST_LINE: usize = 16 << 20;

/// Reads one line after the other; only the current one is in memory.
pub(super) struct LineReader {
    pub path: PathBuf,
    bytes: Bytes,
    /// The number of the current line, from 1.
    pub number: usize,
    line: Vec<u8>,
}

impl LineReader {
    /// Opens a file; `read` counts its bytes.
    pub fn open(path: &Path, read: &Arc<AtomicU64>) -> Result<Self> {
        let bytes = bytes::open(path, read)?;
        Ok(Self { path: path.to_path_buf(), bytes, number: 0, line: Vec::new() })
    }

    /// The beginning of the file, as far as it is buffered.
    pub fn beginning(&mut self) -> Result<String> {
        let start = self.bytes.reader.fill_buf();
        let start = start.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        start.map_err(|error| self.failed(error))
    }

    /// Advances to the next line; false at the end of the file. As when a file is read at once,
    /// `\r\n` also ends a line, and the last line need not be terminated.
    pub fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        let mut ended = false;
        while !ended {
            let block = match self.bytes.reader.fill_buf() {
                Ok(block) => block,
                Err(error) => return Err(self.failed(error)),
            };
            if block.is_empty() {
                break;
            }
            let end = block.iter().position(|&byte| byte == b'\n');
            let taken = end.unwrap_or(block.len());
            self.line.extend_from_slice(&block[..taken]);
            ended = end.is_some();
            self.bytes.reader.consume(taken + usize::from(ended));
            if self.line.len() > LONGEST_LINE {
                let mebibytes = LONGEST_LINE >> 20;
                self.number += 1;
                return Err(self
                    .error(format!("a line of more than {mebibytes} MiB"))
                    .remedy("check that it is a file of text with a sentence per line"));
            }
        }
        if !ended && self.line.is_empty() {
            return Ok(false);
        }
        if ended && self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        self.number += 1;
        if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK.as_bytes()) {
            self.line.drain(..BYTE_ORDER_MARK.len());
            // A file with only a byte order mark has no lines.
            return Ok(ended || !self.line.is_empty());
        }
        Ok(true)
    }

    /// The text of the current line.
    pub fn text(&self) -> Result<&str> {
        let text = std::str::from_utf8(&self.line).map_err(|_| {
            let utf16 =
                self.number == 1 && matches!(self.line.get(..2), Some([0xff, 0xfe] | [0xfe, 0xff]));
            let encoding = if utf16 { "it looks like UTF-16; " } else { "" };
            self.error("invalid UTF-8")
                .remedy(format!("{encoding}convert the file to UTF-8, for instance with iconv"))
        })?;
        if text.contains('\0') {
            let remedy = "give a text file; export the text from office and other binary formats";
            return Err(self.error("this is not text").remedy(remedy));
        }
        Ok(text)
    }

    /// An error at the current line.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::new(problem).in_file(&self.path).at_line(self.number.max(1))
    }

    fn failed(&self, error: std::io::Error) -> Error {
        match self.bytes.compression {
            Some(kind) => Error::new(format!("the {kind} data is truncated or damaged"))
                .in_file(&self.path)
                .at_line(self.number + 1)
                .remedy("fetch the file again")
                .caused_by(error),
            None => Error::io("read", &self.path, error),
        }
    }
}
