//! `train.tags.en-de.en`: one sentence per line between lines of tags, in documents that end with
//! `</doc>`. Releases before 2017 have no `<doc>`; there a talk begins with its first tag.
//!
//! The text is not XML: nothing is escaped, and a sentence may contain `<`.

use super::super::file::TextFile;
use super::{MarkedDocument, MarkedSegment, attribute};
use crate::Result;

/// The tags of metadata lines.
const METADATA: &[&str] = &[
    "doc",
    "url",
    "keywords",
    "speaker",
    "talkid",
    "title",
    "description",
    "reviewer",
    "translator",
    "videopath",
    "videourl",
    "date",
    "dtime",
    "transcription",
    "transcript",
];
/// Tags whose content may span several lines.
const LONG_METADATA: &[&str] = &["title", "description", "keywords"];
/// Tags that follow the text of a talk.
const CLOSING_METADATA: &[&str] = &["reviewer", "translator", "transcription", "transcript"];

/// Whether a line is a tag rather than a sentence.
pub(super) fn is_metadata(line: &str) -> bool {
    tag_name(line.trim()).is_some()
}

/// The name of the tag that a line begins with, if it is one of this format.
fn tag_name(line: &str) -> Option<&'static str> {
    let rest = line.strip_prefix('<')?;
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric())?;
    let known = METADATA.iter().find(|name| name.eq_ignore_ascii_case(&rest[..end]))?;
    let ends_well = rest[end..].starts_with(|c: char| c == '>' || c == '/' || c.is_whitespace());
    ends_well.then_some(*known)
}

/// The state between two lines.
#[derive(Default)]
struct Reader {
    documents: Vec<MarkedDocument>,
    open: Option<MarkedDocument>,
    /// A tag that did not end on its line, and that line.
    unfinished: Option<(&'static str, usize)>,
    has_text: bool,
}

/// Splits a file into documents.
pub(super) fn parse(file: &TextFile) -> Result<Vec<MarkedDocument>> {
    let lines = file.lines();
    let has_doc_tags =
        lines.iter().any(|line| tag_name(file.text[line.clone()].trim()) == Some("doc"));
    let mut reader = Reader::default();
    for (index, range) in lines.into_iter().enumerate() {
        let number = index + 1;
        let whole = &file.text[range.clone()];
        let text = whole.trim();
        if let Some((name, line)) = reader.unfinished {
            if closes(text, name) {
                reader.unfinished = None;
            } else if tag_name(text).is_some() {
                let problem =
                    format!("a tag inside the <{name}> of line {line}, which does not end");
                return Err(file.error(number, problem).remedy(DAMAGED));
            }
            continue;
        }
        match tag_name(text) {
            Some("doc") if text.starts_with("</") => {
                let Some(document) = reader.open.take() else {
                    return Err(file.error(number, "</doc> without <doc>").remedy(DAMAGED));
                };
                reader.documents.push(document);
            }
            Some("doc") => {
                if let Some(open) = &reader.open {
                    let problem =
                        format!("<doc> inside the document that began at line {}", open.line);
                    return Err(file.error(number, problem).remedy(DAMAGED));
                }
                reader.begin(number, attribute(text, "docid"));
            }
            Some(name) => {
                reader.metadata(name, text, number, has_doc_tags);
                let opens = !text.starts_with("</") && !text.ends_with("/>");
                if LONG_METADATA.contains(&name) && opens && !closes(text, name) {
                    reader.unfinished = Some((name, number));
                }
            }
            None if reader.open.is_none() && text.is_empty() => {}
            None if reader.open.is_none() && has_doc_tags => {
                return Err(file.error(number, "text outside of a document").remedy(DAMAGED));
            }
            None => {
                if reader.open.is_none() {
                    reader.begin(number, None);
                }
                reader.has_text |= !text.is_empty();
                let start = range.start + (whole.len() - whole.trim_start().len());
                let range = start..start + text.len();
                let segment = MarkedSegment { range, text: text.to_owned() };
                if let Some(open) = &mut reader.open {
                    open.segments.push(segment);
                }
            }
        }
    }
    if let Some((name, line)) = reader.unfinished {
        let problem = format!("the file ends inside the <{name}> of this line");
        return Err(file.error(line, problem).remedy(DAMAGED));
    }
    if let Some(open) = reader.open.take() {
        if has_doc_tags {
            let problem = format!("the file ends inside document `{}`, which began here", open.id);
            return Err(file.error(open.line, problem).remedy(DAMAGED));
        }
        reader.documents.push(open);
    }
    Ok(reader.documents)
}

const DAMAGED: &str = "the file is damaged or cut off; fetch it again";

fn closes(text: &str, name: &str) -> bool {
    text.to_ascii_lowercase().contains(&format!("</{name}>"))
}

impl Reader {
    fn begin(&mut self, line: usize, id: Option<&str>) {
        let number = self.documents.len() + 1;
        let id = id.map_or_else(|| number.to_string(), str::to_owned);
        self.open = Some(MarkedDocument { id, line, segments: Vec::new() });
        self.has_text = false;
    }

    /// Handles a line of metadata, which may begin a new talk or give its number.
    fn metadata(&mut self, name: &str, text: &str, line: usize, has_doc_tags: bool) {
        if has_doc_tags {
            return;
        }
        let closing = CLOSING_METADATA.contains(&name);
        if (self.has_text || self.open.is_none()) && !closing {
            self.documents.extend(self.open.take());
            self.begin(line, None);
        }
        let content = text.split_once('>').and_then(|(_, rest)| rest.split_once("</"));
        if let (Some(open), "talkid", Some((id, _))) = (&mut self.open, name, content) {
            id.trim().clone_into(&mut open.id);
        }
    }
}
