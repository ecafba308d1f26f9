//! `abridge mentions`: text from which a memory learns what it is for.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use abridge_base::files::{OutputFile, Outputs};
use abridge_corpus::formats::{BadLines, DocumentStream};
use abridge_corpus::mentions::{CandidateSettings, GenderTable};
use abridge_corpus::{Document, Format, Input};
use abridge_model::DeviceKind;
use abridge_translate::{MentionDocuments, Translator};
use anyhow::{Context, ensure};
use clap::Args;
use indicatif::ProgressBar;

/// Makes training documents in which only an earlier sentence tells the gender of a pronoun.
///
/// Takes English sentences that begin with a noun (The house was built in 1900.), puts a pronoun in
/// its place, and before it another sentence of the text that mentions the noun. The model translates
/// both forms; what it knows of the noun's gender is put into the translation with the pronoun. All
/// else is the model's own translation, drawn at random, so that a memory trained on it learns to
/// look back, and nothing else. Windows of the text as it is are added, because context seldom matters there.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge mentions --model models/en-pt talks.en letters.en --output mentions
  abridge prepare data/memory --tokenizer models/en-pt --train mentions.en,mentions.pt \\
      --valid dev.en,dev.pt
  abridge train --data data/memory --run runs/memory --recipe recipes/memory.toml \\
      --from models/en-pt

A table of genders for another language:
  [[gender]]
  articles = [\"el\", \"los\", \"este\", \"estos\"]  # begin a subject of this gender
  pronouns = [\"él\", \"ellos\"]                   # one, and many if that differs between genders
  nouns = [\"book\", \"books\"]                    # English nouns that have this gender there
  [[gender]]
  articles = [\"la\", \"las\", \"esta\", \"estas\"]
  pronouns = [\"ella\", \"ellas\"]
  nouns = [\"house\", \"houses\"]")]
pub struct Mentions {
    /// English text in documents; its translations, if it has any, are not used.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The sentence-level model that is to get a memory.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// The language of the translations, for a model that does not name it; for a multilingual
    /// model, the one to translate into.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// A table of genders (TOML); by default the built-in one: de, fr or pt.
    #[arg(long, value_name = "FILE")]
    genders: Option<PathBuf>,
    /// The format of the files; by default found from name and content.
    #[arg(long)]
    format: Option<Format>,
    /// The most sentences with the same noun.
    #[arg(long, value_name = "N", default_value_t = 120)]
    per_noun: usize,
    /// The most documents per sentence, each with another mention of its noun.
    #[arg(long, value_name = "N", default_value_t = 3)]
    per_sentence: usize,
    /// Windows of ordinary text; by default half as many as documents with a pronoun.
    #[arg(long, value_name = "N")]
    windows: Option<usize>,
    /// The seed that picks sentences and their contexts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write: NAME.en, NAME.LANGUAGE and NAME.docids.
    #[arg(long, short, value_name = "NAME")]
    output: PathBuf,
    /// Replaces files of these names.
    #[arg(long)]
    force: bool,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// As many contexts are drawn for every sentence, and no text mentions a noun more often.
const MOST_PER_SENTENCE: usize = 1000;

impl Mentions {
    /// Reads, translates and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(
            self.per_noun > 0 && self.per_sentence > 0,
            "--per-noun and --per-sentence must be 1 or more"
        );
        super::check_at_most("--per-sentence", self.per_sentence, MOST_PER_SENTENCE)?;
        let (translator, language) = self.open()?;
        let table = match &self.genders {
            Some(file) => GenderTable::read(file)?,
            None => GenderTable::built_in(&language)?,
        };
        let inputs: Vec<Input> = self
            .files
            .iter()
            .map(|file| Input { format: self.format, ..Input::new(file) })
            .collect();
        let outputs = self.outputs(&inputs, &language)?;
        let mut documents: Vec<Document> = Vec::new();
        for input in &inputs {
            // A document is a neighbourhood here, so its name does not matter.
            let mut stream = DocumentStream::open(input)?.with_repeated_ids();
            while let Some(document) = stream.next(&mut BadLines::default())? {
                documents.push(document);
            }
        }
        let settings = CandidateSettings {
            per_noun: self.per_noun,
            contexts: self.per_sentence,
            plural: table.has_plural(),
            seed: self.seed,
        };
        let made = self.make(&translator, &documents, &table, &settings)?;
        ensure!(
            made.with_pronoun > 0,
            abridge_corpus::Error::new(format!(
                "no document can be made: {} sentences begin with a noun that is mentioned \
                 elsewhere, and the translations of {} show its gender",
                made.candidates,
                made.found.iter().flatten().sum::<usize>()
            ))
            .in_file(&self.files[0])
            .remedy("give more text")
        );
        let mut sides = [String::new(), String::new(), String::new()];
        for document in &made.documents {
            for segment in &document.segments {
                let target = segment.target.as_deref().unwrap_or_default();
                for (side, line) in sides.iter_mut().zip([&segment.source, target, &document.id]) {
                    // A sentence or a name from JSON may have several lines.
                    side.push_str(&line.replace(['\n', '\r'], " "));
                    side.push('\n');
                }
            }
        }
        for (file, text) in outputs.iter().zip(&sides) {
            file.write(text.as_bytes())?;
        }
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{} sentences begin with a noun that is mentioned elsewhere",
            made.candidates
        )?;
        for (number, by_gender) in
            made.found.iter().enumerate().take(table.gender[0].pronouns.len())
        {
            let counts: Vec<String> = by_gender
                .iter()
                .zip(&table.gender)
                .map(|(count, gender)| format!("{count} {}", gender.pronouns[number]))
                .collect();
            writeln!(out, "translations that show its gender: {}", counts.join(", "))?;
        }
        let windows = made.documents.len() - made.with_pronoun;
        let with_pronoun = made.with_pronoun;
        writeln!(
            out,
            "wrote {with_pronoun} documents with a pronoun and {windows} windows of ordinary text"
        )?;
        let [source, target] = [0, 1].map(|side| outputs[side].path().display());
        writeln!(
            out,
            "next:   abridge prepare DATA --tokenizer {} --train {source},{target} --valid FILE,FILE",
            self.model.display()
        )?;
        Ok(())
    }

    /// Makes the documents, with a bar for each stage.
    fn make(
        &self,
        translator: &Translator,
        documents: &[Document],
        table: &GenderTable,
        settings: &CandidateSettings,
    ) -> anyhow::Result<MentionDocuments> {
        let bar = Mutex::new(ProgressBar::hidden());
        let begin = |stage: &str, sentences: usize| {
            if let Ok(mut bar) = bar.lock() {
                bar.finish_and_clear();
                *bar = crate::progress::counter(sentences, stage, self.quiet);
            }
        };
        let done = |count: usize| {
            if let Ok(bar) = bar.lock() {
                bar.inc(count as u64);
            }
        };
        let made = translator.mention_documents(
            documents,
            table,
            settings,
            self.windows,
            &begin,
            &done,
        )?;
        begin("", 0);
        Ok(made)
    }

    /// The model, and the language that it translates into.
    fn open(&self) -> anyhow::Result<(Translator, String)> {
        let mut translator = super::open(&self.model, self.device, None)?;
        if let Some(to) = self.to.as_deref().filter(|_| !translator.target_languages().is_empty()) {
            translator = translator.towards(to)?;
        }
        let named =
            translator.languages().map(|(source, target)| (source.to_owned(), target.to_owned()));
        if let Some((source, _)) = &named {
            ensure!(
                source == "en",
                "the model translates from `{source}`; only English nouns are known"
            );
        }
        let language = self.to.clone().or(named.map(|(_, target)| target));
        Ok((translator, language.context("the model does not name its languages; give --to")?))
    }

    /// The files to write; fails, before the work, if they cannot be written.
    fn outputs(&self, inputs: &[Input], language: &str) -> anyhow::Result<Vec<OutputFile>> {
        let mut outputs = Outputs::new();
        super::model::reading(&self.model, &mut outputs)?;
        for file in inputs.iter().flat_map(Input::files).chain(self.genders.clone()) {
            outputs.reading(&file);
        }
        let name = |ending: &str| {
            let mut name = self.output.clone().into_os_string();
            name.push(format!(".{ending}"));
            PathBuf::from(name)
        };
        let remedy = "move it away, replace it with --force, or give another --output";
        ["en", language, "docids"]
            .map(|ending| Ok(outputs.derived(&name(ending), self.force, remedy)?))
            .into_iter()
            .collect()
    }
}
