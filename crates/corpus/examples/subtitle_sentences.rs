//! Measures how well sentences are recovered from subtitles: cuts the lines of a corpus into SRT
//! cues, reads them again, and counts the lines that come back as exactly one segment.
//!
//! ```text
//! cargo run --release -p abridge-corpus --example subtitle_sentences -- tst2015.en
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

use abridge_corpus::{Document, Error, Input, Result, read};

/// Two lines on a screen.
const LONGEST_CUE: usize = 80;
const LONGEST_LINE: usize = 42;
/// How long a cue is shown, and the pauses after a cue and after a document, in milliseconds.
const SHOWN: usize = 2500;
const PAUSE: usize = 100;
const LONG_PAUSE: usize = 10_000;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: subtitle_sentences SOURCE");
        return ExitCode::from(1);
    };
    match measure(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(path: &str) -> Result<()> {
    let documents = read(&Input::new(path))?.documents;
    let (text, cues) = subtitles(&documents);
    let name = format!("abridge-subtitle-sentences-{}.srt", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, &text).map_err(|error| Error::io("write", &file, error))?;
    let corpus = read(&Input::new(&file));
    std::fs::remove_file(&file).map_err(|error| Error::io("remove", &file, error))?;
    let corpus = corpus?;

    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let segments = corpus.documents.iter().flat_map(|document| &document.segments);
    for segment in segments.clone() {
        *found.entry(&segment.source).or_default() += 1;
    }
    let (mut lines, mut whole) = (0, 0);
    for segment in documents.iter().flat_map(|document| &document.segments) {
        let line = segment.source.split_whitespace().collect::<Vec<_>>().join(" ");
        lines += 1;
        if let Some(count) = found.get_mut(line.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            whole += 1;
        }
    }
    let sources: Vec<_> = segments.map(|segment| segment.source.clone()).collect();
    let mut written = Vec::new();
    corpus.write_translation(&[sources], &mut written)?;
    let same = if written == text.as_bytes() { "the same bytes" } else { "other bytes" };
    println!(
        "{path}: {lines} lines in {cues} cues, {} segments, {whole} lines found as one; written back: {same}",
        corpus.segments()
    );
    Ok(())
}

/// Cuts documents into cues. After two lines in five, the next line continues in the same cue.
fn subtitles(documents: &[Document]) -> (String, usize) {
    let mut writer = Writer::default();
    let mut lines = 0;
    for document in documents {
        for segment in &document.segments {
            for word in segment.source.split_whitespace() {
                if writer.cue.len() + 1 + word.len() > LONGEST_CUE {
                    writer.finish_cue();
                }
                if !writer.cue.is_empty() {
                    writer.cue.push(' ');
                }
                writer.cue.push_str(word);
            }
            if lines % 5 > 1 {
                writer.finish_cue();
            }
            lines += 1;
        }
        writer.finish_cue();
        writer.clock += LONG_PAUSE;
    }
    (writer.text, writer.cues)
}

#[derive(Default)]
struct Writer {
    text: String,
    cue: String,
    cues: usize,
    clock: usize,
}

impl Writer {
    fn finish_cue(&mut self) {
        if self.cue.is_empty() {
            return;
        }
        let cue = std::mem::take(&mut self.cue);
        let mut lines = String::new();
        let mut length = 0;
        for word in cue.split(' ') {
            if length > 0 {
                let fits = length + 1 + word.len() <= LONGEST_LINE;
                lines.push(if fits { ' ' } else { '\n' });
                length = if fits { length + 1 } else { 0 };
            }
            lines.push_str(word);
            length += word.len();
        }
        self.cues += 1;
        let (number, start, end) = (self.cues, moment(self.clock), moment(self.clock + SHOWN));
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{number}\n{start} --> {end}\n{lines}\n\n");
        self.clock += SHOWN + PAUSE;
    }
}

fn moment(at: usize) -> String {
    let (hours, minutes, seconds) = (at / 3_600_000, at / 60_000 % 60, at / 1000 % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02},{:03}", at % 1000)
}
