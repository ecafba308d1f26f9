//! JSON lines: one document per line, `{"id": …, "source": […], "target": […]}`.
//!
//! Other fields are allowed and kept. A translation goes into `target`; the rest of the line stays
//! the same, byte for byte.

use std::io::{self, Write};
use std::ops::Range;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::corpus::{Corpus, Layout};
use super::file::TextFile;
use super::ids::DocumentIds;
use super::{Description, Format};
use crate::{Document, Error, Result, Segment};

pub(super) const JSONL: Description = Description {
    name: "jsonl",
    ending: "jsonl",
    media_type: "application/jsonl",
    known_endings: &["jsonl", "ndjson"],
    known_beginnings: &[],
    is_content: |text| is_document(text.trim_start().lines().next().unwrap_or_default()),
    read,
};

/// A line with its raw values.
#[derive(Debug, Deserialize)]
struct Line<'a> {
    #[serde(borrow, default, deserialize_with = "as_written")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    source: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "as_written")]
    target: Option<&'a RawValue>,
}

/// Keeps `null` as a value, because its position in the line matters.
fn as_written<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Where the target of each document is.
#[derive(Clone, Debug)]
struct JsonlLayout {
    text: String,
    targets: Vec<TargetPlace>,
}

#[derive(Clone, Debug)]
struct TargetPlace {
    range: Range<usize>,
    /// Whether the field is missing and must be inserted here.
    missing: bool,
}

/// Reads documents from JSON lines. A target file has the translations as its `source`.
fn read(source: &TextFile, target: Option<&TextFile>) -> Result<Corpus> {
    let (mut documents, layout) = parse(source)?;
    if let Some(target) = target {
        let (translated, _) = parse(target)?;
        if translated.len() != documents.len() {
            let problem = format!(
                "{} documents, but {} has {}",
                documents.len(),
                target.path.display(),
                translated.len()
            );
            let remedy = "both files must have the same documents in the same order";
            return Err(Error::new(problem).in_file(&source.path).remedy(remedy));
        }
        for (document, other) in documents.iter_mut().zip(translated) {
            let (left, right) = (document.segments.len(), other.segments.len());
            if document.id != other.id || left != right {
                let problem = format!(
                    "document `{}` has {left} segments, document `{}` of {} has {right}",
                    document.id,
                    other.id,
                    target.path.display()
                );
                let remedy = "both files must have the same documents in the same order";
                return Err(Error::new(problem).in_file(&source.path).remedy(remedy));
            }
            for (segment, other) in document.segments.iter_mut().zip(other.segments) {
                segment.target = Some(other.source);
            }
        }
    }
    Ok(Corpus::new(documents, Format::Jsonl, layout))
}

/// Whether a line is a document of this format.
fn is_document(line: &str) -> bool {
    line.trim_start().starts_with('{') && serde_json::from_str::<Line<'_>>(line).is_ok()
}

fn parse(file: &TextFile) -> Result<(Vec<Document>, JsonlLayout)> {
    let mut ids = DocumentIds::default();
    let mut documents = Vec::new();
    let mut targets = Vec::new();
    for (index, range) in file.lines().into_iter().enumerate() {
        let text = &file.text[range.clone()];
        if text.trim().is_empty() {
            continue;
        }
        let number = index + 1;
        let (line, document) = parse_line(text, file, number)?;
        ids.begin(&document.id, number, file)?;
        documents.push(document);
        let place = |value: &RawValue| {
            // A raw value borrows from the line, so the pointer difference is its offset.
            let start = range.start + (value.get().as_ptr() as usize - text.as_ptr() as usize);
            start..start + value.get().len()
        };
        let range = line.target.map_or_else(
            || {
                let end = place(line.source).end;
                end..end
            },
            place,
        );
        targets.push(TargetPlace { range, missing: line.target.is_none() });
    }
    Ok((documents, JsonlLayout { text: file.text.clone(), targets }))
}

/// The document of one line, for reading a file line by line; `file` is for errors.
pub(super) fn document(text: &str, file: &TextFile, number: usize) -> Result<Document> {
    parse_line(text, file, number).map(|(_, document)| document)
}

fn parse_line<'a>(text: &'a str, file: &TextFile, number: usize) -> Result<(Line<'a>, Document)> {
    let line: Line<'_> = serde_json::from_str(text).map_err(|error| {
        file.error(number, format!("not a document: {error}"))
            .remedy(r#"a line is {"id": "…", "source": ["…"], "target": ["…"]}"#)
    })?;
    let id = id(&line, file, number)?;
    let sources = texts(line.source, "source", file, number)?;
    let target = line.target.filter(|value| value.get() != "null");
    let target = target.map(|value| texts(value, "target", file, number)).transpose()?;
    if let Some(target) = target.as_ref().filter(|target| target.len() != sources.len()) {
        let problem =
            format!("{} source segments, but {} target segments", sources.len(), target.len());
        return Err(file.error(number, problem).remedy("every segment needs a translation"));
    }
    let segments = match target {
        Some(target) => sources.into_iter().zip(target).map(|(s, t)| Segment::pair(s, t)).collect(),
        None => sources.into_iter().map(Segment::new).collect(),
    };
    Ok((line, Document::new(id, segments)))
}

fn id(line: &Line<'_>, file: &TextFile, number: usize) -> Result<String> {
    let value = line.id.map(|value| serde_json::from_str(value.get())).transpose();
    match value {
        Ok(None | Some(serde_json::Value::Null)) => Ok(number.to_string()),
        Ok(Some(serde_json::Value::String(id))) => Ok(id),
        Ok(Some(serde_json::Value::Number(id))) => Ok(id.to_string()),
        _ => Err(file.error(number, "an `id` that is neither text nor a number")),
    }
}

fn texts(value: &RawValue, field: &str, file: &TextFile, number: usize) -> Result<Vec<String>> {
    serde_json::from_str(value.get()).map_err(|_| {
        file.error(number, format!("`{field}` is not a list of texts"))
            .remedy(format!(r#"write it as "{field}": ["first", "second"]"#))
    })
}

impl Layout for JsonlLayout {
    /// An offset in the line of the document.
    fn place(&self, document: usize, _: usize) -> Option<(&str, usize)> {
        Some((&self.text, self.targets.get(document)?.range.start))
    }

    /// Writes the lines with the translations as their target.
    fn write(&self, translations: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
        let mut end = 0;
        for (place, texts) in self.targets.iter().zip(translations) {
            out.write_all(&self.text.as_bytes()[end..place.range.start])?;
            if place.missing {
                out.write_all(b", \"target\": ")?;
            }
            serde_json::to_writer(&mut *out, texts)?;
            end = place.range.end;
        }
        out.write_all(&self.text.as_bytes()[end..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(name: &str, text: &str) -> TextFile {
        TextFile { path: name.into(), text: text.into() }
    }

    fn corpus(text: &str) -> Result<Corpus> {
        read(&file("a.jsonl", text), None)
    }

    fn message(text: &str) -> String {
        corpus(text).unwrap_err().to_string()
    }

    #[test]
    fn targets_are_replaced_and_the_rest_is_kept() {
        let text = "\u{feff}{ \"target\" : [ \"x\", \"y\" ],\t\"source\":[\"a \\u00e9\",\"b\"], \"year\":1.50}\r\n\n\
                    {\"source\": [\"c\"], \"id\": 7}";
        let corpus = corpus(text).unwrap();
        assert_eq!(corpus.documents[0].id, "1");
        assert_eq!(corpus.documents[1].id, "7");
        assert_eq!(corpus.documents[0].segments[0], Segment::pair("a é", "x"));
        assert_eq!(corpus.documents[1].segments[0], Segment::new("c"));
        let mut out = Vec::new();
        let translations = [vec!["A\n\"".to_owned(), "B".to_owned()], vec!["C".to_owned()]];
        corpus.write_translation(&translations, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\u{feff}{ \"target\" : [\"A\\n\\\"\",\"B\"],\t\"source\":[\"a \\u00e9\",\"b\"], \"year\":1.50}\r\n\n\
             {\"source\": [\"c\"], \"target\": [\"C\"], \"id\": 7}"
        );
    }

    #[test]
    fn a_null_target_counts_as_missing_and_is_replaced() {
        let corpus = corpus("{\"source\":[\"a\"],\"target\":null}\n").unwrap();
        assert_eq!(corpus.documents[0].segments[0].target, None);
        let mut out = Vec::new();
        corpus.write_translation(&[vec!["A".into()]], &mut out).unwrap();
        assert_eq!(out, b"{\"source\":[\"a\"],\"target\":[\"A\"]}\n");
    }

    #[test]
    fn a_target_file_is_paired_by_document() {
        let source = file("a.jsonl", "{\"id\":\"x\",\"source\":[\"a\"]}\n");
        let target = file("b.jsonl", "{\"id\":\"x\",\"source\":[\"A\"]}\n");
        let corpus = read(&source, Some(&target)).unwrap();
        assert_eq!(corpus.documents[0].segments[0], Segment::pair("a", "A"));
        let target = file("b.jsonl", "{\"id\":\"x\",\"source\":[\"A\",\"B\"]}\n");
        let message = read(&source, Some(&target)).unwrap_err().to_string();
        assert!(message.contains("`x` has 1 segments, document `x` of b.jsonl has 2"), "{message}");
        let message = read(&source, Some(&file("b.jsonl", ""))).unwrap_err().to_string();
        assert!(message.contains("1 documents, but b.jsonl has 0"), "{message}");
    }

    #[test]
    fn errors_name_the_line() {
        let good = "{\"id\":\"x\",\"source\":[]}\n";
        assert!(
            message(&format!("{good}{{\"source\":[\"a\"")).starts_with("a.jsonl:2: not a document")
        );
        assert!(
            message(&format!("{good}{good}"))
                .contains("a.jsonl:2: document `x` appears again, after line 1")
        );
        assert!(message("{\"source\":\"a\"}").contains("`source` is not a list of texts"));
        assert!(message("{\"id\":[],\"source\":[]}").contains("neither text nor a number"));
        let text = message("{\"source\":[\"a\"],\"target\":[]}");
        assert!(text.contains("1 source segments, but 0 target segments"), "{text}");
    }

    fn strings() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(any::<String>(), 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn what_is_written_is_read(
            documents in prop::collection::vec((strings(), any::<bool>()), 0..4),
            spaces in "[ \t]{0,2}",
        ) {
            let mut parts = Vec::new();
            for (index, (sources, with_target)) in documents.iter().enumerate() {
                let sources = serde_json::to_string(sources).unwrap();
                let target = if *with_target { format!("\"target\":{spaces}{sources},") } else { String::new() };
                parts.push(format!("{spaces}{{{target}\"source\":{spaces}{sources}{spaces},\"id\":{index},\"x\":[1.0]}}\n"));
            }
            let text = parts.concat();
            let read_back = corpus(&text).unwrap();
            let sources: Vec<Vec<String>> = documents.iter().map(|(sources, _)| sources.clone()).collect();
            let mut out = Vec::new();
            read_back.write_translation(&sources, &mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            prop_assert_eq!(out.lines().count(), text.lines().count());
            let again = corpus(&out).unwrap();
            for (document, sources) in again.documents.iter().zip(&sources) {
                let targets: Vec<_> = document.segments.iter().map(|s| s.target.clone().unwrap()).collect();
                prop_assert_eq!(&targets, sources);
            }
            if documents.iter().all(|(_, with_target)| *with_target) {
                prop_assert_eq!(out, text);
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text in any::<String>(), fields in "[{}\\[\\]\":,a sourcetagid\n\\\\]{0,60}") {
            let _ = corpus(&text);
            let _ = corpus(&fields);
            let _ = corpus(&format!("{{\"source\":{fields}}}"));
            let _ = is_document(&fields);
        }
    }
}
