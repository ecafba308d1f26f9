//! `abridge compare`: a text translated with and without context, side by side.

use std::io::Write;
use std::path::PathBuf;

use abridge_corpus::{Document, Format, Input, Segment, read, read_text};
use abridge_evaluate::compare_words;
use abridge_model::DeviceKind;
use abridge_translate::{Prose, Translator};
use anyhow::ensure;
use clap::Args;

use super::model::ModelArgument;
use super::prose;

/// Translates a text twice, sentence by sentence: without context, and with the sentences before.
///
/// Words in which the two translations differ are marked. Without an input, a short English text is
/// translated whose pronouns can only be translated right if the sentence before is known.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge compare
  abridge compare talk.en
  abridge compare --segment letter.txt
  abridge compare --model runs/grouping/model talk.en --only-differences
  abridge compare film.srt --json | jq 'select(.differs)'")]
pub struct Compare {
    #[command(flatten)]
    model: ModelArgument,
    /// A document in any format that `abridge translate` reads (of plain text, a line is one
    /// sentence); a short text by default.
    input: Option<PathBuf>,
    /// The format, where the name and content do not tell it.
    #[arg(long, requires = "input")]
    format: Option<Format>,
    /// The text is running prose, one paragraph per line: split it into sentences.
    #[arg(long, requires = "input", conflicts_with = "format")]
    segment: bool,
    /// The language to translate into, for a model that knows several.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// Sentences of context; by default as many as the model was trained with.
    #[arg(long, value_name = "N")]
    context_size: Option<usize>,
    /// Prints only sentences whose translations differ.
    #[arg(long)]
    only_differences: bool,
    /// Prints one JSON object per sentence.
    #[arg(long)]
    json: bool,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar and no notes.
    #[arg(long, short)]
    quiet: bool,
}

/// Paragraphs whose second sentence has a pronoun. It refers to the first sentence, where a German noun
/// decides whether it is masculine, feminine or neuter.
const TEXT: [[&str; 2]; 4] = [
    ["The report was published yesterday.", "It contains many interesting proposals."],
    ["This is my coat.", "It is warm."],
    ["We discussed the proposal yesterday.", "It was adopted by a large majority."],
    ["The door is open.", "Please close it."],
];

/// Sentences that are translated together.
const BATCH: usize = 32;

/// A sentence and its two translations.
struct Pair<'a> {
    source: &'a str,
    without: String,
    with: String,
}

impl Compare {
    /// Translates and prints.
    pub fn run(&self) -> anyhow::Result<()> {
        let directory = self.model.directory(self.quiet)?;
        let translator =
            super::open_at(&directory, self.device, self.context_size, self.to.as_deref())?;
        let documents = self.documents(prose::language(&translator))?;
        ensure!(
            translator.trained_context().is_some(),
            "{} translates without context, so there is nothing to compare",
            self.model.name()
        );
        let sentences = documents.iter().map(|document| document.segments.len()).sum();
        let bar = crate::progress::counter(sentences, "sentences", self.quiet);
        let mut out = std::io::stdout().lock();
        let mut differ = 0;
        for document in &documents {
            for pair in self.translate(&translator, document, &bar)? {
                differ += usize::from(pair.differs());
                if pair.differs() || !self.only_differences {
                    bar.suspend(|| self.print(&pair, &mut out))?;
                }
            }
        }
        bar.finish_and_clear();
        if !self.json {
            writeln!(out, "{differ} of {sentences} translations differ")?;
        }
        Ok(())
    }

    fn documents(&self, language: &str) -> anyhow::Result<Vec<Document>> {
        let Some(input) = &self.input else { return Ok(TEXT.map(document).into()) };
        if self.segment {
            return Ok(vec![document(Prose::new(&read_text(input)?, language).sentences)]);
        }
        let corpus = read(&Input { format: self.format, ..Input::new(input) })?;
        if !self.quiet {
            prose::advise(input, &corpus, language);
        }
        Ok(corpus.documents)
    }

    fn translate<'a>(
        &self,
        translator: &Translator,
        document: &'a Document,
        bar: &indicatif::ProgressBar,
    ) -> anyhow::Result<Vec<Pair<'a>>> {
        let settings = translator.default_search();
        let mut sessions = [translator.session(Some(0))?, translator.session(self.context_size)?];
        let sources: Vec<&str> = document.segments.iter().map(|s| s.source.as_str()).collect();
        let mut pairs = Vec::with_capacity(sources.len());
        for batch in sources.chunks(BATCH) {
            let [without, with] = &mut sessions;
            let without = translator.translate_next(without, batch, settings)?;
            let with = translator.translate_next(with, batch, settings)?;
            bar.inc(batch.len() as u64);
            pairs.extend(batch.iter().zip(without).zip(with).map(|((source, without), with)| {
                Pair { source, without: without.into_text(), with: with.into_text() }
            }));
        }
        Ok(pairs)
    }

    fn print(&self, pair: &Pair<'_>, out: &mut impl Write) -> anyhow::Result<()> {
        if self.json {
            let line = serde_json::json!({
                "source": pair.source, "without_context": pair.without,
                "with_context": pair.with, "differs": pair.differs(),
            });
            writeln!(out, "{line}")?;
            return Ok(());
        }
        writeln!(out, "  source           {}", pair.source)?;
        if pair.differs() {
            let colours = super::colours(&std::io::stdout());
            let [without, with] = compare_words(&pair.without, &pair.with);
            writeln!(out, "  without context  {}", marked(&without, colours, 31))?;
            writeln!(out, "  with context     {}\n", marked(&with, colours, 32))?;
        } else {
            writeln!(out, "  both             {}\n", pair.with)?;
        }
        Ok(())
    }
}

impl Pair<'_> {
    fn differs(&self) -> bool {
        self.without != self.with
    }
}

/// Words that differ in a colour of the terminal; without colours, between stars.
fn marked(words: &[(&str, bool)], colours: bool, colour: u8) -> String {
    let words = words.iter().map(|(word, same)| match same {
        true => (*word).to_owned(),
        false if colours => format!("\u{1b}[{colour}m{word}\u{1b}[0m"),
        false => format!("*{word}*"),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn document<S: Into<String>>(sentences: impl IntoIterator<Item = S>) -> Document {
    Document::new("", sentences.into_iter().map(Segment::new).collect())
}
