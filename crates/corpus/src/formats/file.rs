//! A text file: plain, gzip or Zstandard, or a member of a tar archive.
//!
//! Compression is recognised by its first bytes, which cannot begin a UTF-8 text, so a wrong name
//! does no harm. A member of an archive is named by a path through the archive:
//! `en-de.tgz/train.tags.en-de.en`.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use abridge_base::files::kind_of_special;

use super::{archive, zstandard};
use crate::{Error, Result};

/// The largest file that is read, after decompression. Text is held in memory, and without a limit
/// a few bytes of gzip can expand to any amount.
const LARGEST_FILE: u64 = 8 << 30;

/// The byte order mark that some editors write at the start of a file.
pub(super) const BYTE_ORDER_MARK: &str = "\u{feff}";

pub(super) const GZIP: &[u8] = &[0x1f, 0x8b];

/// The limit for a terminal or anything else on standard input that is neither a file nor a pipe.
const LARGEST_DEVICE: u64 = 64 << 20;

/// The largest expansion factor. Text compresses to a tenth; more than this is a decompression
/// bomb.
const LARGEST_GROWTH: u64 = 200;
/// Up to this size, any expansion factor is accepted.
const HARMLESS: u64 = 64 << 20;

/// The text of a file, and its name for error messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextFile {
    pub path: PathBuf,
    pub text: String,
}

impl TextFile {
    /// Reads and decompresses a file, and checks that it is UTF-8.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_bytes(path, read_bytes(path)?)
    }

    /// A text file from bytes that are already in memory.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path: path.to_path_buf(), text }),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let line = count_newlines(&error.as_bytes()[..valid]) + 1;
                let encoding = if utf16 { "it looks like UTF-16; " } else { "" };
                Err(Error::new("invalid UTF-8").in_file(path).at_line(line).remedy(format!(
                    "{encoding}convert the file to UTF-8, for instance with iconv"
                )))
            }
        }
    }

    /// The file's name without directories and without `.gz` or `.zst`.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        without_compression(&name).to_owned()
    }

    /// The length of the byte order mark, or 0.
    pub fn start(&self) -> usize {
        if self.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
    }

    /// The byte ranges of the lines, without line endings (`\n` or `\r\n`) and the byte order mark.
    /// The last line counts even if it is not terminated.
    pub fn lines(&self) -> Vec<Range<usize>> {
        let mut lines = Vec::new();
        let mut start = self.start();
        while start < self.text.len() {
            let end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
            let ended = end < self.text.len();
            let carriage_return = ended && self.text[start..end].ends_with('\r');
            lines.push(start..end - usize::from(carriage_return));
            start = end + 1;
        }
        lines
    }

    /// The line, counted from 1, that holds the byte at `offset`.
    pub fn line_at(&self, offset: usize) -> usize {
        count_newlines(&self.text.as_bytes()[..offset.min(self.text.len())]) + 1
    }

    /// An error at a line of this file.
    pub fn error(&self, line: usize, problem: impl Into<String>) -> Error {
        Error::new(problem).in_file(&self.path).at_line(line)
    }
}

/// Counts lines while moving forward through a text.
#[derive(Debug, Default)]
pub(super) struct LineCounter {
    offset: usize,
    newlines: usize,
}

impl LineCounter {
    /// The line, counted from 1, at `offset`, which must not be before that of the last call.
    pub fn line_at(&mut self, text: &str, offset: usize) -> usize {
        let offset = offset.clamp(self.offset, text.len().max(self.offset));
        self.newlines += count_newlines(&text.as_bytes()[self.offset..offset]);
        self.offset = offset;
        self.newlines + 1
    }
}

/// A file name without its compression suffix.
pub(super) fn without_compression(name: &str) -> &str {
    name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name)
}

/// The number of newlines in a text.
pub(super) fn count_newlines(bytes: &[u8]) -> usize {
    // A newline byte is never part of another character, so no decoding is needed.
    bytes.split(|byte| *byte == b'\n').count() - 1
}

fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    if path.is_dir() {
        return Err(Error::new("is a directory").in_file(path).remedy("name a file in it"));
    }
    if let Some((archive, member)) = archive::around(path) {
        return archive::member(&decompress(read_raw(archive)?, archive)?, archive, member);
    }
    let bytes = decompress(read_raw(path)?, path)?;
    if archive::is_archive(&bytes) {
        return Err(archive::member_missing(&bytes, path));
    }
    Ok(bytes)
}

/// A file, a pipe (`<(…)` of a shell is one), or standard input; not a device, which may never end.
fn read_raw(path: &Path) -> Result<Vec<u8>> {
    let failed = |error| Error::io("read", path, error);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    let is_standard_input = path == Path::new("/dev/stdin");
    let special = kind_of_special(&metadata);
    if let Some(kind) = special.filter(|kind| *kind != "a FIFO" && !is_standard_input) {
        return Err(Error::new(format!("is {kind}, not a file")).in_file(path));
    }
    let most = if special == Some("a device") { LARGEST_DEVICE } else { LARGEST_FILE };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > most { Err(too_large(path, most)) } else { Ok(bytes) }
}

/// Decompresses gzip or Zstandard, recognised by the first bytes.
pub(super) fn decompress(bytes: Vec<u8>, path: &Path) -> Result<Vec<u8>> {
    let most = bytes.len() as u64 * LARGEST_GROWTH;
    let most = most.clamp(HARMLESS, LARGEST_FILE);
    if bytes.starts_with(GZIP) {
        decompress_gzip(&bytes, path, most)
    } else if zstandard::is_frame(&bytes) {
        zstandard::decode(&bytes, most).map_err(|refused| {
            if refused.is_too_large {
                return too_large(path, most);
            }
            broken("Zstandard", path, &refused.decoded).caused_by(refused.problem)
        })
    } else if path.extension().is_some_and(|ending| ending == "gz" || ending == "zst") {
        let problem = "the name says compressed, but the content is not";
        Err(Error::new(problem).in_file(path).remedy("fetch the file again or rename it"))
    } else {
        Ok(bytes)
    }
}

fn decompress_gzip(bytes: &[u8], path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let reader = flate2::read::MultiGzDecoder::new(bytes);
    if let Err(error) = reader.take(most + 1).read_to_end(&mut text) {
        return Err(broken("gzip", path, &text).caused_by(error));
    }
    if text.len() as u64 > most { Err(too_large(path, most)) } else { Ok(text) }
}

fn broken(kind: &str, path: &Path, decoded: &[u8]) -> Error {
    Error::new(format!("the {kind} data is truncated or damaged"))
        .in_file(path)
        .at_line(count_newlines(decoded) + 1)
        .remedy("fetch the file again")
}

fn too_large(path: &Path, most: u64) -> Error {
    let problem = format!("more than {} MiB of text", most >> 20);
    let remedy = if most < LARGEST_FILE {
        "it looks like a decompression bomb; if it is not, decompress it first"
    } else {
        "split the file at a document boundary"
    };
    Error::new(problem).in_file(path).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstandard(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn file(text: &str) -> TextFile {
        TextFile { path: "x".into(), text: text.into() }
    }

    #[test]
    fn lines_have_no_line_endings() {
        let file = file("\u{feff}one\r\n\ntwo\rthree\nlast");
        let lines: Vec<_> = file.lines().into_iter().map(|range| &file.text[range]).collect();
        assert_eq!(lines, ["one", "", "two\rthree", "last"]);
        assert_eq!(file.line_at(file.text.find("last").unwrap()), 4);
    }

    #[test]
    fn an_unterminated_last_line_counts() {
        assert_eq!(file("").lines().len(), 0);
        assert_eq!(file("\n").lines().len(), 1);
        assert_eq!(file("a").lines().len(), 1);
        assert_eq!(file("a\n").lines().len(), 1);
        assert_eq!(file("a\n\n").lines().len(), 2);
    }

    #[test]
    fn invalid_utf8_is_named_with_its_line() {
        let error = TextFile::from_bytes(Path::new("a.en"), b"fine\nw\xffrong\n".to_vec());
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("a.en:2: invalid UTF-8; convert"), "{message}");
        let error = TextFile::from_bytes(Path::new("a.en"), b"\xff\xfea\0".to_vec());
        assert!(error.unwrap_err().to_string().contains("UTF-16"));
    }

    #[test]
    fn truncated_gzip_is_named_with_its_line() {
        let lines: Vec<_> = (0..2000).map(|i| format!("sentence {i} of {}", i * 7919)).collect();
        let text = lines.join("\n");
        let whole = gzip(text.as_bytes());
        for kept in [2, 3, 9, 17, whole.len() / 2, whole.len() - 1] {
            let error = decompress(whole[..kept].to_vec(), Path::new("a.en.gz")).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("the gzip data is truncated or damaged"), "{message}");
            assert!(message.starts_with("a.en.gz:"), "{message}");
        }
        let message = decompress(whole[..whole.len() / 2].to_vec(), Path::new("a.gz"))
            .unwrap_err()
            .to_string();
        let line: usize = message.split(':').nth(1).unwrap().parse().unwrap();
        assert!(line > 100, "the line is that of the text: {message}");
    }

    #[test]
    fn decompression_bombs_are_rejected() {
        let newlines = vec![b'\n'; (HARMLESS + 1) as usize];
        for bomb in [gzip(&newlines), zstandard(&newlines)] {
            let message = decompress(bomb, Path::new("bomb")).unwrap_err().to_string();
            assert!(message.contains("bomb"), "{message}");
        }
        assert!(decompress(gzip(&newlines[1..]), Path::new("x")).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_rejected_and_pipes_are_read() {
        let message = TextFile::read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(message.contains("is a device, not a file"), "{message}");
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&fifo, "one\n").unwrap());
            assert_eq!(TextFile::read(&fifo).unwrap().text, "one\n");
        });
    }

    #[test]
    fn a_compressed_name_with_plain_content_is_an_error() {
        let error = decompress(b"text".to_vec(), Path::new("a.gz")).unwrap_err();
        assert!(error.to_string().contains("the name says compressed"));
        assert!(decompress(Vec::new(), Path::new("a.zst")).is_err());
    }

    #[test]
    fn missing_files_and_directories_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing.en");
        let message = TextFile::read(&missing).unwrap_err().to_string();
        assert!(message.contains("missing.en: cannot read"), "{message}");
        let message = TextFile::read(directory.path()).unwrap_err().to_string();
        assert!(message.contains("is a directory"), "{message}");
    }

    proptest! {
        #[test]
        fn compressed_is_read_as_it_was(first in any::<Vec<u8>>(), second in any::<Vec<u8>>()) {
            let path = Path::new("x");
            prop_assert_eq!(&decompress(gzip(&first), path).unwrap(), &first);
            prop_assert_eq!(&decompress(zstandard(&first), path).unwrap(), &first);
            let both = [first.clone(), second.clone()].concat();
            let joined = [gzip(&first), gzip(&second)].concat();
            prop_assert_eq!(&decompress(joined, path).unwrap(), &both);
            let joined = [zstandard(&first), zstandard(&second)].concat();
            prop_assert_eq!(&decompress(joined, path).unwrap(), &both);
        }

        #[test]
        fn damaged_data_never_panics(
            bytes in any::<Vec<u8>>(),
            text in any::<Vec<u8>>(),
            at in any::<prop::sample::Index>(),
            bit in 0..8u8,
        ) {
            let path = Path::new("x");
            for magic in [GZIP, zstandard::MAGIC] {
                let _ = decompress([magic, &bytes].concat(), path);
            }
            for mut whole in [gzip(&text), zstandard(&text)] {
                let at = at.index(whole.len());
                let _ = decompress(whole[..at].to_vec(), path);
                whole[at] ^= 1 << bit;
                let _ = decompress(whole, path);
            }
        }

        #[test]
        fn lines_cover_the_text(text in "(\u{feff})?[a\r\n é]{0,40}") {
            let file = file(&text);
            let mut rest = String::from(&text[..file.start()]);
            let mut end = file.start();
            for line in file.lines() {
                rest.push_str(&file.text[end..line.start]);
                prop_assert!(!file.text[line.clone()].contains('\n'));
                rest.push_str(&file.text[line.clone()]);
                end = line.end;
            }
            rest.push_str(&file.text[end..]);
            prop_assert_eq!(rest, text);
        }
    }
}
