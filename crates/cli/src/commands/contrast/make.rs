//! `abridge contrast make`: a contrastive set from any parallel documents.

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_base::files::{OutputFile, Outputs};
use abridge_base::tell;
use abridge_corpus::formats::contrastive::ContraProOutput;
use abridge_corpus::swaps::{MakeSettings, SeenSentences, SwapTable, make};
use abridge_corpus::{Format, Input, read};
use anyhow::{Context, ensure};
use clap::Args;

/// A set with fewer examples than this measures accuracy too imprecisely.
const FEW: usize = 100;

/// Makes a contrastive set from parallel documents.
///
/// Takes sentences whose source has an ambiguous word (it, they) at the beginning of a clause, whose
/// translation has exactly one pronoun of a group, and in which nothing else would have to change if
/// it were replaced by another pronoun of the group. The pronouns are equally frequent in the set.
/// This uses rules, not a parser: look at some examples before you trust it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge contrast make --source dev.en --target dev.de --training train.en --output own.json
  abridge contrast make --source dev.en --target dev.fr --languages en-fr --output own.json
  abridge contrast --model runs/grouping/model --set own.json

A table of swaps for another language:
  [[swap]]
  words = [\"hij\", \"zij\", \"het\"]        # exactly one of them, once
  source = [\"it\"]                       # exactly once, as the subject of a clause
  source_without = [\"he\", \"she\", \"they\", \"you\"]
  source_not_before = [\"a\", \"an\", \"the\"]  # not among the three words after it
  without = [\"zijn\", \"haar\", \"hem\"]       # would have to change, too
  not_before = [\"de\", \"het\", \"een\"]       # not among the three words after the pronoun")]
pub struct Make {
    /// The source text, in documents.
    #[arg(long, short, value_name = "FILE")]
    source: PathBuf,
    /// Its translation.
    #[arg(long, short, value_name = "FILE")]
    target: PathBuf,
    /// The names of the documents, one per line; found beside the source by default.
    #[arg(long, value_name = "FILE")]
    docids: Option<PathBuf>,
    /// The format; by default found from name and content.
    #[arg(long)]
    format: Option<Format>,
    /// The language pair.
    #[arg(long, value_name = "PAIR", default_value = "en-de")]
    languages: String,
    /// A table of swaps (TOML); by default the built-in one: de, fr or pt.
    #[arg(long, value_name = "FILE")]
    swaps: Option<PathBuf>,
    /// Source text that models are trained on. Documents are rejected if more than one in ten of
    /// their longer sentences occur in it, exactly or nearly; so are single sentences that do.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    training: Vec<PathBuf>,
    /// Sentences that must precede an example.
    #[arg(long, value_name = "N", default_value_t = 3)]
    least_context: usize,
    /// Sentences of context to keep.
    #[arg(long, value_name = "N", default_value_t = 10)]
    most_context: usize,
    /// The maximum number of examples per pronoun.
    #[arg(long, value_name = "N")]
    per_word: Option<usize>,
    /// The seed that picks examples where there are more than needed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write the set, in ContraPro's JSON.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

impl Make {
    /// Reads, finds and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(
            self.most_context >= self.least_context,
            "--most-context is {}, but --least-context is {}",
            self.most_context,
            self.least_context
        );
        let (_, target) = self
            .languages
            .split_once('-')
            .with_context(|| format!("`{}` is not a language pair like en-de", self.languages))?;
        let input = Input {
            target: Some(self.target.clone()),
            docids: self.docids.clone(),
            format: self.format,
            ..Input::new(&self.source)
        };
        let training: Vec<Input> = self.training.iter().map(Input::new).collect();
        let output_file = self.output_file(training.iter().chain([&input]))?;
        let table = match &self.swaps {
            Some(file) => SwapTable::read(file)?,
            None => SwapTable::built_in(target)?,
        };
        let corpus = read(&input)?;
        let mut seen = SeenSentences::of(&corpus.documents);
        for input in &training {
            seen.mark(&read(input)?.documents);
        }
        if self.training.is_empty() {
            tell!(
                "warning: without --training, examples may come from the models' training data; \
                 name the text that they are trained on"
            );
        }
        let settings = MakeSettings {
            least_context: self.least_context,
            most_context: self.most_context,
            per_word: self.per_word,
            seed: self.seed,
        };
        let made = make(&corpus.documents, &table, &seen, &settings);
        let found: Vec<String> =
            made.found.iter().map(|(word, count)| format!("{count} {word}")).collect();
        let found = found.join(", ");
        if !made.refused.is_empty() {
            let first: Vec<&str> = made.refused.iter().take(5).map(String::as_str).collect();
            tell!(
                "note: {} of {} documents are in the training data and were rejected: {}{}",
                made.refused.len(),
                corpus.documents.len(),
                first.join(", "),
                if made.refused.len() > first.len() { ", …" } else { "" }
            );
        }
        if made.seen_sentences > 0 {
            tell!(
                "note: {} more sentences are in the training data and were left out",
                made.seen_sentences
            );
        }
        ensure!(
            !made.set.items.is_empty(),
            abridge_corpus::Error::new(format!("no set can be made: found {found}"))
                .in_file(&self.source)
                .remedy("give more text, a smaller --least-context, or other --swaps")
        );
        let count = made.set.items.len();
        if count < FEW {
            // Half the examples right: 1.96 · √(0.25 / n).
            tell!(
                "warning: {count} examples give accuracy only to ± {:.0} points; give more text",
                98.0 / (count as f64).sqrt()
            );
        }
        let output = ContraProOutput {
            corpus: name(&self.source),
            target_language: target.to_owned(),
            contexts: true,
        };
        let mut bytes = Vec::new();
        made.set.write_contrapro(&output, &mut bytes)?;
        output_file.write(&bytes)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "found {found}")?;
        write!(out, "{}", abridge_evaluate::Composition::new(&made.set))?;
        writeln!(out, "wrote {}", self.output.display())?;
        Ok(())
    }
}

impl Make {
    /// The output file; fails, before the work, if it cannot be written.
    fn output_file<'a>(
        &self,
        inputs: impl Iterator<Item = &'a Input>,
    ) -> anyhow::Result<OutputFile> {
        let mut outputs = Outputs::new();
        for file in inputs.flat_map(Input::files).chain(self.swaps.clone()) {
            outputs.reading(&file);
        }
        Ok(outputs.file(&self.output)?)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
