//! Parsed cues, and how translations are put into them.

use std::io::{self, Write};
use std::ops::Range;

use super::super::Format;
use super::super::corpus::Layout;
use super::super::file::TextFile;
use super::cues::Cue;
use super::markup::{self, MarkedLine};
use super::segment::Sentence;
use super::split;
use super::timing::Timing;
use super::units::{self, Unit};

/// A cue with its lines parsed.
#[derive(Clone, Debug)]
pub(super) struct MarkedCue {
    pub timing: Timing,
    /// Whether any of its lines is sung.
    pub sung: bool,
    /// The lines of each speaker.
    pub speeches: Vec<Speech>,
    ranges: Vec<Range<usize>>,
    lines: Vec<MarkedLine>,
}

/// Consecutive lines of a cue by one speaker.
#[derive(Clone, Debug)]
pub(super) struct Speech {
    pub new_speaker: bool,
    lines: Range<usize>,
    words: Vec<Unit>,
}

impl MarkedCue {
    /// Parses the lines of a cue.
    pub fn new(cue: Cue, file: &TextFile, format: Format) -> Self {
        let lines: Vec<_> =
            cue.lines.iter().map(|line| markup::parse(&file.text[line.clone()], format)).collect();
        let mut speeches: Vec<Speech> = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            match speeches.last_mut().filter(|_| !line.new_speaker) {
                Some(speech) => {
                    let mut words = line.units.clone();
                    if let (Some(last), Some(first)) = (speech.words.last(), words.first_mut()) {
                        first.spaced = units::spaced_after(last, first);
                    }
                    speech.words.extend(words);
                    speech.lines.end = index + 1;
                }
                None => speeches.push(Speech {
                    new_speaker: line.new_speaker,
                    lines: index..index + 1,
                    words: line.units.clone(),
                }),
            }
        }
        let sung = lines.iter().any(|line| line.sung);
        Self { timing: cue.timing, sung, speeches, ranges: cue.lines, lines }
    }

    /// The words of a speech, over all its lines.
    pub fn words(&self, speech: usize) -> &[Unit] {
        &self.speeches[speech].words
    }

    /// The text of the cue with other words for each speech.
    fn render(&self, words: &[Vec<Unit>], source: &str, format: Format) -> String {
        let mut text = String::new();
        let mut any_line = false;
        for (speech, words) in self.speeches.iter().zip(words) {
            let with_words: Vec<usize> =
                speech.lines.clone().filter(|line| !self.lines[*line].units.is_empty()).collect();
            let weights: Vec<usize> =
                with_words.iter().map(|line| self.lines[*line].length()).collect();
            let parts = split::by_length(words, &weights);
            let mut parts = parts.into_iter();
            for index in speech.lines.clone() {
                let line = &self.lines[index];
                let range =
                    if line.units.is_empty() { None } else { Some(parts.next().unwrap_or(0..0)) };
                let rendered = match range {
                    None => source[self.ranges[index].clone()].to_owned(),
                    // An empty line would end the cue, so a line without words is dropped and its
                    // tags move to the line above.
                    Some(range) if range.is_empty() => {
                        text.push_str(&line.only_tags());
                        continue;
                    }
                    Some(range) => line.render(&words[range], format),
                };
                if any_line && index > 0 {
                    let line_end = self.ranges[index - 1].end..self.ranges[index].start;
                    text.push_str(&source[line_end]);
                }
                any_line = true;
                text.push_str(&rendered);
            }
        }
        text
    }
}

/// A subtitle file with slots for sentences.
#[derive(Clone, Debug)]
pub(super) struct SubtitleLayout {
    pub(super) text: String,
    pub(super) format: Format,
    pub(super) cues: Vec<MarkedCue>,
    pub(super) sentences: Vec<Sentence>,
}

impl Layout for SubtitleLayout {
    /// The offset of the text in the first cue of a sentence.
    fn place(&self, _: usize, index: usize) -> Option<(&str, usize)> {
        let first = self.sentences.get(index)?.first()?;
        let cue = self.cues.get(first.cue)?;
        let line = cue.speeches.get(first.speech)?.lines.start;
        Some((&self.text, cue.ranges.get(line)?.start))
    }

    /// Writes the file with a translation for each sentence.
    fn write(&self, translations: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
        let mut words: Vec<Vec<Vec<Unit>>> =
            self.cues.iter().map(|cue| vec![Vec::new(); cue.speeches.len()]).collect();
        for (sentence, translation) in self.sentences.iter().zip(translations.iter().flatten()) {
            let units = units::units(translation);
            let length = |words: &[Unit]| words.iter().map(Unit::length).sum::<usize>();
            let weights: Vec<_> = sentence
                .iter()
                .map(|part| length(&self.cues[part.cue].words(part.speech)[part.words.clone()]))
                .collect();
            for (part, range) in sentence.iter().zip(split::by_length(&units, &weights)) {
                let place = &mut words[part.cue][part.speech];
                let mut units = units[range].to_vec();
                if let (Some(last), Some(first)) = (place.last(), units.first_mut()) {
                    first.spaced = units::spaced_after(last, first);
                }
                place.extend(units);
            }
        }
        let mut end = 0;
        for (cue, words) in self.cues.iter().zip(&words) {
            let (Some(first), Some(last)) = (cue.ranges.first(), cue.ranges.last()) else {
                continue;
            };
            out.write_all(&self.text.as_bytes()[end..first.start])?;
            out.write_all(cue.render(words, &self.text, self.format).as_bytes())?;
            end = last.end;
        }
        out.write_all(&self.text.as_bytes()[end..])
    }
}
