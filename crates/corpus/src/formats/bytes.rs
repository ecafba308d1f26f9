//! The bytes of a file as a stream, decompressed on the fly; nothing is kept in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::archive::Member;
use super::file::{GZIP, TextFile};
use super::{archive, zstandard};
use crate::{Error, Result};

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 18;

/// The file name that means standard input.
pub const STANDARD_INPUT: &str = "-";

/// A reader, and the compression that it decodes, for errors.
pub(super) struct Bytes {
    pub reader: Box<dyn BufRead + Send>,
    pub compression: Option<&'static str>,
}

/// Opens a file, standard input as `-`, or a member of an archive; `read` counts the bytes of the file
/// itself.
pub(super) fn open(path: &Path, read: &Arc<AtomicU64>) -> Result<Bytes> {
    let mut bytes = if let Some(member) = open_member(path)? {
        member
    } else if path.as_os_str() == STANDARD_INPUT || path.is_file() {
        open_file(path, read)?
    } else {
        // A member of an archive in an archive, or an error that says what is wrong.
        let text = TextFile::read(path)?.text;
        return Ok(Bytes { reader: Box::new(io::Cursor::new(text)), compression: None });
    };
    // The reader reports a damaged beginning, with its line.
    if bytes.reader.fill_buf().is_ok_and(archive::is_archive) {
        TextFile::read(path)?;
    }
    Ok(bytes)
}

/// The files of an archive; none if it is something else.
pub(super) fn members(archive: &Path) -> Result<Vec<Member>> {
    let mut bytes = open_file(archive, &Arc::default())?;
    match bytes.reader.fill_buf() {
        Ok(start) if archive::is_archive(start) => archive::members(bytes.reader, archive),
        _ => Ok(Vec::new()),
    }
}

/// Opens a member of an archive that is not in another one: the archive is read twice, to find the
/// member and to get there, but not kept.
fn open_member(path: &Path) -> Result<Option<Bytes>> {
    let Some((archive, rest)) = archive::around(path) else { return Ok(None) };
    let found = members(archive)?.into_iter().find(|member| member.is_named(rest));
    let Some(Member { start, size, .. }) = found else { return Ok(None) };
    let mut bytes = open_file(archive, &Arc::default())?;
    io::copy(&mut bytes.reader.by_ref().take(start), &mut io::sink())
        .map_err(|error| Error::io("read", archive, error))?;
    let member = decompressed(bytes.reader.take(size), path)?;
    Ok(Some(Bytes { compression: member.compression.or(bytes.compression), ..member }))
}

fn open_file(path: &Path, read: &Arc<AtomicU64>) -> Result<Bytes> {
    let raw: Box<dyn Read + Send> = if path.as_os_str() == STANDARD_INPUT {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(|error| Error::io("read", path, error))?)
    };
    let counted = Counted { inner: raw, count: Arc::clone(read) };
    decompressed(BufReader::with_capacity(BLOCK, counted), path)
}

/// Undoes gzip or Zstandard, as the first bytes say.
fn decompressed(mut raw: impl BufRead + Send + 'static, path: &Path) -> Result<Bytes> {
    let start = raw.fill_buf().map_err(|error| Error::io("read", path, error))?;
    let (reader, compression): (Box<dyn BufRead + Send>, _) = if start.starts_with(GZIP) {
        let decoder = flate2::bufread::MultiGzDecoder::new(raw);
        (Box::new(BufReader::with_capacity(BLOCK, Sticky::new(decoder))), Some("gzip"))
    } else if zstandard::is_frame(start) {
        let source = Source { ahead: Vec::new(), inner: Box::new(raw) };
        let frames = Frames { state: Some(State::Between(source)) };
        (Box::new(BufReader::with_capacity(BLOCK, Sticky::new(frames))), Some("Zstandard"))
    } else if path.extension().is_some_and(|ending| ending == "gz" || ending == "zst") {
        // For its error message.
        TextFile::read(path)?;
        (Box::new(raw), None)
    } else {
        (Box::new(raw), None)
    };
    Ok(Bytes { reader, compression })
}

/// Repeats an error on every further read: after an error, a decoder may report the end of file.
struct Sticky<R> {
    inner: R,
    problem: Option<(io::ErrorKind, String)>,
}

impl<R> Sticky<R> {
    fn new(inner: R) -> Self {
        Self { inner, problem: None }
    }
}

impl<R: Read> Read for Sticky<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some((kind, problem)) = &self.problem {
            return Err(io::Error::new(*kind, problem.clone()));
        }
        self.inner.read(buffer).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.problem = Some((error.kind(), error.to_string()));
            }
        })
    }
}

/// Counts the bytes that are read.
pub(super) struct Counted<R> {
    pub inner: R,
    pub count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A byte source with lookahead.
struct Source {
    /// Bytes that were peeked but not yet read.
    ahead: Vec<u8>,
    inner: Box<dyn BufRead + Send>,
}

impl Source {
    /// The next `count` bytes, or all that are left.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.ahead.len() < count {
            let block = self.inner.fill_buf()?;
            if block.is_empty() {
                break;
            }
            let taken = block.len().min(count - self.ahead.len());
            self.ahead.extend_from_slice(&block[..taken]);
            self.inner.consume(taken);
        }
        Ok(&self.ahead)
    }

    /// Reads and discards `count` bytes.
    fn skip(&mut self, count: u64) -> io::Result<()> {
        if io::copy(&mut self.take(count), &mut io::sink())? < count {
            return Err(damaged("it is cut off".into()));
        }
        Ok(())
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            return self.inner.read(buffer);
        }
        let taken = self.ahead.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&self.ahead[..taken]);
        self.ahead.drain(..taken);
        Ok(taken)
    }
}

type Decoder = ruzstd::decoding::StreamingDecoder<Source, ruzstd::decoding::FrameDecoder>;

/// A reader of the frames of a Zstandard file.
struct Frames {
    state: Option<State>,
}

enum State {
    Between(Source),
    Inside(Frame),
}

/// A frame that is being read.
struct Frame {
    decoder: Box<Decoder>,
    /// The content size in its header.
    content: Option<u64>,
    read: u64,
}

impl Frame {
    /// Rejects a frame that ended too early.
    fn check_end(&self) -> Result<(), String> {
        if !self.decoder.decoder.is_finished() {
            return Err("it is cut off".into());
        }
        if self.content.is_some_and(|expected| expected != self.read) {
            return Err(format!("{} bytes, but its header says {:?}", self.read, self.content));
        }
        zstandard::check_sum(&self.decoder.decoder)
    }
}

fn damaged(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state.take() {
                None => return Ok(0),
                Some(State::Between(mut source)) => {
                    let start = source.peek(zstandard::LONGEST_HEADER)?;
                    if start.is_empty() {
                        return Ok(0);
                    }
                    if let Some(size) = zstandard::skippable(start) {
                        source.skip(zstandard::SKIPPABLE_HEADER as u64 + u64::from(size))?;
                        self.state = Some(State::Between(source));
                        continue;
                    }
                    zstandard::check_window(start).map_err(damaged)?;
                    let content = zstandard::content_size(start);
                    let decoder =
                        Decoder::new(source).map_err(|error| damaged(error.to_string()))?;
                    let decoder = Box::new(decoder);
                    self.state = Some(State::Inside(Frame { decoder, content, read: 0 }));
                }
                Some(State::Inside(mut frame)) => {
                    let read = frame.decoder.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        frame.read += read as u64;
                        self.state = Some(State::Inside(frame));
                        return Ok(read);
                    }
                    frame.check_end().map_err(damaged)?;
                    self.state = Some(State::Between(frame.decoder.into_inner()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut bytes = open(path, &Arc::default()).ok()?;
        bytes.reader.read_to_end(&mut text).ok().map(|_| text)
    }

    #[test]
    fn streamed_zstandard_is_checked_like_a_whole_file() {
        let frame = include_bytes!("../../tests/fixtures/zstandard/lines.zst");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines.zst");
        std::fs::write(&path, frame).unwrap();
        let text = read(&path).unwrap();
        assert_eq!(text, zstandard::decode(frame, 1 << 24).unwrap());
        let mut refused = 0;
        for bit in (0..frame.len() * 8).step_by(7) {
            let mut damaged = frame.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, damaged).unwrap();
            match read(&path) {
                Some(found) => assert_eq!(found, text, "bit {bit}"),
                None => refused += 1,
            }
        }
        assert!(refused > frame.len(), "{refused}");
        std::fs::write(&path, &frame[..frame.len() - 1]).unwrap();
        assert!(read(&path).is_none());
    }

    #[test]
    fn skippable_frames_are_skipped_anywhere() {
        let frame = include_bytes!("../../tests/fixtures/zstandard/lines.zst");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines.zst");
        let text = zstandard::decode(frame, 1 << 24).unwrap();
        // Longer than a block, and ending just before the end of a block.
        for size in [0, 3, BLOCK - 20, 3 * BLOCK] {
            let mut empty = vec![0x53, 0x2a, 0x4d, 0x18];
            empty.extend((size as u32).to_le_bytes());
            empty.resize(empty.len() + size, 7);
            let all = [&empty, &frame[..], &empty, &empty, frame, &empty].concat();
            std::fs::write(&path, &all).unwrap();
            assert_eq!(read(&path).unwrap(), [&text[..], &text].concat(), "{size}");
            assert_eq!(TextFile::read(&path).unwrap().text.into_bytes(), text.repeat(2));
            if size > 0 {
                std::fs::write(&path, &all[..all.len() - 1]).unwrap();
                assert!(read(&path).is_none(), "a cut in a skippable frame, {size}");
            }
        }
    }

    #[test]
    fn rejects_a_window_of_terabytes_even_at_the_end_of_a_block() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("window.zst");
        let size = BLOCK - zstandard::SKIPPABLE_HEADER - 5;
        let mut bytes = vec![0x50, 0x2a, 0x4d, 0x18];
        bytes.extend((size as u32).to_le_bytes());
        bytes.resize(bytes.len() + size, 7);
        bytes.extend(zstandard::MAGIC);
        bytes.extend([0, 0xff, 1, 0, 0]);
        std::fs::write(&path, &bytes).unwrap();
        let mut opened = open(&path, &Arc::default()).unwrap();
        let error = opened.reader.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("a window of"), "{error}");
    }
}
