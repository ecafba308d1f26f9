//! Files as users have them: compressed, archived, damaged, with and without telling names.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_corpus::{Corpus, Format, Input, Segment, read};
use proptest::prelude::*;

struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn tgz(members: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    gzip(&builder.into_inner().unwrap())
}

fn message(input: &Input) -> String {
    read(input).unwrap_err().to_string()
}

fn written(corpus: &Corpus) -> Vec<u8> {
    let sources: Vec<Vec<String>> = corpus
        .documents
        .iter()
        .map(|document| document.segments.iter().map(|s| s.source.clone()).collect())
        .collect();
    let mut out = Vec::new();
    corpus.write_translation(&sources, &mut out).unwrap();
    out
}

#[test]
fn compressed_sides_with_document_ids_beside_them() {
    let directory = Directory::new();
    let source = directory.write("train.en.gz", gzip(b"A cat.\nIt sleeps.\nA dog.\n"));
    let target = directory
        .write("train.de.zst", zstandard("Eine Katze.\nSie schläft.\nEin Hund.\n".as_bytes()));
    directory.write("train.docids", "one\none\ntwo\n");
    let corpus = read(&Input::parallel(source, target)).unwrap();
    assert_eq!(corpus.format(), Format::Lines);
    assert_eq!(corpus.documents.len(), 2);
    assert_eq!(corpus.documents[0].id, "one");
    assert_eq!(corpus.documents[0].segments[1], Segment::pair("It sleeps.", "Sie schläft."));
    assert_eq!(written(&corpus), b"A cat.\nIt sleeps.\nA dog.\n");
}

#[test]
fn given_document_ids_take_precedence_over_found_ones() {
    let directory = Directory::new();
    let source = directory.write("train.en", "a\nb\n");
    directory.write("train.docids", "x\nx\n");
    let docids = directory.write("other.ids", "x\ny\n");
    let input = Input { docids: Some(docids.clone()), ..Input::new(source) };
    assert_eq!(read(&input).unwrap().documents.len(), 2);
    let source = directory.write("a.jsonl", "{\"source\":[]}\n");
    let text = message(&Input { docids: Some(docids), ..Input::new(source) });
    assert!(text.contains("document ids are for the format lines, not for jsonl"), "{text}");
}

#[test]
fn iwslt_straight_from_the_archive() {
    let directory = Directory::new();
    let tags = |text: &str| format!("<doc docid=\"1\">\n<title>t</title>\n{text}\n</doc>\n");
    let xml = "<?xml version=\"1.0\"?>\n<mteval><doc docid=\"9\"><seg id=\"1\">Hi.</seg></doc></mteval>\n";
    let archive = tgz(&[
        ("en-de/README", "read me"),
        ("en-de/train.tags.en-de.en", &tags("A cat.")),
        ("en-de/train.tags.en-de.de", &tags("Eine Katze.")),
        ("en-de/IWSLT17.TED.tst2015.en-de.en.xml", xml),
    ]);
    let path = directory.write("en-de.tgz", &archive);
    let member = |name: &str| path.join(name);
    let pair = Input::parallel(member("train.tags.en-de.en"), member("en-de/train.tags.en-de.de"));
    let corpus = read(&pair).unwrap();
    assert_eq!(corpus.format(), Format::Iwslt);
    assert_eq!(corpus.documents[0].segments, [Segment::pair("A cat.", "Eine Katze.")]);
    let corpus = read(&Input::new(member("IWSLT17.TED.tst2015.en-de.en.xml"))).unwrap();
    assert_eq!(corpus.documents[0].id, "9");
    assert_eq!(written(&corpus), xml.as_bytes());

    let text = message(&Input::new(&path));
    assert!(text.contains("is an archive of several files; append the name of"), "{text}");
    let text = message(&Input::new(member("train.tags.en-fr.en")));
    assert!(text.contains("no member train.tags.en-fr.en; it holds en-de/README"), "{text}");
    directory.write("en-de.tgz", &archive[..archive.len() / 2]);
    assert!(message(&pair).contains("gzip data is truncated"), "{}", message(&pair));
}

#[test]
fn the_format_is_found_or_given() {
    let directory = Directory::new();
    let subtitles = "1\n00:00:01,000 --> 00:00:02,000\nHi.\n";
    let path = directory.write("film.txt", subtitles);
    assert_eq!(read(&Input::new(&path)).unwrap().format(), Format::Srt);
    let as_lines = Input { format: Some(Format::Lines), ..Input::new(&path) };
    assert_eq!(read(&as_lines).unwrap().segments(), 3);
    let as_vtt = Input { format: Some("vtt".parse().unwrap()), ..Input::new(&path) };
    assert!(message(&as_vtt).contains("film.txt:1: the first line is not WEBVTT"));
    let binary = directory.write("report.docx", b"PK\x03\x04\0\0");
    assert!(message(&Input::new(binary)).contains("report.docx:1: this is not text"));
}

#[test]
fn segments_know_their_lines() {
    let directory = Directory::new();
    let lines = |name: &str, text: &str| -> Vec<usize> {
        let corpus = read(&Input::new(directory.write(name, text))).unwrap();
        let last = corpus.documents.len();
        assert_eq!(corpus.line(last, 0), None);
        assert_eq!(corpus.line(0, 99), None);
        (0..last)
            .flat_map(|document| {
                let segments = 0..corpus.documents[document].segments.len();
                segments.map(|segment| corpus.line(document, segment).unwrap()).collect::<Vec<_>>()
            })
            .collect()
    };
    assert_eq!(lines("a.en", "a\nb\n\nc\n"), [1, 2, 4]);
    assert_eq!(lines("a.jsonl", "\n{\"source\":[\"a\",\"b\"]}\n{\"source\":[\"c\"]}\n"), [2, 2, 3]);
    let film = "1\n00:01,0 --> 00:02,0\nA.\n\n2\n00:02,0 --> 00:03,0\n- B.\n- C.\n";
    assert_eq!(lines("a.srt", film), [3, 7, 8]);
    assert_eq!(lines("a.xml", "<mteval>\n<doc>\n<seg>a</seg>\n</doc></mteval>"), [3]);
}

#[test]
fn counts_of_translations_are_checked() {
    let directory = Directory::new();
    let corpus = read(&Input::new(directory.write("a.en", "a\nb\n\nc\n"))).unwrap();
    let mut out = Vec::new();
    let text = corpus.write_translation(&[], &mut out).unwrap_err().to_string();
    assert!(text.contains("translations of 0 documents for 2 documents"), "{text}");
    let lists = [vec!["A".to_owned()], vec!["C".to_owned()]];
    let text = corpus.write_translation(&lists, &mut out).unwrap_err().to_string();
    assert!(text.contains("1 translations for the 2 segments of document `1`"), "{text}");
    assert!(out.is_empty(), "nothing is written before the counts are checked");
}

/// A pipe whose reader is gone.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_can_be_told_from_other_errors() {
    let directory = Directory::new();
    let corpus = read(&Input::new(directory.write("a.en", "a\n"))).unwrap();
    let error = corpus.write_translation(&[vec!["A".into()]], Closed).unwrap_err();
    let cause = std::error::Error::source(&error).and_then(|e| e.downcast_ref::<std::io::Error>());
    assert_eq!(cause.map(std::io::Error::kind), Some(std::io::ErrorKind::BrokenPipe));
}

proptest! {
    /// No file makes a reader panic, whatever its declared format.
    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        text in "[ -~\n\r\t<>{}\"éß]{0,200}",
    ) {
        let directory = Directory::new();
        for content in [&bytes[..], text.as_bytes(), &gzip(&bytes), &zstandard(text.as_bytes())] {
            let path = directory.write("file", content);
            for format in Format::ALL.iter().copied().map(Some).chain([None]) {
                let input = Input { format, ..Input::new(&path) };
                if let Ok(corpus) = read(&input) {
                    let _ = written(&corpus);
                }
                let _ = read(&Input { target: Some(path.clone()), ..input });
            }
        }
    }
}
