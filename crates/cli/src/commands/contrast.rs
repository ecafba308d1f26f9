//! `abridge contrast`: how often a model prefers the right pronoun.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use abridge_corpus::{ContrastiveInput, ContrastiveSet};
use abridge_evaluate::{Accuracy, ContrastiveReport};
use abridge_model::DeviceKind;
use abridge_translate::{ScoreRequest, Translator};
use anyhow::Context;
use clap::Args;

/// Scores the candidates of a contrastive set and counts how often the reference wins.
///
/// A candidate's score is its log-probability per token, the end included; an example is right if
/// its reference scores strictly higher than every alternative.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge contrast --model runs/grouping/model --set practice/text/contrastive.json
  abridge contrast --model runs/grouping/model --set contrapro --scores scores.txt
  abridge contrast --model runs/sentence/model --set practice/text/contrastive.json --json")]
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
    /// The pair of languages of the set.
    #[arg(long, default_value = "en-de", value_name = "PAIR")]
    languages: String,
    /// Writes all scores, one per line, in the order of the set's candidates.
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    json: bool,
    /// Where to compute.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
}

impl Contrast {
    /// Scores and reports.
    pub fn run(&self) -> anyhow::Result<()> {
        let translator = Translator::open(&self.model, &self.device.open()?)?;
        let context = translator.model().config().context_size;
        let set = self.read(context)?;
        let scores = score(&translator, &set)?;
        if let Some(file) = &self.scores {
            let lines: Vec<String> = scores.iter().flatten().map(f64::to_string).collect();
            fs::write(file, lines.join("\n") + "\n")
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        let report = ContrastiveReport::new(&set, &scores);
        let hash = &translator.hash()[..translator.hash().len().min(12)];
        let signature = format!(
            "abridge {}|model {hash}|context {context}|mean log-probability per token",
            env!("CARGO_PKG_VERSION")
        );
        let mut out = std::io::stdout().lock();
        if self.json {
            let value = serde_json::json!({ "contrast": {
                "score": report.total.share(), "signature": signature, "report": report,
            }});
            writeln!(out, "{value:#}")?;
        } else {
            write!(out, "{}", table(&report))?;
            writeln!(out, "\n{signature}")?;
        }
        Ok(())
    }

    fn read(&self, context: usize) -> anyhow::Result<ContrastiveSet> {
        let (source, target) = self
            .languages
            .split_once('-')
            .with_context(|| format!("`{}` is not a pair as en-de", self.languages))?;
        let mut input = ContrastiveInput::new(&self.set, source, target);
        input.documents.clone_from(&self.documents);
        input.context = context;
        let set = ContrastiveSet::read(&input)?;
        for note in &set.notes {
            eprintln!("note: {note}");
        }
        Ok(set)
    }
}

/// The score of every candidate of every item.
pub fn score(translator: &Translator, set: &ContrastiveSet) -> anyhow::Result<Vec<Vec<f64>>> {
    let requests: Vec<ScoreRequest<'_>> = set
        .items
        .iter()
        .map(|item| ScoreRequest {
            source: &item.source,
            context: &item.context,
            candidates: &item.candidates,
        })
        .collect();
    let scores = translator.score(&requests, &|_| {})?;
    Ok(scores
        .iter()
        .map(|item| item.iter().map(abridge_translate::Score::mean).collect())
        .collect())
}

/// The report as a table for people.
pub fn table(report: &ContrastiveReport) -> String {
    let row = |name: &str, accuracy: &Accuracy| {
        let (low, high) = accuracy.interval();
        format!(
            "{name:<14} {:>6} / {:<6} {:>6.1} %   ({:.1} to {:.1})\n",
            accuracy.correct,
            accuracy.items,
            100.0 * accuracy.share(),
            100.0 * low,
            100.0 * high
        )
    };
    let mut text = format!("{:<14} {:>15} {:>8}   95 % interval\n", "", "right", "accuracy");
    text += &row("all", &report.total);
    for (distance, accuracy) in &report.by_distance {
        text += &row(&format!("distance {distance}"), accuracy);
    }
    for (pronoun, accuracy) in &report.by_pronoun {
        text += &row(pronoun, accuracy);
    }
    text
}
