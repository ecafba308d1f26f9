//! `abridge mentions`: text from which a memory learns what it is for.

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_base::files::{OutputFile, Outputs};
use abridge_corpus::formats::{BadLines, DocumentStream};
use abridge_corpus::mentions::{
    Candidate, CandidateSettings, Corrected, GenderTable, balanced, candidates, windows,
};
use abridge_corpus::{Document, Format, Input};
use abridge_model::DeviceKind;
use abridge_translate::{BeamSettings, Control, DocumentSettings, Translator};
use anyhow::{Context, ensure};
use clap::Args;

/// Sentences in a window of ordinary text.
const WINDOW: usize = 4;

/// Makes training documents in which only an earlier sentence tells the gender of a pronoun.
///
/// Takes English sentences that begin with a noun (The house was built in 1900.), puts a pronoun in
/// its place, and before it another sentence of the text that mentions the noun. The model translates
/// both forms; what it knows of the noun's gender is put into the translation with the pronoun. All
/// else is the model's own translation, so that a memory trained on it learns to look back, and
/// nothing else. Windows of the text as it is are added, because context seldom matters there.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge mentions --model models/en-pt talks.en letters.en --output mentions
  abridge prepare data/memory --tokenizer models/en-pt --train mentions.en,mentions.pt --valid dev.en,dev.pt
  abridge train --data data/memory --run runs/memory --recipe recipes/memory.toml --from models/en-pt

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
    contexts: usize,
    /// Windows of ordinary text; by default half as many as documents with a pronoun.
    #[arg(long, value_name = "N")]
    windows: Option<usize>,
    /// The seed that picks sentences and their contexts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write: NAME.en, NAME.LANGUAGE and NAME.docids.
    #[arg(long, short, value_name = "NAME")]
    output: PathBuf,
    /// Where to compute.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

impl Mentions {
    /// Reads, translates and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(
            self.per_noun > 0 && self.contexts > 0,
            "--per-noun and --contexts must be 1 or more"
        );
        let (translator, language) = self.open()?;
        let table = match &self.genders {
            Some(file) => GenderTable::read(file)?,
            None => GenderTable::built_in(&language)?,
        };
        let outputs = self.outputs(&language)?;
        let mut documents: Vec<Document> = Vec::new();
        for file in &self.files {
            let input = Input { format: self.format, ..Input::new(file) };
            // A document is a neighbourhood here, so its name does not matter.
            let mut stream = DocumentStream::open(&input)?.with_repeated_ids();
            while let Some(document) = stream.next(&mut BadLines::default())? {
                documents.push(document);
            }
        }
        let settings = CandidateSettings {
            per_noun: self.per_noun,
            contexts: self.contexts,
            plural: table.has_plural(),
            seed: self.seed,
        };
        let found = candidates(&documents, &settings);
        let count = found.len();
        let corrected = self.corrected(&translator, &table, found)?;
        let shown = corrected.len();
        let (kept, numbers) = balanced(corrected, table.gender.len(), self.seed);
        ensure!(
            !kept.is_empty(),
            abridge_corpus::Error::new(format!(
                "no document can be made: {count} sentences begin with a noun that is mentioned \
                 elsewhere, and the translations of {shown} show its gender"
            ))
            .in_file(&self.files[0])
            .remedy("give more text")
        );
        let mut texts: Vec<(Vec<String>, Option<(String, String)>)> = Vec::new();
        for (candidate, corrected) in kept {
            for context in candidate.contexts {
                let last = (candidate.pronominal.clone(), corrected.text.clone());
                texts.push((context, Some(last)));
            }
        }
        let made = texts.len();
        let plain = windows(&documents, self.windows.unwrap_or(made / 2), WINDOW, self.seed);
        let window_count = plain.len();
        texts.extend(plain.into_iter().map(|window| (window, None)));
        let sentences: Vec<String> =
            texts.iter().flat_map(|(context, _)| context.clone()).collect();
        let mut translations = self.translate(&translator, sentences, "contexts")?.into_iter();
        let mut sides = [String::new(), String::new(), String::new()];
        for (number, (context, last)) in texts.into_iter().enumerate() {
            let kind = if last.is_some() { "mention" } else { "window" };
            let pairs = context.into_iter().zip(translations.by_ref()).chain(last);
            for (source, target) in pairs {
                for (side, line) in
                    sides.iter_mut().zip([source, target, format!("{kind}.{number:06}")])
                {
                    side.push_str(&line);
                    side.push('\n');
                }
            }
        }
        for (file, text) in outputs.iter().zip(&sides) {
            file.write(text.as_bytes())?;
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{count} sentences begin with a noun that is mentioned elsewhere")?;
        for (number, by_gender) in numbers.iter().enumerate().take(table.gender[0].pronouns.len()) {
            let counts: Vec<String> = by_gender
                .iter()
                .zip(&table.gender)
                .map(|(count, gender)| format!("{count} {}", gender.pronouns[number]))
                .collect();
            writeln!(out, "translations that show its gender: {}", counts.join(", "))?;
        }
        writeln!(
            out,
            "wrote {made} documents with a pronoun and {window_count} windows of ordinary text"
        )?;
        let [source, target] = [0, 1].map(|side| outputs[side].path().display());
        writeln!(
            out,
            "next:   abridge prepare DATA --tokenizer {} --train {source},{target} --valid FILE,FILE",
            self.model.display()
        )?;
        Ok(())
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
    fn outputs(&self, language: &str) -> anyhow::Result<Vec<OutputFile>> {
        let mut outputs = Outputs::new();
        for input in self.files.iter().chain(&self.genders).chain([&self.model]) {
            outputs.reading(input);
        }
        let name = |ending: &str| {
            let mut name = self.output.clone().into_os_string();
            name.push(format!(".{ending}"));
            PathBuf::from(name)
        };
        ["en", language, "docids"]
            .map(|ending| Ok(outputs.file(Path::new(&name(ending)))?))
            .into_iter()
            .collect()
    }

    /// The candidates whose translations show the gender, with those translations.
    fn corrected(
        &self,
        translator: &Translator,
        table: &GenderTable,
        found: Vec<Candidate>,
    ) -> anyhow::Result<Vec<((Candidate, Corrected), usize, bool)>> {
        let text =
            |side: fn(&Candidate) -> &String| found.iter().map(|c| side(c).clone()).collect();
        let named = self.translate(translator, text(|c| &c.named), "sentences with a noun")?;
        let short =
            self.translate(translator, text(|c| &c.pronominal), "sentences with a pronoun")?;
        let pairs: Vec<(Candidate, Corrected)> = found
            .into_iter()
            .zip(named.iter().zip(&short))
            .filter_map(|(candidate, (named, short))| {
                let corrected = table.corrected(named, short, candidate.plural)?;
                Some((candidate, corrected))
            })
            .collect();
        let others: Vec<String> = pairs
            .iter()
            .map(|(candidate, corrected)| {
                let noun = table.other_noun(corrected, candidate.plural);
                noun.map(|noun| candidate.with_noun(noun)).unwrap_or_default()
            })
            .collect();
        let others = self.translate(translator, others, "sentences with another noun")?;
        let shows = |corrected: &Corrected, other: &String| {
            corrected.has_pronoun || table.differs(corrected, other)
        };
        Ok(pairs
            .into_iter()
            .zip(others)
            .filter(|((_, corrected), other)| shows(corrected, other))
            .map(|((candidate, corrected), _)| {
                let (gender, plural) = (corrected.gender, candidate.plural);
                ((candidate, corrected), gender, plural)
            })
            .collect())
    }

    /// The translation of each sentence by itself.
    fn translate(
        &self,
        translator: &Translator,
        sentences: Vec<String>,
        unit: &str,
    ) -> anyhow::Result<Vec<String>> {
        let bar = crate::progress::counter(sentences.len(), unit, self.quiet);
        let documents: Vec<Vec<String>> =
            sentences.into_iter().map(|sentence| vec![sentence]).collect();
        let settings = BeamSettings { beam: 1, ..translator.default_search().clone() };
        let done = |count: usize| bar.inc(count as u64);
        let control = Control { done: &done, ..Control::default() };
        let how = DocumentSettings { context: Some(0), control, ..DocumentSettings::default() };
        let mut texts = Vec::with_capacity(documents.len());
        translator.translate_in_order(&documents, &settings, &how, &mut |_,
                                                                          translation|
         -> anyhow::Result<
            (),
        > {
            texts.push(translation.into_text().replace('\n', " "));
            Ok(())
        })?;
        bar.finish_and_clear();
        Ok(texts)
    }
}
