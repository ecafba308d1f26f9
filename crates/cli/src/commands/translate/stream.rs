//! Line by line: every line is answered at once, and a blank line starts a new document.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::mpsc::{Receiver, sync_channel};

use abridge_translate::{BeamSettings, Control, Prose, Session, Translation, Translator, Turn};
use anyhow::Context;

use super::render::{Place, record};
use super::{Mode, Translate};

/// Lines that are translated together when they are there already: a file through a pipe is nearly
/// as fast as a file.
const AT_ONCE: usize = 64;

type Line = abridge_corpus::Result<String>;

/// Answers standard input.
pub fn run(
    arguments: &Translate,
    translator: &Translator,
    settings: &BeamSettings,
) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() && !arguments.quiet {
        eprintln!("One sentence per line; a blank line starts a new document; Ctrl-D ends.");
    }
    let mut out: Box<dyn Write> = match &arguments.output {
        Some(path) => {
            let file = std::fs::File::create(path);
            Box::new(file.with_context(|| format!("cannot write {}", path.display()))?)
        }
        None => Box::new(std::io::stdout().lock()),
    };
    let (send, lines) = sync_channel::<Line>(AT_ONCE);
    // Not joined: it may wait for a line that never comes after our reader has gone.
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
    let result = stream.answer_all(&lines, &mut *out);
    if !arguments.quiet {
        stream.notes.iter().for_each(|note| eprintln!("note: {note}"));
    }
    result
}

/// The next line without its end; an error where it is not UTF-8.
fn next_line(input: &mut impl BufRead, number: &mut usize) -> Option<Line> {
    let mut bytes = Vec::new();
    *number += 1;
    let place = std::path::Path::new("standard input");
    match input.read_until(b'\n', &mut bytes) {
        Ok(0) => None,
        Ok(_) => {
            if bytes.ends_with(b"\n") {
                bytes.pop();
            }
            Some(String::from_utf8(bytes).map_err(|_| {
                abridge_corpus::Error::new("invalid UTF-8")
                    .in_file(place)
                    .at_line(*number)
                    .remedy("convert it to UTF-8, for instance with iconv")
            }))
        }
        Err(error) => Some(Err(abridge_corpus::Error::io("read", place, error))),
    }
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
    fn answer_all(&mut self, lines: &Receiver<Line>, out: &mut dyn Write) -> anyhow::Result<()> {
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
            // What came before a broken line is answered before the error.
            self.answer(&batch, out)?;
            out.flush()?;
            if let Some(error) = failure {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Translates lines that are there together, and writes one line for each.
    fn answer(&mut self, lines: &[String], out: &mut dyn Write) -> anyhow::Result<()> {
        let language = self.arguments.prose_language(Some(self.translator));
        let prose: Vec<Prose> = lines
            .iter()
            .map(|line| {
                if self.arguments.segment { Prose::new(line, language) } else { Prose::whole(line) }
            })
            .collect();
        // Documents: the one that is open, and those that begin after a blank line. The paragraphs
        // of prose belong together.
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
        for prose in &prose {
            self.line += 1;
            if is_break(prose) {
                self.document += 1;
                self.index = 0;
            }
            let own: Vec<Translation> = found.by_ref().take(prose.sentences.len()).collect();
            self.write(prose, &own, mode, out)?;
        }
        Ok(())
    }

    fn write(
        &mut self,
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
            Mode::Text => writeln!(out, "{}", prose.put_together(&texts)),
            _ => texts.iter().try_for_each(|text| out.write_all(text.as_bytes())),
        }
    }
}
