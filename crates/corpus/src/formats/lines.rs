//! One segment per line, with documents from a `.docids` file or between blank lines.
//!
//! With document ids, every line is a segment, even an empty one. Without them, a blank line ends a
//! document; with two sides, a line is a separator only if it is blank on both, so that a missing
//! translation inside a document stays a segment.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use abridge_base::message::counted;

use super::corpus::Corpus;
use super::file::{TextFile, without_compression};
use super::slots::{Escape, SlotLayout};
use super::{Description, Format, archive, bytes};
use crate::{Document, Error, Result, Segment};

/// The format of all text without another format.
pub(super) const LINES: Description = Description {
    name: "lines",
    ending: "txt",
    media_type: "text/plain; charset=utf-8",
    known_endings: &[],
    known_beginnings: &[],
    is_content: |_| false,
    read: |source, target| {
        read(Sides { source: source.clone(), target: target.cloned(), docids: None })
    },
};

/// The files of a corpus of lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides {
    pub source: TextFile,
    pub target: Option<TextFile>,
    pub docids: Option<TextFile>,
}

/// The file of document ids that belongs to a source file, if it exists; that of a member of an archive
/// is another member.
pub(super) fn docids_beside(source: &Path) -> Option<PathBuf> {
    let Some((archive, member)) = archive::around(source) else {
        return beside(source).find(|candidate| candidate.is_file() && candidate != source);
    };
    // Whoever reads the source says what is wrong with the archive.
    let members = bytes::members(archive).ok()?;
    let own = members.iter().find(|other| other.is_named(member))?;
    beside(&own.name)
        .find(|candidate| members.iter().any(|other| other.name == *candidate))
        .map(|found| archive.join(found))
}

/// Where document ids may be.
fn beside(source: &Path) -> impl Iterator<Item = PathBuf> {
    let name = source.file_name().and_then(|name| name.to_str()).map(without_compression);
    let stem = name.map(|name| name.rsplit_once('.').map_or(name, |(stem, _)| stem));
    [stem, name]
        .into_iter()
        .flatten()
        .flat_map(|stem| ["", ".gz", ".zst"].map(|ending| format!("{stem}.docids{ending}")))
        .map(|candidate| source.with_file_name(candidate))
}

/// Reads the sides into documents.
pub(super) fn read(sides: Sides) -> Result<Corpus> {
    let Sides { source, target, docids } = &sides;
    let lines = source.lines();
    let target_lines = target.as_ref().map(TextFile::lines);
    let docid_lines = docids.as_ref().map(TextFile::lines);
    let remedy = "both must have one line per segment";
    if let (Some(file), Some(other)) = (target, &target_lines) {
        same_count((source, lines.len()), (file, other.len()), remedy)?;
    }
    if let (Some(file), Some(other)) = (docids, &docid_lines) {
        same_count((source, lines.len()), (file, other.len()), remedy)?;
    }

    let mut documents = Documents::default();
    let mut slots = Vec::with_capacity(lines.len());
    for (index, line) in lines.into_iter().enumerate() {
        let text = &source.text[line.clone()];
        let translation = target
            .as_ref()
            .zip(target_lines.as_ref())
            .map(|(file, lines)| &file.text[lines[index].clone()]);
        let blank = text.trim().is_empty() && translation.is_none_or(|t| t.trim().is_empty());
        match docids.as_ref().zip(docid_lines.as_ref()) {
            Some((file, lines)) => {
                let id = &file.text[lines[index].clone()];
                if id.is_empty() && blank {
                    continue;
                }
                documents.enter(id, index + 1, file)?;
            }
            None if blank => {
                documents.leave();
                continue;
            }
            None => documents.enter_unnamed(),
        }
        documents.push(Segment { source: text.to_owned(), target: translation.map(str::to_owned) });
        slots.push(line);
    }
    let layout = SlotLayout { text: sides.source.text, slots, escape: Escape::Line };
    Ok(Corpus::new(documents.list, Format::Lines, layout))
}

fn same_count(
    (left, left_lines): (&TextFile, usize),
    (right, right_lines): (&TextFile, usize),
    remedy: &str,
) -> Result<()> {
    if left_lines == right_lines {
        return Ok(());
    }
    let [lines, others] = [left_lines, right_lines].map(|number| counted(number, "line"));
    let problem = format!("{lines}, but {} has {others}", right.path.display());
    Err(Error::new(problem).in_file(&left.path).remedy(remedy))
}

/// The documents read so far.
#[derive(Debug, Default)]
struct Documents {
    list: Vec<Document>,
    inside: bool,
    /// The last line of each document id.
    seen: BTreeMap<String, usize>,
}

impl Documents {
    /// Continues the document `id`, or begins it.
    fn enter(&mut self, id: &str, line: usize, file: &TextFile) -> Result<()> {
        if id.is_empty() {
            return Err(file
                .error(line, "a line of text without a document id")
                .remedy("give every line of text an id"));
        }
        let current = self.list.last().is_some_and(|document| document.id == id);
        match self.seen.entry(id.to_owned()) {
            Entry::Occupied(last) if !current => {
                let problem = format!(
                    "document `{id}` appears again, after it ended at line {} and another began",
                    last.get()
                );
                return Err(file.error(line, problem).remedy(
                    "put the lines of a document together, or give the later part its own id",
                ));
            }
            Entry::Occupied(mut last) => *last.get_mut() = line,
            Entry::Vacant(new) => {
                new.insert(line);
                self.list.push(Document::new(id, Vec::new()));
            }
        }
        Ok(())
    }

    /// Continues the document between two blank lines, or begins it.
    fn enter_unnamed(&mut self) {
        if !self.inside {
            let number = self.list.len() + 1;
            self.list.push(Document::new(number.to_string(), Vec::new()));
        }
        self.inside = true;
    }

    fn leave(&mut self) {
        self.inside = false;
    }

    fn push(&mut self, segment: Segment) {
        if let Some(document) = self.list.last_mut() {
            document.segments.push(segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(name: &str, text: &str) -> TextFile {
        TextFile { path: name.into(), text: text.into() }
    }

    fn sides(source: &str, target: Option<&str>, docids: Option<&str>) -> Sides {
        Sides {
            source: file("a.en", source),
            target: target.map(|text| file("a.de", text)),
            docids: docids.map(|text| file("a.docids", text)),
        }
    }

    fn shape(corpus: &Corpus) -> Vec<(&str, Vec<&str>)> {
        corpus
            .documents
            .iter()
            .map(|document| {
                let texts = document.segments.iter().map(|segment| segment.source.as_str());
                (document.id.as_str(), texts.collect())
            })
            .collect()
    }

    fn message(sides: Sides) -> String {
        read(sides).unwrap_err().to_string()
    }

    #[test]
    fn blank_lines_separate_documents() {
        let corpus = read(sides("\nA cat.\nIt sleeps.\n\n \nA dog.\n", None, None)).unwrap();
        assert_eq!(shape(&corpus), [("1", vec!["A cat.", "It sleeps."]), ("2", vec!["A dog."])]);
        let mut out = Vec::new();
        let translations =
            [vec!["Eine Katze.".into(), "Sie\nschläft.".into()], vec!["Ein Hund.".into()]];
        corpus.write_translation(&translations, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nEine Katze.\nSie schläft.\n\n \nEin Hund.\n"
        );
    }

    #[test]
    fn a_line_blank_on_one_side_only_is_a_segment() {
        let corpus = read(sides("a\n\nb\n\nc\n", Some("A\n\nB\nX\nC\n"), None)).unwrap();
        assert_eq!(shape(&corpus), [("1", vec!["a"]), ("2", vec!["b", "", "c"])]);
        assert_eq!(corpus.documents[1].segments[1], Segment::pair("", "X"));
    }

    #[test]
    fn docids_make_every_line_a_segment() {
        let corpus = read(sides("a\n\nb\n", Some("A\n\nB\n"), Some("x y\nx y\nz\n"))).unwrap();
        assert_eq!(shape(&corpus), [("x y", vec!["a", ""]), ("z", vec!["b"])]);
    }

    #[test]
    fn blank_lines_without_an_id_are_kept_and_not_translated() {
        let corpus = read(sides("a\n\nb\n\nc\n", None, Some("x\n\nx\n\nz\n"))).unwrap();
        assert_eq!(shape(&corpus), [("x", vec!["a", "b"]), ("z", vec!["c"])]);
        let mut out = Vec::new();
        let translations = [vec!["A".into(), "B".into()], vec!["C".into()]];
        corpus.write_translation(&translations, &mut out).unwrap();
        assert_eq!(out, b"A\n\nB\n\nC\n");
    }

    #[test]
    fn errors_name_both_counts_and_files() {
        let text = message(sides("a\nb\n", Some("A\n"), None));
        assert_eq!(text, "a.en: 2 lines, but a.de has 1 line; both must have one line per segment");
        let text = message(sides("a\nb\n", None, Some("x\nx\nx\n")));
        assert!(text.starts_with("a.en: 2 lines, but a.docids has 3 lines"), "{text}");
        let text = message(sides("a\nb\n", None, Some("x\n\n")));
        assert!(text.starts_with("a.docids:2: a line of text without a document id"), "{text}");
    }

    #[test]
    fn a_document_that_appears_again_is_an_error_with_both_lines() {
        let text = message(sides("a\nb\nc\nd\n", None, Some("x\nx\ny\nx\n")));
        assert!(text.starts_with("a.docids:4: document `x` appears again"), "{text}");
        assert!(text.contains("ended at line 2"), "{text}");
    }

    #[test]
    fn docids_are_found_beside_the_source() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        assert_eq!(docids_beside(&path("train.en")), None);
        std::fs::write(path("train.en.docids"), "x\n").unwrap();
        assert_eq!(docids_beside(&path("train.en.gz")), Some(path("train.en.docids")));
        std::fs::write(path("train.docids"), "x\n").unwrap();
        assert_eq!(docids_beside(&path("train.en.zst")), Some(path("train.docids")));
    }

    fn sources(corpus: &Corpus) -> Vec<Vec<String>> {
        let source = |segment: &Segment| segment.source.clone();
        corpus
            .documents
            .iter()
            .map(|document| document.segments.iter().map(source).collect())
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn writing_the_source_back_gives_the_file(
            text in "(\u{feff})?([a-c é\r]{0,3}\r?\n){0,12}[a-c]{0,2}",
            with_ids in any::<bool>(),
        ) {
            let count = file("a.en", &text).lines().len();
            let ids = (0..count).flat_map(|line| [(line / 3).to_string(), "\n".into()]).collect::<String>();
            let corpus = read(sides(&text, None, with_ids.then_some(ids.as_str()))).unwrap();
            if with_ids {
                prop_assert_eq!(corpus.segments(), count);
            }
            let mut out = Vec::new();
            corpus.write_translation(&sources(&corpus), &mut out).unwrap();
            prop_assert_eq!(String::from_utf8(out).unwrap(), text);
        }

        #[test]
        fn lines_out_are_lines_in(text in "([a-c ]{0,3}\r?\n){0,12}", word in "[a\n ]{0,4}") {
            let corpus = read(sides(&text, None, None)).unwrap();
            let translations: Vec<Vec<String>> = corpus
                .documents
                .iter()
                .map(|document| vec![word.clone(); document.segments.len()])
                .collect();
            let mut out = Vec::new();
            corpus.write_translation(&translations, &mut out).unwrap();
            let out = file("out", std::str::from_utf8(&out).unwrap());
            prop_assert_eq!(out.lines().len(), file("in", &text).lines().len());
        }

        #[test]
        fn arbitrary_text_never_panics(
            source in any::<String>(),
            target in any::<Option<String>>(),
            docids in any::<Option<String>>(),
        ) {
            let _ = read(sides(&source, target.as_deref(), docids.as_deref()));
        }
    }
}
