//! Streams documents one after the other, in memory that does not depend on the size of the files.
//!
//! The documents are those of [`read`](super::read), except that those of more than
//! [`LONGEST_DOCUMENT`] sentences are split. Only lines and JSON lines are streamed, since files of the
//! other formats are small.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abridge_base::message::counted;
use rustc_hash::FxHashMap;

use super::file::TextFile;
use super::line_reader::LineReader;
use super::{Format, Input, detect, jsonl, lines, read};
use crate::{Document, Error, Result, Segment};

/// The longest document, in sentences; what follows is another one. Otherwise lines that nothing divides
/// into documents would all be held in memory.
pub const LONGEST_DOCUMENT: usize = 1 << 17;

/// Lines that cannot be read, and how many of them may be skipped.
#[derive(Clone, Debug, Default)]
pub struct BadLines {
    /// How many may be skipped.
    pub allowed: usize,
    /// The error messages of the skipped lines.
    pub skipped: Vec<String>,
}

impl BadLines {
    /// Records a bad line; fails if there are too many.
    fn skip(&mut self, error: Error) -> Result<()> {
        if self.skipped.len() >= self.allowed {
            return Err(match self.allowed {
                0 => error,
                allowed => Error::new(format!("{error}; {allowed} bad lines were skipped before"))
                    .remedy("fix the file, or allow more with --skip-bad"),
            });
        }
        self.skipped.push(error.to_string());
        Ok(())
    }
}

/// The documents of some files.
pub struct DocumentStream {
    kind: Kind,
    read: Arc<AtomicU64>,
}

enum Kind {
    Lines(Box<Lines>),
    Jsonl(Box<Jsonl>),
    Whole(std::vec::IntoIter<Document>),
}

impl DocumentStream {
    /// Opens the files of a corpus.
    pub fn open(input: &Input) -> Result<Self> {
        let read_bytes = Arc::default();
        let mut source = LineReader::open(&input.source, &read_bytes)?;
        let format = if let Some(format) = input.format {
            format
        } else {
            let text = source.beginning()?;
            detect::format(&TextFile { path: input.source.clone(), text })?
        };
        let open = |path: &Path| LineReader::open(path, &read_bytes);
        let kind = match (format, &input.target) {
            (Format::Lines, target) => {
                let docids = input.docids.clone().or_else(|| lines::docids_beside(&input.source));
                Kind::Lines(Box::new(Lines {
                    source,
                    target: target.as_deref().map(open).transpose()?,
                    docids: docids.as_deref().map(open).transpose()?,
                    current: None,
                    last_id: None,
                    ended: FxHashMap::default(),
                    unnamed: 0,
                    pieces: 1,
                    repeated_ids: false,
                    renamed: None,
                    longest: LONGEST_DOCUMENT,
                }))
            }
            (Format::Jsonl, None) if input.docids.is_none() => {
                let file = TextFile { path: input.source.clone(), text: String::new() };
                Kind::Jsonl(Box::new(Jsonl { source, file, seen: FxHashMap::default() }))
            }
            _ => Kind::Whole(read(input)?.documents.into_iter()),
        };
        Ok(Self { kind, read: read_bytes })
    }

    /// Treats a repeated document id as a new document instead of an error.
    #[must_use]
    pub fn with_repeated_ids(mut self) -> Self {
        if let Kind::Lines(lines) = &mut self.kind {
            lines.repeated_ids = true;
        }
        self
    }

    /// Bytes read from the files so far, before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The next document. At a skipped line, or after the longest document, it ends and the rest
    /// follows as another one.
    pub fn next(&mut self, bad: &mut BadLines) -> Result<Option<Document>> {
        match &mut self.kind {
            Kind::Lines(lines) => lines.next(bad),
            Kind::Jsonl(lines) => lines.next(bad),
            Kind::Whole(documents) => Ok(documents.next()),
        }
    }
}

struct Lines {
    source: LineReader,
    target: Option<LineReader>,
    docids: Option<LineReader>,
    current: Option<Document>,
    last_id: Option<String>,
    /// The last line of each document id, by the hash of the id; looked up, never iterated.
    ended: FxHashMap<u64, u32>,
    unnamed: usize,
    /// Parts of the current document, if it was cut.
    pieces: usize,
    /// Whether a repeated id means a new document.
    repeated_ids: bool,
    /// The name of the current document if its id is repeated.
    renamed: Option<String>,
    /// Sentences after which a document is cut.
    longest: usize,
}

/// The content of a line.
struct Row {
    segment: Segment,
    id: Option<String>,
}

impl Lines {
    fn next(&mut self, bad: &mut BadLines) -> Result<Option<Document>> {
        loop {
            if !self.advance()? {
                return Ok(self.current.take());
            }
            let row = match self.row() {
                Ok(row) => row,
                Err(error) => {
                    bad.skip(error)?;
                    match self.current.take() {
                        Some(document) => return Ok(Some(document)),
                        None => continue,
                    }
                }
            };
            let Row { segment, id } = row;
            let is_blank = segment.source.trim().is_empty()
                && segment.target.as_deref().is_none_or(|target| target.trim().is_empty());
            let finished = match id {
                Some(id) if id.is_empty() && is_blank => continue,
                Some(id) => self.enter(id)?,
                None if is_blank => {
                    self.last_id = None;
                    match self.current.take() {
                        Some(document) => return Ok(Some(document)),
                        None => continue,
                    }
                }
                None => {
                    if self.last_id.is_none() {
                        self.unnamed += 1;
                        self.pieces = 0;
                        self.last_id = Some(self.unnamed.to_string());
                    }
                    self.begin_or_go_on();
                    None
                }
            };
            if let Some(document) = &mut self.current {
                document.segments.push(segment);
            }
            if finished.is_some() {
                return Ok(finished);
            }
            let is_full = |document: &Document| document.segments.len() >= self.longest;
            if self.current.as_ref().is_some_and(is_full) {
                return Ok(self.current.take());
            }
        }
    }

    /// Continues the document `id`, or begins it; returns the previous one if that has ended.
    fn enter(&mut self, id: String) -> Result<Option<Document>> {
        let docids = self.docids.as_ref().unwrap_or(&self.source);
        if id.is_empty() {
            return Err(docids
                .error("a line of text without a document id")
                .remedy("give every line of text an id"));
        }
        if self.last_id.as_ref() == Some(&id) {
            self.begin_or_go_on();
            return Ok(None);
        }
        if let Some(last) = self.last_id.take() {
            self.ended.insert(hash(&last), docids.number as u32 - 1);
        }
        let ended = self.ended.get(&hash(&id));
        self.renamed = ended.map(|_| format!("{id}@{}", docids.number));
        if let (Some(ended), false) = (ended, self.repeated_ids) {
            return Err(docids
                .error(format!(
                    "document `{id}` appears again, after it ended at line {ended} and another \
                     began"
                ))
                .remedy(
                    "put the lines of a document together, or give the later part its own id",
                ));
        }
        self.pieces = 0;
        self.last_id = Some(id);
        let before = self.current.take();
        self.begin_or_go_on();
        Ok(before)
    }

    /// Begins a document if there is none.
    fn begin_or_go_on(&mut self) {
        if let (None, Some(id)) = (&self.current, &self.last_id) {
            self.pieces += 1;
            let id = self.renamed.as_ref().unwrap_or(id);
            let name = match self.pieces {
                1 => id.clone(),
                piece => format!("{id}/{piece}"),
            };
            self.current = Some(Document::new(name, Vec::new()));
        }
    }

    /// Advances to the next line in all files; false if all have ended.
    fn advance(&mut self) -> Result<bool> {
        let source = self.source.advance()?;
        let target = self.target.as_mut().map(LineReader::advance).transpose()?;
        let docids = self.docids.as_mut().map(LineReader::advance).transpose()?;
        if [target, docids].into_iter().flatten().all(|other| other == source) {
            return Ok(source);
        }
        // The line counts of all files are more informative than where the first one ended.
        let mut counts = Vec::new();
        for reader in [Some(&mut self.source), self.target.as_mut(), self.docids.as_mut()] {
            let Some(reader) = reader else { continue };
            while reader.advance()? {}
            counts.push((reader.path.display().to_string(), reader.number));
        }
        let (_, lines) = counts[0];
        let other = counts.iter().find(|(_, other)| *other != lines);
        let (path, others) = other.map_or(("", 0), |(path, count)| (path.as_str(), *count));
        let [lines, others] = [lines, others].map(|number| counted(number, "line"));
        Err(Error::new(format!("{lines}, but {path} has {others}"))
            .in_file(&self.source.path)
            .remedy("both must have one line per segment"))
    }

    fn row(&self) -> Result<Row> {
        let text = |reader: &Option<LineReader>| {
            reader.as_ref().map(|reader| Ok(reader.text()?.to_owned())).transpose()
        };
        let source = self.source.text()?.to_owned();
        Ok(Row {
            segment: Segment { source, target: text(&self.target)? },
            id: text(&self.docids)?,
        })
    }
}

struct Jsonl {
    source: LineReader,
    /// The name of the file, for errors.
    file: TextFile,
    /// The line of each id, by its hash; looked up, never iterated.
    seen: FxHashMap<u64, u32>,
}

impl Jsonl {
    fn next(&mut self, bad: &mut BadLines) -> Result<Option<Document>> {
        while self.source.advance()? {
            match self.document() {
                Ok(Some(document)) => return Ok(Some(document)),
                Ok(None) => {}
                Err(error) => bad.skip(error)?,
            }
        }
        Ok(None)
    }

    fn document(&mut self) -> Result<Option<Document>> {
        let text = self.source.text()?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let number = self.source.number;
        let document = jsonl::document(text, &self.file, number)?;
        if let Some(line) = self.seen.insert(hash(&document.id), number as u32) {
            let problem = format!("document `{}` appears again, after line {line}", document.id);
            return Err(self
                .source
                .error(problem)
                .remedy("put the parts of a document together, or give the later one its own id"));
        }
        Ok(Some(document))
    }
}

fn hash(id: &str) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn write(folder: &Path, name: &str, content: &[u8]) -> std::path::PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn all(input: &Input, allowed: usize) -> Result<(Vec<Document>, Vec<String>)> {
        let mut stream = DocumentStream::open(input)?;
        let mut bad = BadLines { allowed, ..BadLines::default() };
        let mut documents = Vec::new();
        while let Some(document) = stream.next(&mut bad)? {
            documents.push(document);
        }
        Ok((documents, bad.skipped))
    }

    fn zstandard(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn bad_lines_are_errors_or_are_skipped_and_split_their_document() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, content: &[u8]| write(folder.path(), name, content);
        let source = path("a.en", b"one\ntwo\nth\xffree\nfour\nfive\n");
        let target = path("a.de", b"eins\nzwei\ndrei\nvier\nf\xfcnf\n");
        path("a.docids", b"x\nx\nx\nx\ny\n");
        let input = Input::parallel(&source, &target);
        let error = all(&input, 0).unwrap_err().to_string();
        assert!(error.contains("a.en:3: invalid UTF-8; convert"), "{error}");
        let error = all(&input, 1).unwrap_err().to_string();
        assert!(error.contains("a.de:5: invalid UTF-8"), "{error}");
        assert!(error.contains("1 bad lines were skipped before"), "{error}");
        let (documents, skipped) = all(&input, 2).unwrap();
        let shapes: Vec<_> = documents.iter().map(|d| (d.id.as_str(), d.segments.len())).collect();
        assert_eq!(shapes, [("x", 2), ("x/2", 1)]);
        assert_eq!(skipped.len(), 2);
    }

    #[test]
    fn a_repeated_id_is_an_error_or_a_new_document() {
        let folder = tempfile::tempdir().unwrap();
        let source = write(folder.path(), "a.en", b"one\ntwo\nthree\nfour\n");
        write(folder.path(), "a.docids", b"x\ny\nx\nx\n");
        let error = all(&Input::new(&source), 0).unwrap_err().to_string();
        assert!(error.contains("a.docids:3: document `x` appears again"), "{error}");
        let mut stream = DocumentStream::open(&Input::new(&source)).unwrap().with_repeated_ids();
        let mut shapes = Vec::new();
        while let Some(document) = stream.next(&mut BadLines::default()).unwrap() {
            shapes.push((document.id, document.segments.len()));
        }
        let expected = [("x", 1), ("y", 1), ("x@3", 2)];
        assert_eq!(shapes, expected.map(|(id, count)| (id.to_owned(), count)));
    }

    #[test]
    fn documents_that_are_too_long_come_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let source = write(folder.path(), "a.en", b"1\n2\n3\n4\n5\n\n6\n7\n\n8\n9\n10\n");
        let shapes = || {
            let mut stream = DocumentStream::open(&Input::new(&source)).unwrap();
            let Kind::Lines(lines) = &mut stream.kind else { panic!("these are lines") };
            lines.longest = 2;
            let mut shapes = Vec::new();
            while let Some(document) = stream.next(&mut BadLines::default()).unwrap() {
                shapes.push(format!("{} {}", document.id, document.segments.len()));
            }
            shapes
        };
        assert_eq!(shapes(), ["1 2", "1/2 2", "1/3 1", "2 2", "3 2", "3/2 1"]);
        write(folder.path(), "a.docids", b"x\nx\nx\nx\ny\ny\nz\nz\nz\nz\nz\nz\n");
        assert_eq!(shapes(), ["x 2", "x/2 2", "y 2", "z 2", "z/2 2", "z/3 2"]);
    }

    #[test]
    fn members_of_archives_come_as_files_do_with_their_document_ids() {
        let folder = tempfile::tempdir().unwrap();
        let german = zstandard(b"eins\nzwei\ndrei\n");
        let mut archive = tar::Builder::new(Vec::new());
        for (name, content) in [
            ("other/a.docids", b"1\n2\n3\n".as_slice()),
            ("en-de/a.en", b"one\ntwo\nthree\n"),
            ("en-de/a.de.zst", &german),
            ("en-de/a.docids", b"x\nx\ny\n"),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            archive.append_data(&mut header, name, content).unwrap();
        }
        let bytes = archive.into_inner().unwrap();
        for (name, content) in [("c.tar", bytes.clone()), ("c.tar.zst", zstandard(&bytes))] {
            let path = write(folder.path(), name, &content);
            let input = Input::parallel(path.join("a.en"), path.join("a.de.zst"));
            let (documents, _) = all(&input, 0).unwrap();
            assert_eq!(documents, read(&input).unwrap().documents);
            let ids: Vec<&str> = documents.iter().map(|document| document.id.as_str()).collect();
            assert_eq!(ids, ["x", "y"]);
            assert_eq!(documents[1].segments, [Segment::pair("three", "drei")]);
            assert!(input.files().contains(&path.join("en-de/a.docids")));
            let missing = all(&Input::new(path.join("a.fr")), 0).unwrap_err().to_string();
            assert!(missing.contains("the archive has no member a.fr"), "{missing}");
        }
        // Behind the last member, but before the end of the archive.
        let cut = write(folder.path(), "cut.tar", &bytes[..bytes.len() - 1024]);
        let error = all(&Input::new(cut.join("a.en")), 9).unwrap_err().to_string();
        assert!(error.contains("cut.tar: the archive is truncated or damaged"), "{error}");
    }

    #[test]
    fn a_truncated_frame_is_reported_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let text: String = (0..200_000)
            .fold(String::new(), |text, n| text + &format!("line {} of {n}\n", n * 7919));
        let whole = zstandard(text.as_bytes());
        let source = write(folder.path(), "a.en.zst", &whole[..whole.len() / 2]);
        let error = all(&Input::new(&source), 9).unwrap_err().to_string();
        assert!(error.contains("the Zstandard data is truncated or damaged"), "{error}");
        let line: usize =
            error.split("a.en.zst:").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
        assert!((10_000..150_000).contains(&line), "{error}");
    }

    #[test]
    fn json_lines_are_streamed() {
        let folder = tempfile::tempdir().unwrap();
        let content =
            b"{\"id\":\"a\",\"source\":[\"x\"],\"target\":[\"y\"]}\n\nno\n{\"source\":[\"z\"]}\n";
        let source = write(folder.path(), "a.jsonl", content);
        let error = all(&Input::new(&source), 0).unwrap_err().to_string();
        assert!(error.contains("a.jsonl:3: not a document"), "{error}");
        let (documents, skipped) = all(&Input::new(&source), 1).unwrap();
        assert_eq!((documents.len(), skipped.len()), (2, 1));
        assert_eq!(documents[1].id, "4");
    }

    proptest! {
        #[test]
        fn documents_are_those_of_reading_at_once(
            source in "(\u{feff})?[ab é\r\n]{0,60}",
            target in prop::option::of("[ab\n]{0,60}"),
            docids in prop::option::of("[xy\n]{0,60}"),
            zipped in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let content = if zipped { zstandard(source.as_bytes()) } else { source.into() };
            let source = write(folder.path(), "a.en", &content);
            let target = target.map(|text| write(folder.path(), "a.de", text.as_bytes()));
            let docids = docids.map(|text| write(folder.path(), "ids", text.as_bytes()));
            let input = Input { source, target, docids, format: Some(Format::Lines) };
            match (read(&input), all(&input, 0)) {
                (Ok(corpus), Ok((documents, _))) => prop_assert_eq!(corpus.documents, documents),
                // Of several problems, the first in the file is reported.
                (Err(_), Err(_)) => {}
                (whole, streamed) => {
                    prop_assert!(false, "{:?} but {:?}", whole.map(|c| c.documents), streamed);
                }
            }
        }
    }
}
