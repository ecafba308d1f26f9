//! Hypotheses, references, source and document ids from files in any format of the corpus crate.

use std::path::{Path, PathBuf};

use abridge_base::message::counted;
use abridge_corpus::{Corpus, Document, Error, Format, Input, Result, read};

use crate::documents::Documents;
use crate::references::References;
use crate::report::System;

/// The files of an evaluation.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// One per system.
    pub hypotheses: Vec<PathBuf>,
    /// One per reference translation.
    pub references: Vec<PathBuf>,
    /// The source, if it is known.
    pub source: Option<PathBuf>,
    /// One document id per line. By default, documents come from the format (of the reference, else
    /// of the source), or from a `.docids` file beside the reference, or from lines that are blank
    /// in all files.
    pub docids: Option<PathBuf>,
    /// The format of all files except the document ids; detected for each file by default.
    pub format: Option<Format>,
    /// Whether an empty line in a reference means that this reference lacks the segment.
    pub empty_is_missing: bool,
}

/// The contents of the files.
#[derive(Clone, Debug)]
pub struct TestSet {
    /// The systems, named after their files.
    pub systems: Vec<System>,
    /// The references.
    pub references: References,
    /// The source.
    pub sources: Option<Vec<String>>,
    /// The documents, if known.
    pub documents: Option<Documents>,
}

/// The segments of one file.
struct Side {
    path: PathBuf,
    lines: Vec<String>,
    /// The documents given by the format; plain lines have none.
    documents: Option<Documents>,
}

impl Files {
    /// Reads all files and checks that they belong together.
    pub fn read(&self) -> Result<TestSet> {
        let side = |path: &PathBuf| Side::read(path, self.format);
        let references: Vec<Side> = self.references.iter().map(side).collect::<Result<_>>()?;
        let hypotheses: Vec<Side> = self.hypotheses.iter().map(side).collect::<Result<_>>()?;
        let source = self.source.as_ref().map(side).transpose()?;
        let Some(reference) = references.first() else {
            return Err(Error::new("no reference to compare with").remedy("give --reference FILE"));
        };
        for other in hypotheses.iter().chain(&references[1..]).chain(&source) {
            other.must_match(reference)?;
        }
        let all: Vec<&Side> = references.iter().chain(&hypotheses).chain(&source).collect();
        let documents = self.documents(reference, source.as_ref(), &all)?;
        let streams = references.into_iter().map(|side| self.stream(side)).collect();
        Ok(TestSet {
            systems: hypotheses
                .into_iter()
                .map(|side| System { name: side.path.display().to_string(), lines: side.lines })
                .collect(),
            references: References::new(streams)?,
            sources: source.map(|side| side.lines),
            documents,
        })
    }

    fn stream(&self, side: Side) -> Vec<Option<String>> {
        let is_there = |line: &String| !(self.empty_is_missing && line.trim().is_empty());
        side.lines.into_iter().map(|line| Some(line).filter(is_there)).collect()
    }

    fn documents(
        &self,
        reference: &Side,
        source: Option<&Side>,
        all: &[&Side],
    ) -> Result<Option<Documents>> {
        if let Some(docids) = &self.docids {
            return from_docids(docids, reference).map(Some);
        }
        let mut formats = std::iter::once(reference).chain(source).chain(all.iter().copied());
        if let Some(side) = formats.find(|side| side.documents.is_some()) {
            return Ok(side.documents.clone());
        }
        let beside = reference.path.with_extension("docids");
        if beside != reference.path && beside.is_file() {
            return from_docids(&beside, reference).map(Some);
        }
        let blank = |line: usize| all.iter().all(|side| side.lines[line].trim().is_empty());
        let between = Documents::between((0..reference.lines.len()).map(blank));
        Ok(Some(between).filter(|documents| documents.len() > 1))
    }
}

fn from_docids(path: &Path, reference: &Side) -> Result<Documents> {
    let corpus = read(&Input { format: Some(Format::Lines), ..Input::new(path) })?;
    let ids = all_lines(&corpus, path)?;
    if ids.len() != reference.lines.len() {
        return Err(Error::new(format!(
            "{}, but {} has {}",
            counted(ids.len(), "document id"),
            reference.path.display(),
            counted(reference.lines.len(), "line")
        ))
        .in_file(path)
        .remedy("give one document id for each line"));
    }
    let nameless = ids
        .iter()
        .zip(&reference.lines)
        .position(|(id, line)| id.is_empty() && !line.trim().is_empty());
    if let Some(line) = nameless {
        return Err(Error::new("a line of text without a document id")
            .in_file(path)
            .at_line(line + 1)
            .remedy("give every line of text an id"));
    }
    Documents::from_ids(ids).map_err(|error| error.in_file(path))
}

impl Side {
    fn read(path: &Path, format: Option<Format>) -> Result<Self> {
        let corpus = read(&Input { format, ..Input::new(path) })?;
        if corpus.format() == Format::Lines {
            let lines = all_lines(&corpus, path)?;
            return Ok(Self { path: path.to_path_buf(), lines, documents: None });
        }
        let ids = corpus
            .documents
            .iter()
            .flat_map(|document| std::iter::repeat_n(document.id.clone(), document.segments.len()));
        let documents = Documents::from_ids(ids).map_err(|error| error.in_file(path))?;
        Ok(Self {
            path: path.to_path_buf(),
            lines: corpus.documents.into_iter().flat_map(texts).collect(),
            documents: Some(documents),
        })
    }

    fn must_match(&self, reference: &Self) -> Result<()> {
        if self.lines.len() != reference.lines.len() {
            return Err(Error::new(format!(
                "{}, but {} has {}",
                counted(self.lines.len(), "line"),
                reference.path.display(),
                counted(reference.lines.len(), "line")
            ))
            .in_file(&self.path)
            .remedy("give files of the same test set, one line per segment"));
        }
        let (Some(ours), Some(theirs)) = (&self.documents, &reference.documents) else {
            return Ok(());
        };
        match ours.iter().zip(theirs).find(|(ours, theirs)| ours.lines != theirs.lines) {
            Some((ours, theirs)) => Err(Error::new(format!(
                "document `{}` has {} segments, but `{}` of {} has {}",
                ours.id,
                ours.lines.len(),
                theirs.id,
                reference.path.display(),
                theirs.lines.len()
            ))
            .in_file(&self.path)
            .remedy("give files of the same test set, document by document")),
            None => Ok(()),
        }
    }
}

/// The translations of a document, or its source text if it has none.
fn texts(document: Document) -> impl Iterator<Item = String> {
    document.segments.into_iter().map(|segment| segment.target.unwrap_or(segment.source))
}

/// All lines of a text file, including the empty ones, which the corpus reader takes for the ends
/// of documents.
fn all_lines(corpus: &Corpus, path: &Path) -> Result<Vec<String>> {
    // Writing the segments back reproduces the decompressed file byte by byte.
    let same: Vec<Vec<String>> = corpus
        .documents
        .iter()
        .map(|document| document.segments.iter().map(|s| s.source.clone()).collect())
        .collect();
    let mut bytes = Vec::new();
    corpus.write_translation(&same, &mut bytes).map_err(|error| error.in_file(path))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::new("invalid UTF-8").in_file(path).remedy("convert it to UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        }
    }

    fn files(hypothesis: PathBuf, reference: PathBuf) -> Files {
        Files { hypotheses: vec![hypothesis], references: vec![reference], ..Files::default() }
    }

    #[test]
    fn empty_lines_are_lines() {
        let folder = Folder::new();
        let set = files(
            folder.file("a.de", "\u{feff}eins\r\n\r\nzwei\n\n"),
            folder.file("b.de", "eins\n \ndrei\nvier"),
        )
        .read()
        .unwrap();
        assert_eq!(set.systems[0].lines, ["eins", "", "zwei", ""]);
        assert_eq!(set.references.of_segment(3), ["vier"]);
        // Blank on both sides, the second line separates two documents.
        let lines: Vec<_> = set.documents.unwrap().iter().map(|d| d.lines.clone()).collect();
        assert_eq!(lines, [0..1, 2..4]);
    }

    #[test]
    fn wrong_counts_name_both_files_and_both_counts() {
        let folder = Folder::new();
        let error = files(folder.file("a.de", "eins\n"), folder.file("b.de", "eins\nzwei\n"))
            .read()
            .unwrap_err()
            .to_string();
        assert!(error.contains("a.de: 1 line, but ") && error.contains("b.de has 2"), "{error}");
        let docids = Some(folder.file("c.ids", "1\n"));
        let reference = folder.file("d.de", "eins\nzwei\n");
        let error = Files { docids, ..files(reference.clone(), reference) }.read().unwrap_err();
        assert!(error.to_string().contains("1 document id, but "), "{error}");
    }

    #[test]
    fn documents_come_from_ids_given_or_beside() {
        let folder = Folder::new();
        let reference = folder.file("test.de", "eins\nzwei\ndrei\n");
        let hypothesis = folder.file("system.txt", "eins\nzwei\ndrei\n");
        folder.file("test.docids", "x\nx\ny\n");
        let request = files(hypothesis, reference);
        assert_eq!(request.read().unwrap().documents.unwrap().len(), 2);
        let docids = Some(folder.file("other", "x\ny\nz\n"));
        let set = Files { docids, ..request }.read().unwrap();
        assert_eq!(set.documents.unwrap().len(), 3);
    }

    #[test]
    fn json_lines_give_their_targets_and_documents() {
        let folder = Folder::new();
        let hypothesis = folder.file(
            "system.jsonl",
            "{\"id\": \"x\", \"source\": [\"one\", \"two\"], \"target\": [\"eins\", \"zwei\"]}\n\
             {\"id\": \"y\", \"source\": [\"three\"], \"target\": [\"drei\"]}\n",
        );
        let reference = folder.file("reference.de", "eins\nzwo\ndrei\n");
        let set = files(hypothesis.clone(), reference).read().unwrap();
        assert_eq!(set.systems[0].lines, ["eins", "zwei", "drei"]);
        let other = folder.file(
            "other.jsonl",
            "{\"id\": \"x\", \"source\": [\"eins\"]}\n\
             {\"id\": \"y\", \"source\": [\"zwei\", \"drei\"]}\n",
        );
        let error = files(hypothesis, other).read().unwrap_err().to_string();
        assert!(error.contains("document `x` has 2 segments, but `x` of "), "{error}");
    }

    #[test]
    fn an_empty_reference_can_be_a_missing_one() {
        let folder = Folder::new();
        let mut request =
            files(folder.file("a.de", "eins\nzwei\n"), folder.file("b.de", "eins\nzwei\n"));
        request.references.push(folder.file("c.de", "eins\n\n"));
        assert_eq!(request.read().unwrap().references.of_segment(1), ["zwei", ""]);
        request.empty_is_missing = true;
        assert_eq!(request.read().unwrap().references.of_segment(1), ["zwei"]);
    }
}
