//! `abridge contrast`: how often a model prefers the right pronoun.

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_base::files::Outputs;
use abridge_base::tell;
use abridge_corpus::{ContrastiveInput, ContrastiveSet};
use abridge_evaluate::{
    Accuracy, ContrastiveComparison, ContrastiveReport, Identity, check_context, check_languages,
    limit_context, part_file, read_scores, score_set, write_scores,
};
use abridge_model::DeviceKind;
use abridge_translate::Translator;
use anyhow::Context;
use clap::Args;

/// What a signature calls the score of a candidate.
const SCORE: &str = "mean-token-log-probability";
/// The languages of a set where neither the user nor the model says.
const LANGUAGES: &str = "en-de";

/// Scores the candidates of a contrastive set and counts how often the reference wins.
///
/// A candidate's score is its log-probability per token, the end included; an example is right if
/// its reference scores strictly higher than every alternative.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge contrast --model runs/grouping/model --set practice/text/contrastive.json

  # ContraPro with its documents; scores are kept, and a run that was stopped goes on
  abridge contrast --model runs/grouping/model --set contrapro.json --documents documents \\
    --scores grouping.scores

  # Two models, with McNemar's test
  abridge contrast --model runs/grouping/model --against runs/sentence/model --set contrapro.json
  abridge contrast --model runs/grouping/model --against sentence.scores --set contrapro.json

  # The large English-French set, with less context than the model can take
  abridge contrast --model runs/fr/model --set large_pronoun --languages en-fr --context-size 1")]
pub struct Contrast {
    /// A model directory.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// The contrastive set: ContraPro as JSON or text, the large English-French set, Bawden's.
    #[arg(long, value_name = "PATH")]
    set: PathBuf,
    /// The folder of the documents that ContraPro's JSON refers to.
    #[arg(long, value_name = "DIR")]
    documents: Option<PathBuf>,
    /// The pair of languages of the set; by default the model's.
    #[arg(long, value_name = "PAIR")]
    languages: Option<String>,
    /// Sentences of context; by default as many as the model takes.
    #[arg(long, value_name = "N")]
    context_size: Option<usize>,
    /// Another model directory, or a file of its scores, to compare with.
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// Writes all scores, one per line, in the order of the set's candidates. Until all are there
    /// they are kept in FILE.part, from which the same command goes on.
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// Where to compute.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

impl Contrast {
    /// Scores and reports.
    pub fn run(&self) -> anyhow::Result<()> {
        self.check_outputs()?;
        let translator = super::open(&self.model, self.device)?;
        let trained = translator.languages().map(|(source, target)| format!("{source}-{target}"));
        let pair = self.languages.clone().or_else(|| trained.clone());
        let pair = pair.unwrap_or_else(|| LANGUAGES.to_owned());
        let set = self.read(&pair, &translator)?;
        check_languages(&set, &pair, trained.as_deref())?;
        let (scores, identity) = self.score(&translator, &set, self.scores.as_deref())?;
        let report = ContrastiveReport::new(&set, &scores);
        let signature = identity.signature(SCORE);
        let other = self.against.as_ref().map(|path| self.other(path, &set)).transpose()?;
        let other =
            other.map(|(others, name)| (ContrastiveComparison::new(&set, &scores, &others), name));

        let mut out = std::io::stdout().lock();
        if self.json {
            let mut value = serde_json::json!({ "contrast": {
                "score": report.total.share(), "signature": signature, "report": report,
            }});
            if let Some((comparison, signature)) = other {
                value["contrast"]["against"] =
                    serde_json::json!({ "signature": signature, "rows": comparison.rows });
            }
            writeln!(out, "{value:#}")?;
            return Ok(());
        }
        write!(out, "{}", table(&report))?;
        writeln!(out, "\n{signature}")?;
        if let Some((comparison, name)) = other {
            write!(out, "\n{}", comparison_table(&comparison))?;
            writeln!(out, "\nagainst {name}")?;
        }
        Ok(())
    }

    /// Refuses, before the work, to keep scores where they cannot be.
    fn check_outputs(&self) -> anyhow::Result<()> {
        let Some(scores) = &self.scores else { return Ok(()) };
        let mut outputs = Outputs::new();
        outputs.reading(&self.model).reading(&self.set);
        for input in self.documents.iter().chain(&self.against) {
            outputs.reading(input);
        }
        outputs.file(scores)?;
        outputs.file(&part_file(scores))?;
        Ok(())
    }

    fn read(&self, pair: &str, translator: &Translator) -> anyhow::Result<ContrastiveSet> {
        let (source, target) =
            pair.split_once('-').with_context(|| format!("`{pair}` is not a pair as en-de"))?;
        let most = translator.model().config().context_size;
        if let Some(size) = self.context_size.filter(|&size| size > most) {
            anyhow::bail!("--context-size is {size}, but the model looks at most {most} back");
        }
        let mut input = ContrastiveInput::new(&self.set, source, target);
        input.documents.clone_from(&self.documents);
        input.context = input.context.max(most);
        let set = ContrastiveSet::read(&input)?;
        for note in &set.notes {
            tell!("note: {note}");
        }
        Ok(set)
    }

    /// The scores of a model; with `keep`, written there.
    fn score(
        &self,
        translator: &Translator,
        set: &ContrastiveSet,
        keep: Option<&Path>,
    ) -> anyhow::Result<(Vec<Vec<f64>>, Identity)> {
        let most = translator.model().config().context_size;
        let context = self.context_size.map_or(most, |size| size.min(most));
        check_context(set, context)?;
        let identity = Identity::new(translator, set, context);
        let mut limited = set.clone();
        limit_context(&mut limited, context);
        let part = keep.map(part_file);
        let kept = part.as_deref().map(|part| (part, &identity));
        let bar = crate::progress::counter(set.items.len(), "examples", self.quiet);
        let scores = score_set(translator, &limited, kept, &mut |done| bar.inc(done as u64))?;
        bar.finish_and_clear();
        if let Some(file) = keep {
            write_scores(file, &scores)?;
        }
        Ok((scores, identity))
    }

    /// The scores to compare with, and what they are of.
    fn other(&self, path: &Path, set: &ContrastiveSet) -> anyhow::Result<(Vec<Vec<f64>>, String)> {
        if path.is_file() {
            return Ok((read_scores(path, set)?, path.display().to_string()));
        }
        let translator = super::open(path, self.device)?;
        let (scores, identity) = self.score(&translator, set, None)?;
        Ok((scores, identity.signature(SCORE).to_string()))
    }
}

/// The report as a table for people.
pub fn table(report: &ContrastiveReport) -> String {
    let distances = report.by_distance.iter().map(|(name, row)| (format!("distance {name}"), row));
    let words = report.by_pronoun.iter().chain(&report.by_category);
    let rows: Vec<(String, &Accuracy)> = std::iter::once(("all".to_owned(), &report.total))
        .chain(distances)
        .chain(words.map(|(name, row)| (name.clone(), row)))
        .collect();
    let width = width(rows.iter().map(|(name, _)| name));
    let mut text = format!("{:<width$} {:>15} {:>8}   95 % interval\n", "", "right", "accuracy");
    text.extend(rows.iter().map(|(name, accuracy)| {
        let (low, high) = accuracy.interval();
        format!(
            "{name:<width$} {:>6} / {:<6} {:>6.1} %   ({:.1} to {:.1})\n",
            accuracy.correct,
            accuracy.items,
            100.0 * accuracy.share(),
            100.0 * low,
            100.0 * high
        )
    }));
    text
}

/// Two models side by side.
fn comparison_table(comparison: &ContrastiveComparison) -> String {
    let header = ("this model", "the other", "only this", "only other", "McNemar's p");
    let width = width(comparison.rows.iter().map(|row| &row.name));
    let mut text = format!(
        "{:<width$} {:>10} {:>10} {:>10} {:>10} {:>12}\n",
        "", header.0, header.1, header.2, header.3, header.4
    );
    text.extend(comparison.rows.iter().map(|row| {
        format!(
            "{:<width$} {:>8.1} % {:>8.1} % {:>10} {:>10} {:>12}\n",
            row.name,
            100.0 * row.first.share(),
            100.0 * row.second.share(),
            row.mcnemar.only_first,
            row.mcnemar.only_second,
            probability(row.mcnemar.p_value),
        )
    }));
    text
}

/// The width of a column of names.
fn width<'a>(names: impl Iterator<Item = &'a String>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or_default().max(14)
}

/// Four decimals say nothing about a small probability.
fn probability(p: f64) -> String {
    if p < 1e-4 { format!("{p:.1e}") } else { format!("{p:.4}") }
}
