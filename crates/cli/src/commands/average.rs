//! `abridge average`: the mean of several checkpoints, as one model.

use std::io::Write;
use std::path::PathBuf;

use abridge_train::{Choice, average};
use clap::Args;

/// Averages the weights of checkpoints of a run into a model directory.
///
/// A run keeps its two newest checkpoints and the best; the settings `checkpoints.keep` and
/// `checkpoints.keep_best` of the recipe make it keep more.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge train --data practice --run runs/a --recipe recipes/practice.toml \\
      --set checkpoints.keep=5 --set checkpoints.keep_best=5
  abridge average --run runs/a --last 5 --output runs/a/average
  abridge average --run runs/a --best 3 --output runs/a/best3")]
pub struct Average {
    /// The directory of a run.
    #[arg(long, value_name = "DIR")]
    run: PathBuf,
    /// Averages the newest COUNT checkpoints.
    #[arg(long, value_name = "COUNT", required_unless_present = "best", conflicts_with = "best")]
    last: Option<usize>,
    /// Averages the COUNT checkpoints with the lowest validation loss.
    #[arg(long, value_name = "COUNT")]
    best: Option<usize>,
    /// The model directory to write.
    #[arg(long, short, alias = "out", value_name = "DIR")]
    output: PathBuf,
}

impl Average {
    /// Averages and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        let choice = match (self.last, self.best) {
            (_, Some(count)) => Choice::Best(count),
            (count, None) => Choice::Last(count.unwrap_or(0)),
        };
        let updates = average(&self.run, choice, &self.output)?;
        let list = updates.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let mut out = std::io::stdout().lock();
        writeln!(out, "the mean of updates {list}")?;
        writeln!(out, "model: {}", self.output.display())?;
        writeln!(out, "next:  abridge translate --model {} FILE", self.output.display())?;
        Ok(())
    }
}
