//! XML with `seg` elements in `doc` elements, as in IWSLT's and NIST's test sets.
//!
//! No document type is fetched, no entity can be declared, and depth and size are bounded.

use quick_xml::Reader;
use quick_xml::events::{BytesDecl, BytesStart, Event};

use super::super::entities;
use super::super::file::{LineCounter, TextFile};
use super::{MarkedDocument, MarkedSegment, attribute};
use crate::{Error, Result};

/// The largest depth; test sets have five levels.
const DEEPEST: usize = 32;
/// The largest size; the largest published test set is a thousandth of this.
const LARGEST: usize = 1 << 30;
/// The largest size of a segment, which is a sentence.
const LONGEST_SEGMENT: usize = 1 << 20;

const DAMAGED: &str = "the file is damaged or cut off; fetch it again";

/// An element that is open: its name in lower case, its line, and where its content begins.
struct Open {
    name: String,
    line: usize,
    content: usize,
}

/// Text is read and written as UTF-8, so a declaration of another encoding would be wrong in the
/// output.
fn check_encoding(declaration: &BytesDecl<'_>, file: &TextFile, line: usize) -> Result<()> {
    let Some(Ok(encoding)) = declaration.encoding() else { return Ok(()) };
    let name = String::from_utf8_lossy(&encoding).to_ascii_lowercase();
    if ["utf-8", "utf8", "us-ascii", "ascii"].contains(&name.as_str()) {
        return Ok(());
    }
    let problem = format!("the XML declares the encoding {}", name.to_uppercase());
    let remedy = "convert the file to UTF-8, and declare that";
    Err(file.error(line, problem).remedy(remedy))
}

/// Finds the documents and their segments.
pub(super) fn parse(file: &TextFile) -> Result<Vec<MarkedDocument>> {
    if file.text.len() > LARGEST {
        let problem = format!("{} bytes of XML, more than {LARGEST}", file.text.len());
        return Err(Error::new(problem).in_file(&file.path).remedy("split the set"));
    }
    // The reader's offsets do not include a byte order mark, so it is cut off first.
    let mark = file.start();
    let mut reader = Reader::from_str(&file.text[mark..]);
    // It occurs in titles and URLs of talks, and does no harm.
    reader.config_mut().allow_dangling_amp = true;
    let mut lines = LineCounter::default();
    let mut open: Vec<Open> = Vec::new();
    let mut documents: Vec<MarkedDocument> = Vec::new();
    loop {
        let start = mark + reader.buffer_position() as usize;
        let event = reader.read_event();
        let line = lines.line_at(&file.text, start);
        let end = mark + reader.buffer_position() as usize;
        match event {
            Err(error) => {
                let at = (mark + reader.error_position() as usize).max(start);
                let line = lines.line_at(&file.text, at);
                return Err(file.error(line, format!("not valid XML: {error}")).remedy(DAMAGED));
            }
            Ok(Event::Decl(declaration)) => check_encoding(&declaration, file, line)?,
            Ok(Event::DocType(declaration)) if declaration.contains(&b'[') => {
                return Err(file
                    .error(line, "declarations inside the document type")
                    .remedy("remove them; entities are not read, for safety"));
            }
            Ok(Event::Start(tag)) => {
                if open.len() == DEEPEST {
                    let problem = format!("elements more than {DEEPEST} deep");
                    return Err(file.error(line, problem).remedy("this is not a test set"));
                }
                let name = name(&tag);
                begin(&name, &file.text[start..end], line, &open, &mut documents, file)?;
                open.push(Open { name, line, content: end });
            }
            Ok(Event::Empty(tag)) => {
                let name = name(&tag);
                begin(&name, &file.text[start..end], line, &open, &mut documents, file)?;
                // Nothing to translate, but the other side may have text here.
                if name == "seg"
                    && let Some(document) = documents.last_mut()
                {
                    let segment = MarkedSegment { range: end..end, text: String::new() };
                    document.segments.push(segment);
                }
            }
            Ok(Event::End(_)) => {
                let Some(closed) = open.pop() else { continue };
                if closed.name == "seg" {
                    let segment = segment(file, &closed, start)?;
                    if let Some(document) = documents.last_mut() {
                        document.segments.push(segment);
                    }
                }
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
        }
    }
    if let Some(unfinished) = open.last() {
        let problem = format!("the file ends inside the <{}> of this line", unfinished.name);
        return Err(file.error(unfinished.line, problem).remedy(DAMAGED));
    }
    if documents.is_empty() {
        return Err(Error::new("XML without a <doc>")
            .in_file(&file.path)
            .remedy("give a test set with <seg> elements in <doc> elements, or another --format"));
    }
    Ok(documents)
}

fn name(tag: &BytesStart<'_>) -> String {
    String::from_utf8_lossy(tag.local_name().as_ref()).to_ascii_lowercase()
}

/// Records a document, and checks that segments are inside one.
fn begin(
    name: &str,
    tag: &str,
    line: usize,
    open: &[Open],
    documents: &mut Vec<MarkedDocument>,
    file: &TextFile,
) -> Result<()> {
    let inside = |name: &str| open.iter().find(|open| open.name == name);
    match name {
        "doc" => {
            if let Some(outer) = inside("doc") {
                let problem = format!("<doc> inside the <doc> of line {}", outer.line);
                return Err(file.error(line, problem).remedy(DAMAGED));
            }
            let number = documents.len() + 1;
            let id = attribute(tag, "docid").or_else(|| attribute(tag, "id"));
            let id = id.map_or_else(|| number.to_string(), entities::decode);
            documents.push(MarkedDocument { id, line, segments: Vec::new() });
            Ok(())
        }
        "seg" if inside("doc").is_none() => {
            Err(file.error(line, "<seg> outside of a <doc>").remedy(DAMAGED))
        }
        "seg" => match inside("seg") {
            Some(outer) => {
                let problem = format!("<seg> inside the <seg> of line {}", outer.line);
                Err(file.error(line, problem).remedy(DAMAGED))
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The text of a segment without tags, comments and surrounding spaces.
fn segment(file: &TextFile, seg: &Open, end: usize) -> Result<MarkedSegment> {
    let whole = &file.text[seg.content..end];
    if whole.len() > LONGEST_SEGMENT {
        let problem = format!("a segment of {} bytes, more than {LONGEST_SEGMENT}", whole.len());
        return Err(file.error(seg.line, problem).remedy("this is not a sentence"));
    }
    let start = seg.content + (whole.len() - whole.trim_start().len());
    let inner = whole.trim();
    let text = if inner.contains('<') { without_tags(inner) } else { entities::decode(inner) };
    let words: Vec<_> = text.split_ascii_whitespace().collect();
    // Line breaks and runs of spaces become single spaces.
    let text = if text.contains('\n') { words.join(" ") } else { text };
    Ok(MarkedSegment { range: start..start + inner.len(), text })
}

fn without_tags(inner: &str) -> String {
    let mut reader = Reader::from_str(inner);
    reader.config_mut().allow_dangling_amp = true;
    let mut text = String::new();
    loop {
        let start = reader.buffer_position() as usize;
        let event = reader.read_event();
        let raw = &inner[start..(reader.buffer_position() as usize).max(start)];
        match event {
            Ok(Event::Text(_) | Event::GeneralRef(_)) => text.push_str(&entities::decode(raw)),
            Ok(Event::CData(data)) => text.push_str(&String::from_utf8_lossy(&data)),
            Ok(Event::Eof) | Err(_) => return text.trim().to_owned(),
            Ok(_) => {}
        }
    }
}
