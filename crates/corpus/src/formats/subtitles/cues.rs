//! Finds the cues of an SRT or WebVTT file. Everything around their text is kept.

use std::ops::Range;

use super::super::Format;
use super::super::file::TextFile;
use super::timing::{self, Timing};
use crate::Result;

/// The largest number of cues; a day of live captions has fewer.
const MOST_CUES: usize = 1_000_000;
/// The largest size of a cue, which is a few lines on a screen.
const LONGEST_CUE: usize = 1 << 16;

/// A cue: when it is shown, and the byte ranges of its lines of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cue {
    pub timing: Timing,
    pub lines: Vec<Range<usize>>,
}

/// Finds the cues of a file.
pub(super) fn parse(file: &TextFile, format: Format) -> Result<Vec<Cue>> {
    let lines = file.lines();
    let mut reader = CueReader { file, format, lines: &lines, at: 0 };
    if format == Format::Vtt {
        reader.skip_header()?;
    }
    let mut cues = Vec::new();
    while let Some(cue) = reader.next_cue()? {
        if cues.len() == MOST_CUES {
            let problem = format!("more than {MOST_CUES} cues");
            return Err(file.error(reader.at, problem).remedy("split the file"));
        }
        cues.push(cue);
    }
    Ok(cues)
}

struct CueReader<'a> {
    file: &'a TextFile,
    format: Format,
    lines: &'a [Range<usize>],
    /// The current line, counted from 0.
    at: usize,
}

impl CueReader<'_> {
    fn line(&self, index: usize) -> Option<&str> {
        self.lines.get(index).map(|line| &self.file.text[line.clone()])
    }

    /// In WebVTT only empty lines are blank; in SRT, lines of spaces are too.
    fn is_blank(&self, line: &str) -> bool {
        if self.format == Format::Vtt { line.is_empty() } else { line.trim().is_empty() }
    }

    fn skip_header(&mut self) -> Result<()> {
        let first = self.line(0).unwrap_or_default();
        let rest = first.strip_prefix("WEBVTT");
        if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])) {
            return Err(self
                .file
                .error(1, "the first line is not WEBVTT")
                .remedy("add the line, or give --format srt if the file is SRT"));
        }
        self.at = 1;
        while self
            .line(self.at)
            .is_some_and(|line| !self.is_blank(line) && !timing::has_arrow(line))
        {
            self.at += 1;
        }
        Ok(())
    }

    /// The next cue, or none at the end of the file.
    fn next_cue(&mut self) -> Result<Option<Cue>> {
        loop {
            let Some(line) = self.line(self.at) else { return Ok(None) };
            if self.is_blank(line) {
                self.at += 1;
            } else if self.format == Format::Vtt && is_comment_or_style(line) {
                while self.line(self.at).is_some_and(|line| !self.is_blank(line)) {
                    self.at += 1;
                }
            } else {
                break;
            }
        }
        let begins_with_timing = self.line(self.at).is_some_and(timing::has_arrow);
        let named = self.line(self.at + 1).is_some_and(timing::has_arrow);
        let name = self.line(self.at).unwrap_or_default().trim();
        let is_name = self.format == Format::Vtt || name.bytes().all(|byte| byte.is_ascii_digit());
        if !begins_with_timing {
            if !(named && is_name) {
                return Err(self.file.error(self.at + 1, "a cue without timing").remedy(format!(
                    "put {} before the text, or join the text to the cue above it",
                    self.example()
                )));
            }
            self.at += 1;
        }
        let text = self.line(self.at).unwrap_or_default();
        let Some(timing) = timing::parse(text) else {
            let remedy = format!("write it as {}", self.example());
            return Err(self
                .file
                .error(self.at + 1, "a timing that cannot be read")
                .remedy(remedy));
        };
        let timing_line = self.at + 1;
        self.at += 1;
        let first = self.at;
        while let Some(line) = self.line(self.at).filter(|line| !self.is_blank(line)) {
            if timing::parse(line).is_some() {
                return Err(self
                    .file
                    .error(self.at + 1, format!("a timing inside the cue of line {timing_line}"))
                    .remedy("put an empty line before the next cue"));
            }
            self.at += 1;
        }
        let lines = self.lines[first..self.at].to_vec();
        let length: usize = lines.iter().map(Range::len).sum();
        if length > LONGEST_CUE {
            let problem = format!("a cue of {length} bytes, more than {LONGEST_CUE}");
            return Err(self
                .file
                .error(timing_line, problem)
                .remedy("put empty lines between cues"));
        }
        Ok(Some(Cue { timing, lines }))
    }

    fn example(&self) -> &'static str {
        match self.format {
            Format::Vtt => "00:01:02.000 --> 00:01:04.500",
            _ => "00:01:02,000 --> 00:01:04,500",
        }
    }
}

/// Whether a block of WebVTT is not a cue.
fn is_comment_or_style(line: &str) -> bool {
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    word == "NOTE" || (["STYLE", "REGION"].contains(&word) && line.trim_end() == word)
}
