//! `abridge reproduce`: the paper's tables, with ours beside the published figures.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use abridge_base::Error;
use abridge_experiments::reproduce::data::Given;
use abridge_experiments::reproduce::grid::Progress;
use abridge_experiments::reproduce::numbered::Numbered;
use abridge_experiments::reproduce::run::Reproduction;
use abridge_experiments::reproduce::scale::Scale;
use abridge_experiments::reproduce::sweep::{Sweep, Vary};
use abridge_experiments::reproduce::table::{Only, Pair, Table};
use abridge_model::DeviceKind;
use anyhow::bail;
use clap::Args;

use crate::progress::Narrator;

/// Reproduces a table of the paper: trains, translates and scores each of its cells.
///
/// Every cell (a model at a context size with a seed) is stored under the hash of its recipe and
/// data and never run twice; after an interruption, the same command resumes. Writes the table as
/// Markdown, CSV and a page with plots, with the paper's figure beside each of ours. At scale tiny
/// the built-in practice corpus needs no data; its scores cannot be compared with the paper's, but
/// the trend over rows can.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge reproduce --table parameters
  abridge reproduce --table en-de --scale tiny --only sentence --only grouping@1
  abridge reproduce --table 9 --only grouping
  abridge reproduce --figure 4
  abridge reproduce --sweep groups --seeds 1,2,3
  abridge reproduce --table en-de --only grouping@1 --vary model.change.gate=false,true
  abridge reproduce --table en-de --scale small --data FOLDER \\
      --data-recipe recipes/small/data.toml --contrastive contrapro --seeds 1,2,3 --budget 8h
  abridge reproduce --table en-de --scale base --data en-de.tgz \\
      --contrastive ContraPro/contrapro.json --documents ContraPro/documents --device cuda")]
pub struct Reproduce {
    /// Which table, by its name or its number in the paper (2, 3, 5 to 13).
    #[arg(long, required_unless_present_any = ["sweep", "figure"])]
    table: Option<Numbered>,
    /// Which figure, by its number in the paper (3 to 7).
    #[arg(long, value_name = "NUMBER", value_parser = Numbered::figure, conflicts_with = "table")]
    figure: Option<Numbered>,
    /// The languages, where the table leaves a choice (antecedent-distance, comet, examples,
    /// kept-tokens).
    #[arg(long)]
    pair: Option<Pair>,
    /// The scale of the experiment.
    #[arg(long, default_value = "tiny")]
    scale: Scale,
    /// Where cells and reports go.
    #[arg(long, short, alias = "out", default_value = "reproduction", value_name = "DIR")]
    output: PathBuf,
    /// What the data recipe reads: an archive or a folder; the practice corpus by default.
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// The data recipe; the paper's by default.
    #[arg(long, value_name = "TOML", requires = "data")]
    data_recipe: Option<PathBuf>,
    /// The contrastive set; without one, accuracies stay empty.
    #[arg(long, value_name = "PATH")]
    contrastive: Option<PathBuf>,
    /// The folder of the documents that ContraPro's JSON refers to.
    #[arg(long, value_name = "DIR")]
    documents: Option<PathBuf>,
    /// The directory of a COMET model, for --table comet; the paper's is Unbabel/wmt22-comet-da.
    #[arg(long, value_name = "DIR")]
    comet: Option<PathBuf>,
    /// Only the first COUNT documents of the test split: for a quick look.
    #[arg(long, value_name = "COUNT")]
    test_documents: Option<usize>,
    /// Only some cells: a model, or a model at a context size such as grouping@2; may be repeated.
    #[arg(long, value_name = "MODEL[@C]")]
    only: Vec<Only>,
    /// Seeds; several give mean and deviation.
    #[arg(long, default_value = "42", value_delimiter = ',')]
    seeds: Vec<u64>,
    /// Stops after this time, such as 45m or 8h; the same command resumes.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// A setting of all training recipes, for instance `stop.max_updates=2000`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// One of the paper's design choices as rows: its models, with each value that the paper tried.
    #[arg(long)]
    sweep: Option<Sweep>,
    /// A field of the training recipe with several values, as rows of the table, for instance
    /// `model.change.shortener.groups=8,9,10,11`; may be repeated for all combinations.
    #[arg(long, value_name = "KEY=VALUE,…")]
    vary: Vec<Vary>,
    /// A model directory or an installed model whose weights every cell starts from, such as that
    /// of the sentence-level cell; weights that it lacks are initialised.
    #[arg(long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// Training workers; one per core by default.
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// Prints only the table.
    #[arg(long, short)]
    quiet: bool,
}

impl Reproduce {
    /// Runs what is missing, and writes the reports.
    pub fn run(&self) -> anyhow::Result<()> {
        // Without training there is nothing to resume, so Ctrl-C ends the process as usual.
        let (stop, signal) = if self.table().is_trained() {
            super::train::listen()?
        } else {
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)))
        };
        let report = self.reproduction()?.run(&Narrator::new(self.quiet), &stop)?;
        let mut out = std::io::stdout().lock();
        write!(out, "{}", report.markdown)?;
        writeln!(out, "\n{}", report.page.display())?;
        let (done, all) = report.done;
        match report.progress {
            Progress::Done => Ok(()),
            Progress::Budget => Err(Error::partly(format!(
                "the budget is spent with {done} of {all} cells done; the same command resumes"
            ))
            .into()),
            Progress::Stopped => {
                let signal = signal.load(Ordering::Relaxed);
                Err(Error::stopped(signal, &self.output, true).into())
            }
        }
    }

    /// A sweep has the columns of Table 2 by default.
    fn table(&self) -> Table {
        self.table.or(self.figure).map_or(Table::EnDe, |named| named.table)
    }

    /// The languages that were asked for, or that belong to a number.
    fn pair(&self) -> anyhow::Result<Option<Pair>> {
        let numbered = self.table.or(self.figure).and_then(|named| named.pair);
        if let (Some(asked), Some(own)) = (self.pair, numbered)
            && asked != own
        {
            bail!("the paper has {} under this number; leave --pair out", own.name());
        }
        Ok(self.pair.or(numbered))
    }

    fn reproduction(&self) -> anyhow::Result<Reproduction> {
        Ok(Reproduction {
            table: self.table(),
            pair: self.pair()?,
            scale: self.scale,
            out: self.output.clone(),
            given: Given {
                data: self.data.clone(),
                recipe: self.data_recipe.clone(),
                contrastive: self.contrastive.clone(),
                documents: self.documents.clone(),
                test_documents: self.test_documents,
            },
            comet: self.comet.clone(),
            only: self.only.clone(),
            seeds: self.seeds.clone(),
            budget: self.budget,
            settings: self.settings.clone(),
            sweep: self.sweep,
            vary: self.vary.clone(),
            from: self.from.as_deref().map(super::model::directory).transpose()?,
            workers: self.workers,
            device: self.device,
        })
    }
}

/// A time as 90s, 45m or 8h.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration like 90s, 45m or 8h");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_mins(90)));
        for wrong in ["", "h", "5", "-1h", "NaNh", "5d", "5ü"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
