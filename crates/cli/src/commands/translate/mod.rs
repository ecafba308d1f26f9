//! `abridge translate`: documents in, translated documents out.

mod files;
mod finished;
mod inputs;
mod partial;
mod render;
mod stream;
mod writing;

use std::path::PathBuf;

use abridge_base::tell;
use abridge_corpus::Format;
use abridge_model::DeviceKind;
use abridge_translate::{BeamSettings, Sampling, Translator};
use anyhow::ensure;
use clap::Args;

use super::model::ModelArgument;
use super::prose;

/// Translates documents, each sentence with a memory of those before it.
///
/// Reads lines (documents separated by blank lines, or named by a .docids file), SRT, WebVTT, JSON
/// lines and IWSLT files, and writes the same format with the text replaced and everything else
/// unchanged. A line of plain text is one sentence; --segment splits paragraphs. Without a file it
/// translates line by line; a blank line starts a new document.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge translate --model runs/grouping/model talk.en --output talk.de
  abridge translate --model runs/grouping/model film.srt --output film.de.srt --resume
  abridge translate --model runs/grouping/model --segment book.txt --output buch.txt
  abridge translate --model runs/grouping/model corpus/ --output translated --resume
  abridge translate --model runs/grouping/model films/ --beside de
  echo 'The cat slept.' | abridge translate --model runs/grouping/model
  abridge translate --model opus-mt-en-mul talk.en --to deu
  abridge translate --model runs/grouping/model talk.en --explain
  abridge translate --model runs/grouping/model talk.en --json --n-best 3 > talk.jsonl
  abridge translate --model runs/grouping/model talk.en --sample --top-k 20 --seed 7")]
pub struct Translate {
    #[command(flatten)]
    model: ModelArgument,
    /// The files to translate, or directories with all files below them; `-` or nothing is standard
    /// input.
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Where to write: a file, or a directory for several inputs, in which the files of a directory
    /// keep their relative paths; standard output by default.
    #[arg(long, short, value_name = "PATH", group = "place")]
    output: Option<PathBuf>,
    /// Writes each translation beside its source, under a name with this language: talk.de beside
    /// talk.en, film.de.srt beside film.srt.
    #[arg(long, value_name = "CODE", group = "place")]
    beside: Option<String>,
    /// The language to translate into, for a multilingual model.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// The names of the documents, one per line; found beside the input by default.
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,
    /// The format; by default found from name and content.
    #[arg(long)]
    format: Option<Format>,
    /// The text is running prose, one paragraph per line: split it into sentences, translate them
    /// as one document, and put them back together.
    #[arg(long, conflicts_with_all = ["format", "docids"])]
    segment: bool,
    /// The language whose rules --segment uses; the model's source language by default.
    #[arg(long, value_name = "CODE", requires = "segment")]
    language: Option<String>,
    /// Resumes an interrupted job with the same output: of many files, those that were finished
    /// with the same model and settings are left as they are.
    #[arg(long, requires = "place")]
    resume: bool,
    /// Replaces files of the same names in the directory --output, or --beside.
    #[arg(long, requires = "place", conflicts_with = "resume")]
    force: bool,

    /// Sentences of context before the current one; by default as many as the model was trained
    /// with. More are possible, with a warning.
    #[arg(long, alias = "context", value_name = "N")]
    context_size: Option<usize>,
    /// Beam size; 1 is greedy search. By default 5, or the setting of an imported model.
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// Divides a hypothesis's score by its length to this power. By default 1, or the setting of an
    /// imported model.
    #[arg(long, value_name = "X")]
    length_penalty: Option<f64>,
    /// The shortest translation of a sentence, in tokens.
    #[arg(long, value_name = "N", default_value_t = BeamSettings::default().min_length)]
    min_length: usize,
    /// The longest translation of a sentence, in tokens. A longer source sentence is translated in
    /// parts. By default 200, or the setting of an imported model.
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Every translation begins with this text.
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Never writes the token for unknown pieces.
    #[arg(long)]
    no_unknown: bool,

    /// Samples words instead of searching for the best translation.
    #[arg(long)]
    sample: bool,
    /// Samples from the K most probable words; 0 means all.
    #[arg(long, value_name = "K", default_value_t = Sampling::default().top_k, requires = "sample")]
    top_k: usize,
    /// Samples from the most probable words that together have probability P.
    #[arg(long, value_name = "P", default_value_t = Sampling::default().top_p, requires = "sample")]
    top_p: f64,
    /// The sampling temperature; below 1, probable words become more probable.
    #[arg(long, value_name = "T", default_value_t = Sampling::default().temperature, requires = "sample")]
    temperature: f64,
    /// The seed of sampling.
    #[arg(long, value_name = "N", default_value_t = Sampling::default().seed, requires = "sample")]
    seed: u64,

    /// Writes the N best translations of each sentence: number ||| text ||| score.
    #[arg(long, value_name = "N")]
    n_best: Option<usize>,
    /// Writes one JSON object per sentence: texts, scores, tokens, alignment and the n best.
    #[arg(long, conflicts_with = "explain")]
    json: bool,
    /// Writes for each sentence which earlier sentences and words its pronouns attended to.
    #[arg(long, conflicts_with = "n_best")]
    explain: bool,

    /// Threads; one per core by default.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar and no notes.
    #[arg(long, short)]
    quiet: bool,
}

/// What is written for each sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The translation, in the layout of the input.
    Text,
    NBest,
    Json,
    Explain,
}

impl Translate {
    /// Reads, translates and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(self.threads != Some(0), "--threads must be at least 1");
        self.settings(&BeamSettings::default(), &[]).check()?;
        let is_stream = |path: &PathBuf| path.as_os_str() == "-";
        let from_stream = self.inputs.iter().all(is_stream);
        ensure!(
            from_stream || !self.inputs.iter().any(is_stream),
            "standard input and files cannot be mixed; translate them one after the other"
        );
        ensure!(
            !from_stream || self.beside.is_none(),
            "--beside needs files; it cannot be used with standard input"
        );
        // Files are read before the model, so that a wrong name is found at once.
        let stream = from_stream && self.format.is_none();
        let stream_output = match &self.output {
            Some(path) if stream => Some(inputs::reading(self, &[])?.file(path)?),
            _ => None,
        };
        let jobs = if stream {
            Vec::new()
        } else {
            let standard = [PathBuf::from("/dev/stdin")];
            let inputs = if from_stream { &standard[..] } else { &self.inputs[..] };
            files::read_all(self, inputs)?
        };
        let model = self.model.directory(self.quiet)?;
        let translator =
            super::open_at(&model, self.device, self.context_size, self.to.as_deref())?;
        let translator = match self.threads {
            Some(threads) => translator.with_threads(threads)?,
            None => translator,
        };
        let prefix = self.prefix.as_deref().map(|text| translator.target().encode(text));
        let settings = self.settings(translator.default_search(), &prefix.unwrap_or_default());
        settings.check()?;
        // A wrong --context-size is found before any work.
        let context = translator.session(self.context_size)?.context_size();
        if stream {
            stream::run(self, stream_output.as_ref(), &translator, &settings)?;
        } else {
            files::run(self, jobs, &translator, &settings)?;
        }
        if !self.quiet {
            tell!("{}", signature(&translator, &settings, context));
        }
        Ok(())
    }

    fn mode(&self) -> Mode {
        match (self.json, self.explain, self.n_best) {
            (true, _, _) => Mode::Json,
            (_, true, _) => Mode::Explain,
            (_, _, Some(_)) => Mode::NBest,
            _ => Mode::Text,
        }
    }

    /// The settings on the command line; the rest are the model's defaults.
    fn settings(&self, defaults: &BeamSettings, prefix: &[u32]) -> BeamSettings {
        let sampling = self.sample.then_some(Sampling {
            top_k: self.top_k,
            top_p: self.top_p,
            temperature: self.temperature,
            seed: self.seed,
        });
        let mut forbidden = defaults.forbidden.clone();
        forbidden.extend(self.no_unknown.then_some(abridge_model::tokens::UNKNOWN));
        BeamSettings {
            beam: self.beam.unwrap_or(defaults.beam),
            length_penalty: self.length_penalty.unwrap_or(defaults.length_penalty),
            min_length: self.min_length,
            max_length: self.max_length.unwrap_or(defaults.max_length),
            n_best: self.n_best.unwrap_or(1),
            forbidden,
            prefix: prefix.to_vec(),
            sampling,
            ..defaults.clone()
        }
    }

    /// The language whose rules split prose into sentences.
    fn prose_language<'a>(&'a self, translator: Option<&'a Translator>) -> &'a str {
        let of_model = || translator.map(prose::language);
        self.language.as_deref().or_else(of_model).unwrap_or("en")
    }
}

/// A line that says what a translation was made with.
pub fn signature(translator: &Translator, settings: &BeamSettings, context: usize) -> String {
    let hash = &translator.hash()[..translator.hash().len().min(12)];
    let search = match &settings.sampling {
        None => format!("beam {}|length penalty {}", settings.beam, settings.length_penalty),
        Some(sampling) => format!(
            "sampling top-k {} top-p {} temperature {} seed {}",
            sampling.top_k, sampling.top_p, sampling.temperature, sampling.seed
        ),
    };
    let version = env!("CARGO_PKG_VERSION");
    let longest = settings.max_length;
    let languages = translator.target_languages();
    let to = languages.chosen().and_then(|id| languages.code(id));
    let to = to.map_or_else(String::new, |code| format!("|to {code}"));
    format!("abridge {version}|model {hash}{to}|context {context}|{search}|max length {longest}")
}
