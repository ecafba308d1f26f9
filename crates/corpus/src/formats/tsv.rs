//! `document<TAB>sentence` lines: an example of a new format, for the book and its test.

use super::corpus::Corpus;
use super::file::TextFile;
use super::slots::{Escape, SlotLayout};
use super::{Description, Format};
use crate::{Document, Error, Result, Segment};

pub(super) const TSV: Description = Description {
    name: "tsv",
    ending: "tsv",
    media_type: "text/tab-separated-values; charset=utf-8",
    known_endings: &["tsv"],
    known_beginnings: &[],
    is_content: |_| false,
    read,
};

fn read(source: &TextFile, target: Option<&TextFile>) -> Result<Corpus> {
    if let Some(target) = target {
        return Err(Error::new("this format has one language").in_file(&target.path));
    }
    let mut documents: Vec<Document> = Vec::new();
    let mut slots = Vec::new();
    for (index, line) in source.lines().into_iter().enumerate() {
        let Some((id, sentence)) = source.text[line.clone()].split_once('\t') else {
            return Err(source.error(index + 1, "no tab between document and sentence"));
        };
        slots.push(line.end - sentence.len()..line.end);
        match documents.last_mut().filter(|document| document.id == id) {
            Some(document) => document.segments.push(Segment::new(sentence)),
            None => documents.push(Document::new(id, vec![Segment::new(sentence)])),
        }
    }
    // Translations replace the sentences; the rest is kept.
    let layout = SlotLayout { text: source.text.clone(), slots, escape: Escape::Line };
    Ok(Corpus::new(documents, Format::Tsv, layout))
}
