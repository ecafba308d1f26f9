//! Line by line: every line is translated at once, and a blank line starts a new document.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};

use abridge_base::files::OutputFile;
use abridge_base::{Error, Result, tell};
use abridge_translate::{BeamSettings, Control, Prose, Session, Translation, Translator, Turn};
use anyhow::Context;

use super::render::{Place, record};
use super::{Mode, Translate};

/// The most lines that are translated together if they are already available: a file through a pipe
/// is then nearly as fast as a file.
const AT_ONCE: usize = 64;

/// The longest line that is read, in bytes, in case the input has no line ends.
const LONGEST_LINE: u64 = 16 << 20;

/// What some editors put before the first character of a file.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A line of the input, without its end.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    text: String,
    /// Whether a line end follows; the last line may have none.
    is_ended: bool,
    /// Whether a byte order mark precedes it.
    is_marked: bool,
}

/// Translates standard input.
pub fn run(
    arguments: &Translate,
    output: Option<&OutputFile>,
    translator: &Translator,
    settings: &BeamSettings,
) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() && !arguments.quiet {
        tell!("One sentence per line; a blank line starts a new document; Ctrl-D ends.");
    }
    let (send, lines) = sync_channel::<Result<Line>>(AT_ONCE);
    // Not joined: it may block on a line that never comes after the receiver is gone.
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut number = 0;
        while let Some(line) = next_line(&mut input, &mut number) {
            let failed = line.is_err();
            if send.send(line).is_err() || failed {
                break;
            }
        }
    });
    let mut stream = Stream {
        arguments,
        translator,
        settings,
        session: translator.session(arguments.context_size)?,
        line: 0,
        document: 1,
        index: 0,
        sentences: 0,
        notes: Vec::new(),
    };
    let result = match output {
        Some(output) => {
            let mut out = output.open_growing()?;
            let result = stream.answer_all(&lines, &mut out);
            // Translations before an error are kept.
            out.finish()?;
            result
        }
        None => stream.answer_all(&lines, &mut std::io::stdout().lock()),
    };
    if !arguments.quiet {
        stream.notes.iter().for_each(|note| tell!("note: {note}"));
    }
    result
}

/// The next line; an error if it is not UTF-8 or too long.
fn next_line(input: &mut impl BufRead, number: &mut usize) -> Option<Result<Line>> {
    let mut bytes = Vec::new();
    *number += 1;
    let place = std::path::Path::new("standard input");
    let wrong = |problem: String, remedy: &str| {
        Some(Err(Error::new(problem).in_file(place).at_line(*number).remedy(remedy)))
    };
    match input.take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) => return Some(Err(Error::io("read", place, error))),
    }
    if bytes.len() as u64 > LONGEST_LINE {
        let longest = LONGEST_LINE >> 20;
        return wrong(format!("a line of more than {longest} MiB"), "insert line breaks");
    }
    let is_ended = bytes.ends_with(b"\n");
    if is_ended {
        bytes.pop();
    }
    let Ok(mut text) = String::from_utf8(bytes) else {
        return wrong("invalid UTF-8".into(), "convert it to UTF-8, for instance with iconv");
    };
    let is_marked = *number == 1 && text.starts_with(BYTE_ORDER_MARK);
    if is_marked {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Some(Ok(Line { text, is_ended, is_marked }))
}

struct Stream<'a> {
    arguments: &'a Translate,
    translator: &'a Translator,
    settings: &'a BeamSettings,
    /// The document that the next line belongs to.
    session: Session,
    line: usize,
    document: usize,
    index: usize,
    sentences: usize,
    notes: Vec<String>,
}

impl Stream<'_> {
    fn answer_all(
        &mut self,
        lines: &Receiver<Result<Line>>,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        while let Ok(first) = lines.recv() {
            let mut batch = vec![first?];
            let mut failure = None;
            while batch.len() < AT_ONCE
                && let Ok(line) = lines.try_recv()
            {
                match line {
                    Ok(line) => batch.push(line),
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            // The lines before a broken one are translated before the error is returned.
            self.answer(&batch, out)?;
            out.flush()?;
            if let Some(error) = failure {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Translates a batch of lines, and writes one line for each.
    fn answer(&mut self, lines: &[Line], out: &mut dyn Write) -> anyhow::Result<()> {
        let language = self.arguments.prose_language(Some(self.translator));
        let prose: Vec<Prose> = lines
            .iter()
            .map(|line| {
                let text = &line.text;
                if self.arguments.segment { Prose::new(text, language) } else { Prose::whole(text) }
            })
            .collect();
        // Documents: the open one, and those that begin after a blank line. All paragraphs of prose
        // are one document.
        let arguments = self.arguments;
        let is_break = |prose: &Prose| prose.sentences.is_empty() && !arguments.segment;
        let documents: Vec<&[Prose]> = prose.split(is_break).collect();
        let mut sessions = vec![self.session.clone()];
        for _ in 1..documents.len() {
            sessions.push(self.translator.session(self.arguments.context_size)?);
        }
        let mut turns: Vec<Turn<'_>> = sessions
            .iter_mut()
            .zip(&documents)
            .map(|(session, document)| Turn {
                session,
                sentences: document
                    .iter()
                    .flat_map(|prose| &prose.sentences)
                    .map(String::as_str)
                    .collect(),
            })
            .collect();
        let mode = self.arguments.mode();
        let attention = matches!(mode, Mode::Json | Mode::Explain);
        let control = Control { attention, ..Control::default() };
        let translations = self.translator.translate_turns(&mut turns, self.settings, &control)?;
        self.session = sessions.pop().context("there is always a document")?;

        let mut found = translations.into_iter().flatten();
        for (line, prose) in lines.iter().zip(&prose) {
            self.line += 1;
            if is_break(prose) {
                self.document += 1;
                self.index = 0;
            }
            let own: Vec<Translation> = found.by_ref().take(prose.sentences.len()).collect();
            self.write(line, prose, &own, mode, out)?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        line: &Line,
        prose: &Prose,
        translations: &[Translation],
        mode: Mode,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut texts = Vec::with_capacity(translations.len());
        for (source, translation) in prose.sentences.iter().zip(translations) {
            let document = self.document.to_string();
            let place =
                Place { document: &document, index: self.index, number: self.sentences, source };
            let record = record(mode, &place, translation, self.translator);
            self.index += 1;
            self.sentences += 1;
            if let Some(note) = record.note {
                self.notes.push(format!("line {}: {note}", self.line));
            }
            texts.push(record.text);
        }
        match mode {
            Mode::Text => {
                let mark = if line.is_marked { BYTE_ORDER_MARK } else { "" };
                let end = if line.is_ended { "\n" } else { "" };
                write!(out, "{mark}{}{end}", prose.put_together(&texts))
            }
            _ => texts.iter().try_for_each(|text| out.write_all(text.as_bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Result<Line>> {
        let mut number = 0;
        let mut input = bytes;
        std::iter::from_fn(|| next_line(&mut input, &mut number)).collect()
    }

    #[test]
    fn lines_keep_their_ends_and_marks() {
        let found: Vec<Line> = lines("\u{feff}one\n\n\u{feff}two".as_bytes())
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let line =
            |text: &str, is_ended, is_marked| Line { text: text.into(), is_ended, is_marked };
        assert_eq!(
            found,
            [line("one", true, true), line("", true, false), line("\u{feff}two", false, false)]
        );
    }

    #[test]
    fn an_overlong_line_is_an_error() {
        let mut number = 0;
        let mut endless = std::io::BufReader::new(std::io::repeat(0));
        let error = next_line(&mut endless, &mut number).unwrap().unwrap_err().to_string();
        assert!(error.contains("standard input:1: a line of more than 16 MiB"), "{error}");
    }
}
