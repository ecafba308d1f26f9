//! Detects the format of a file from its name and its first lines.

use super::Format;
use super::file::TextFile;
use crate::Result;

/// The format of a file that is already read.
pub(super) fn format(file: &TextFile) -> Result<Format> {
    if let Some(at) = file.text.find('\0') {
        let remedy = "give a text file; export the text from office and other binary formats";
        return Err(file.error(file.line_at(at), "this is not text").remedy(remedy));
    }
    let name = file.name().to_ascii_lowercase();
    let text = &file.text[file.start()..];
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_named = |format: &&Format| {
        let known = format.description();
        known.known_endings.contains(&ending)
            || known.known_beginnings.iter().any(|beginning| name.starts_with(beginning))
    };
    let by_name = Format::ALL.iter().find(is_named);
    let by_content = || Format::ALL.iter().find(|format| (format.description().is_content)(text));
    Ok(by_name.or_else(by_content).copied().unwrap_or(Format::Lines))
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
    fn rejects_binary_content() {
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
