//! `abridge translate`: documents in, translated documents out.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use abridge_corpus::{Format, Input, read};
use abridge_model::DeviceKind;
use abridge_translate::{BeamSettings, Translator};
use anyhow::{Context, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

/// Translates documents, each sentence with a memory of those before it.
///
/// Reads lines (documents separated by blank lines, or named by a .docids file), SRT, WebVTT, JSON
/// lines and IWSLT files, and writes the same format with the text replaced and everything else as
/// it was.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge translate --model runs/grouping/model talk.en --output talk.de
  abridge translate --model runs/grouping/model film.srt --output film.de.srt
  abridge translate --model runs/grouping/model talk.en --beam 1")]
pub struct Translate {
    /// A model directory.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// The file to translate.
    input: PathBuf,
    /// Where to write; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The names of the documents, one per line; found beside the input by default.
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,
    /// The format, where the name and content do not tell it.
    #[arg(long)]
    format: Option<Format>,
    /// Hypotheses that are followed at once.
    #[arg(long, default_value_t = BeamSettings::default().beam)]
    beam: usize,
    /// Divides a hypothesis' score by its length to this power.
    #[arg(long, default_value_t = BeamSettings::default().length_penalty)]
    length_penalty: f64,
    /// The longest translation of a sentence, in tokens.
    #[arg(long, default_value_t = BeamSettings::default().max_length)]
    max_length: usize,
    /// Where to compute.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

impl Translate {
    /// Reads, translates and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(self.beam > 0, "--beam is 0, but a beam has at least one hypothesis");
        let corpus = read(&Input {
            docids: self.docids.clone(),
            format: self.format,
            ..Input::new(&self.input)
        })?;
        let translator = Translator::open(&self.model, &self.device.open()?)?;
        let documents: Vec<Vec<String>> = corpus
            .documents
            .iter()
            .map(|document| document.segments.iter().map(|s| s.source.clone()).collect())
            .collect();
        let settings = BeamSettings {
            beam: self.beam,
            length_penalty: self.length_penalty,
            max_length: self.max_length,
            ..BeamSettings::default()
        };
        let bar = self.bar(corpus.segments())?;
        let translations =
            translator.translate_documents(&documents, &settings, &|done| bar.inc(done as u64))?;
        bar.finish_and_clear();
        let mut bytes = Vec::new();
        corpus.write_translation(&translations, &mut bytes)?;
        match &self.output {
            Some(file) => {
                fs::write(file, bytes)
                    .with_context(|| format!("cannot write {}", file.display()))?;
            }
            None => std::io::stdout().lock().write_all(&bytes)?,
        }
        Ok(())
    }

    fn bar(&self, sentences: usize) -> anyhow::Result<ProgressBar> {
        if self.quiet || !std::io::stderr().is_terminal() {
            return Ok(ProgressBar::hidden());
        }
        let style = "{bar:30} {pos}/{len} sentences, {per_sec}, {eta} left";
        Ok(ProgressBar::new(sentences as u64).with_style(ProgressStyle::with_template(style)?))
    }
}
