//! `abridge inspect`: what the memory keeps, and which earlier words decided a translation.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use abridge_base::files::{OutputFile, Outputs};
use abridge_base::message::printable;
use abridge_corpus::{Document, Format, Input, read};
use abridge_evaluate::inspect::{GroupStatistics, InspectedDocument, InspectedSentence, Inspector};
use abridge_evaluate::picture::{HAS_PNG, Svg, png};
use abridge_model::DeviceKind;
use anyhow::{Context, ensure};
use clap::Args;
use indicatif::ProgressBar;

use super::model::ModelArgument;

/// Shows what the memory keeps of each sentence, and which earlier words decided its translation.
///
/// For a model with groups, a grid of tokens against groups is shaded by weight: in Latent Grouping
/// each token is distributed over the groups, in Latent Selecting each group selects tokens. Below
/// it are the earlier words that decided each word of the translation (each is left out in turn, to
/// see how much less probable the translation becomes), and where the translation attended: the
/// attention to memory entries, distributed over the words that made them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge inspect --model demo/models/grouping demo/data/text/test.en
  abridge inspect --model demo/models/grouping talk.en --sentences 4-6 --svg groups.svg
  abridge inspect --model demo/models/grouping talk.en --html talk.html
  abridge inspect --model demo/models/grouping talk.en --target talk.de
  abridge inspect --model demo/models/grouping demo/data/text/train.en --statistics")]
pub struct Inspect {
    #[command(flatten)]
    model: ModelArgument,
    /// Documents in any format that `abridge translate` reads.
    input: PathBuf,
    /// Translations to look at instead of the model's own.
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// The language to translate into, for a multilingual model.
    #[arg(long, value_name = "CODE")]
    to: Option<String>,
    /// The names of the documents, one per line; found beside the input by default.
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,
    /// The format; by default found from name and content.
    #[arg(long)]
    format: Option<Format>,
    /// The sentences to show, numbered through the whole file, as 4 or 4-6.
    #[arg(long, default_value = "1-10", value_name = "FROM-TO")]
    sentences: Sentences,
    /// Writes an SVG picture.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Writes the same picture as PNG (only in a build with the feature png).
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Writes a page on which each token shows its weights.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Counts over the whole input how groups are used, instead of showing sentences.
    #[arg(long, conflicts_with_all = ["svg", "png", "html", "target", "sentences"])]
    statistics: bool,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
}

/// Files to write instead of printing to the terminal.
struct Pictures {
    svg: Option<OutputFile>,
    png: Option<OutputFile>,
    html: Option<OutputFile>,
}

/// A range of sentences, counted from 1, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sentences {
    first: usize,
    last: usize,
}

impl std::str::FromStr for Sentences {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first >= 1 && first <= last => Ok(Self { first, last }),
            _ => Err(format!("`{text}` is neither a sentence like 4 nor a range like 4-6")),
        }
    }
}

/// Pixels per unit of a picture: sharp on screens and in print.
const PIXELS: f32 = 2.0;
/// Tokens that statistics list for each group.
const TOP_TOKENS: usize = 8;
/// Sentences that are read between two progress reports.
const PART: usize = 256;

impl Inspect {
    /// Looks, and shows or writes.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(
            HAS_PNG || self.png.is_none(),
            "this build cannot draw PNG; use --svg, or build with `--features png`"
        );
        let input = Input {
            target: self.target.clone(),
            docids: self.docids.clone(),
            format: self.format,
            ..Input::new(&self.input)
        };
        let outputs = self.outputs(&input)?;
        let corpus = read(&input)?;
        let model = self.model.directory(false)?;
        let inspector = Inspector::new(super::open(&model, self.device, self.to.as_deref())?);
        if self.statistics {
            return self.count(&inspector, &corpus.documents);
        }
        ensure!(
            self.sentences.first <= corpus.segments(),
            "--sentences begins at {}, but {} has {} sentences",
            self.sentences.first,
            self.input.display(),
            corpus.segments()
        );
        let documents = self.look(&inspector, &corpus.documents)?;
        self.write(&documents, &outputs)
    }

    /// The output files, checked before the work.
    fn outputs(&self, input: &Input) -> anyhow::Result<Pictures> {
        let mut outputs = Outputs::new();
        self.model.reading(&mut outputs)?;
        for input in input.files() {
            outputs.reading(&input);
        }
        let mut file = |path: &Option<PathBuf>| path.as_ref().map(|p| outputs.file(p)).transpose();
        Ok(Pictures { svg: file(&self.svg)?, png: file(&self.png)?, html: file(&self.html)? })
    }

    /// The documents that hold the requested sentences, with only those sentences.
    fn look(
        &self,
        inspector: &Inspector,
        documents: &[Document],
    ) -> anyhow::Result<Vec<InspectedDocument>> {
        let settings = inspector.translator().default_search();
        let mut looked = Vec::new();
        let mut before = 0;
        for document in documents {
            let count = document.segments.len();
            let wanted = |position: usize| {
                (self.sentences.first..=self.sentences.last).contains(&(before + position + 1))
            };
            // Context is on the source side, so nothing after the last wanted sentence matters.
            if let Some(last) = (0..count).rev().find(|&position| wanted(position)) {
                let mut document = document.clone();
                document.segments.truncate(last + 1);
                let mut inspected = inspector.document(&document, settings, &mut |_| {})?;
                inspected.sentences.retain(|sentence| wanted(sentence.position));
                looked.push(inspected);
            }
            before += count;
        }
        Ok(looked)
    }

    fn write(&self, documents: &[InspectedDocument], to: &Pictures) -> anyhow::Result<()> {
        let sentences = || documents.iter().flat_map(|document| &document.sentences);
        let label = format!("what {} keeps of {}", self.model.name(), self.input.display());
        if to.svg.is_some() || to.png.is_some() {
            let pictures: Vec<Svg> = sentences().map(InspectedSentence::draw).collect();
            let picture = Svg::stacked(&pictures, 24.0).standalone(&label);
            if let Some(file) = &to.png {
                file.write(&png(&picture, PIXELS)?)?;
            }
            if let Some(file) = &to.svg {
                file.write(picture.as_bytes())?;
            }
        }
        if let Some(file) = &to.html {
            let model = self.model.name();
            file.write(InspectedDocument::page(documents, &model).as_bytes())?;
        }
        let mut out = std::io::stdout().lock();
        let files: Vec<&PathBuf> =
            [&self.svg, &self.png, &self.html].into_iter().flatten().collect();
        if !files.is_empty() {
            for file in files {
                writeln!(out, "{}", file.display())?;
            }
            return Ok(());
        }
        let colours = super::colours(&std::io::stdout());
        for document in documents {
            writeln!(out, "document {}\n", printable(&document.id))?;
            for sentence in &document.sentences {
                write!(out, "{}", sentence.to_terminal(colours))?;
            }
        }
        Ok(())
    }

    fn count(&self, inspector: &Inspector, documents: &[Document]) -> anyhow::Result<()> {
        let sentences: Vec<String> =
            documents.iter().flat_map(|d| &d.segments).map(|s| s.source.clone()).collect();
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::new(sentences.len() as u64)
        } else {
            ProgressBar::hidden()
        };
        let mut all = Vec::with_capacity(sentences.len());
        for part in sentences.chunks(PART) {
            let groups = inspector.groups(part)?.with_context(|| {
                format!("{} has no groups: only grouping and selecting do", self.model.name())
            })?;
            all.extend(groups);
            bar.inc(part.len() as u64);
        }
        bar.finish_and_clear();
        let statistics = GroupStatistics::new(&all, TOP_TOKENS)
            .with_context(|| format!("{} has no sentences", self.input.display()))?;
        write!(std::io::stdout().lock(), "{}", statistics.to_text())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_sentences_are_read() {
        assert_eq!("4-6".parse(), Ok(Sentences { first: 4, last: 6 }));
        assert_eq!("4".parse(), Ok(Sentences { first: 4, last: 4 }));
        for wrong in ["0", "6-4", "a", "", "1-"] {
            assert!(wrong.parse::<Sentences>().is_err(), "{wrong}");
        }
    }
}
