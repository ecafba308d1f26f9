//! Finds the format of a file from its name and its first lines.

use super::file::TextFile;
use super::{Format, iwslt, jsonl, subtitles};
use crate::Result;

/// Endings that name a format.
const ENDINGS: &[(&str, Format)] = &[
    ("srt", Format::Srt),
    ("vtt", Format::Vtt),
    ("jsonl", Format::Jsonl),
    ("ndjson", Format::Jsonl),
    ("xml", Format::Iwslt),
    ("sgm", Format::Iwslt),
    ("sgml", Format::Iwslt),
];

/// The format of a file that is already read.
pub(super) fn format(file: &TextFile) -> Result<Format> {
    if let Some(at) = file.text.find('\0') {
        let remedy = "give a text file; of office and other binary formats, export the text";
        return Err(file.error(file.line_at(at), "this is not text").remedy(remedy));
    }
    let name = file.name().to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if let Some((_, format)) = ENDINGS.iter().find(|(known, _)| *known == ending) {
        return Ok(*format);
    }
    if name.starts_with("train.tags.") {
        return Ok(Format::Iwslt);
    }
    Ok(from_content(&file.text[file.start()..]))
}

fn from_content(text: &str) -> Format {
    let first = text.trim_start().lines().next().unwrap_or_default();
    if subtitles::is_vtt(text) {
        Format::Vtt
    } else if subtitles::is_srt(text) {
        Format::Srt
    } else if jsonl::is_document(first) {
        Format::Jsonl
    } else if iwslt::is_iwslt(text.trim_start()) {
        Format::Iwslt
    } else {
        Format::Lines
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(name: &str, text: &str) -> Format {
        format(&TextFile { path: name.into(), text: text.into() }).unwrap()
    }

    #[test]
    fn names_decide_first() {
        assert_eq!(found("a/set.en.XML", ""), Format::Iwslt);
        assert_eq!(found("train.tags.en-de.en.gz", "A cat."), Format::Iwslt);
        assert_eq!(found("a.jsonl.zst", "A cat."), Format::Jsonl);
        assert_eq!(found("film.en.srt", ""), Format::Srt);
        assert_eq!(found("film.VTT", ""), Format::Vtt);
        assert_eq!(found("a.en", "A cat."), Format::Lines);
    }

    #[test]
    fn content_decides_where_names_do_not() {
        assert_eq!(found("a.txt", "\u{feff}<?xml version=\"1.0\"?>"), Format::Iwslt);
        assert_eq!(found("a", "\n<doc docid=\"1\">\n"), Format::Iwslt);
        assert_eq!(found("a", "<url>x</url>\n"), Format::Iwslt);
        assert_eq!(found("a", "\u{feff}WEBVTT - a film\n"), Format::Vtt);
        assert_eq!(found("a", "WEBVTTX\n"), Format::Lines);
        assert_eq!(found("a", "\r\n1\r\n00:00:01,000 --> 00:00:02,000\r\n"), Format::Srt);
        assert_eq!(found("a", "1984\nwas a year\n"), Format::Lines);
        assert_eq!(found("a", "{\"source\": [\"a\"]}\n"), Format::Jsonl);
        assert_eq!(found("a", "{brackets} in a sentence\n"), Format::Lines);
        assert_eq!(found("a", "<i>Tags</i> in a sentence\n"), Format::Lines);
        assert_eq!(found("a", ""), Format::Lines);
    }

    #[test]
    fn binary_content_is_refused() {
        let file = TextFile { path: "a.docx".into(), text: "PK\n\0".into() };
        assert!(format(&file).unwrap_err().to_string().starts_with("a.docx:2: this is not text"));
    }

    proptest! {
        #[test]
        fn arbitrary_text_has_a_format_or_an_error(text in any::<String>()) {
            let _ = format(&TextFile { path: "a".into(), text });
        }
    }
}
