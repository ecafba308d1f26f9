//! Subtitles: SRT and WebVTT.
//!
//! A sentence often spans several cues, and a cue may hold the end of one sentence and the
//! beginning of another. The segments are sentences: they are joined across cues for translation,
//! and the translation is split over the same cues, and over the lines in each, by length. Numbers,
//! timing, settings, comments, styles and tags are kept.

mod cues;
mod layout;
mod markup;
mod segment;
mod sentences;
mod split;
#[cfg(test)]
mod tests;
mod timing;
mod units;

use layout::SubtitleLayout;

use super::corpus::Corpus;
use super::file::TextFile;
use super::{Description, Format};
use crate::{Document, Error, Result, Segment};

pub(super) const SRT: Description = Description {
    name: "srt",
    ending: "srt",
    media_type: "application/x-subrip; charset=utf-8",
    known_endings: &["srt"],
    known_beginnings: &[],
    is_content: is_srt,
    read: |source, target| read(source, target, Format::Srt),
};

pub(super) const VTT: Description = Description {
    name: "vtt",
    ending: "vtt",
    media_type: "text/vtt; charset=utf-8",
    known_endings: &["vtt"],
    known_beginnings: &[],
    is_content: is_vtt,
    read: |source, target| read(source, target, Format::Vtt),
};

/// Reads the sentences of a subtitle file as one document, named after the file.
fn read(source: &TextFile, target: Option<&TextFile>, format: Format) -> Result<Corpus> {
    if let Some(target) = target {
        return Err(Error::new(format!("{format} files of two languages do not share their cues"))
            .in_file(&target.path)
            .remedy("align them first, and give the pairs as lines or as jsonl"));
    }
    let cues = cues::parse(source, format)?;
    let cues: Vec<_> =
        cues.into_iter().map(|cue| layout::MarkedCue::new(cue, source, format)).collect();
    let sentences = segment::sentences(&cues);
    let segments: Vec<_> =
        sentences.iter().map(|sentence| Segment::new(segment::text(sentence, &cues))).collect();
    let name = source.name();
    let id = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
    let documents =
        if segments.is_empty() { Vec::new() } else { vec![Document::new(id, segments)] };
    let layout = SubtitleLayout { text: source.text.clone(), format, cues, sentences };
    Ok(Corpus::new(documents, format, layout))
}

/// Whether a text begins like a WebVTT file.
fn is_vtt(text: &str) -> bool {
    text.lines().next().is_some_and(|line| {
        line.strip_prefix("WEBVTT")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    })
}

/// Whether a text begins like an SRT file: with a timing line, perhaps after a number.
fn is_srt(text: &str) -> bool {
    let mut lines = text.trim_start().lines();
    let first = lines.next().unwrap_or_default().trim();
    let number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    let timing_line = if number { lines.next().unwrap_or_default() } else { first };
    timing::parse(timing_line).is_some()
}
