//! `abridge reproduce`: the paper's tables, with ours beside the published figures.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use abridge_model::weights::ModelDirectory;
use abridge_model::{DeviceKind, Preset};
use anyhow::ensure;
use clap::Args;

use crate::exit::{Partly, Stopped};
use crate::reproduce::cell::{Cell, Outcome, Stored};
use crate::reproduce::comet;
use crate::reproduce::data::{Data, Given};
use crate::reproduce::grid::{Grid, Progress};
use crate::reproduce::measure;
use crate::reproduce::results::Results;
use crate::reproduce::scale::Scale;
use crate::reproduce::table::{Only, Pair, Table};

/// Runs a table of the paper again: trains, translates and scores each of its cells.
///
/// Every cell (a model at a context size with a seed) is kept by the hash of its recipe and its
/// data, and is never run twice; stopped at any moment, the same command goes on. Writes the table
/// as Markdown, CSV and a page with plots, with the paper's figure beside each of ours. At scale
/// tiny the built-in practice corpus needs no data; its scores cannot be compared with the paper's,
/// but its course can.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge reproduce --table parameters
  abridge reproduce --table en-de --scale tiny --only sentence --only grouping@1
  abridge reproduce --table en-de --scale small --data FOLDER --data-recipe recipes/small/data.toml \\
      --contrastive contrapro --seeds 1,2,3 --budget 8h
  abridge reproduce --table en-de --scale base --data en-de.tgz --contrastive ContraPro/contrapro.json \\
      --documents ContraPro/documents --device cuda")]
pub struct Reproduce {
    /// Which table.
    #[arg(long)]
    table: Table,
    /// The languages, where the table leaves a choice (antecedent-distance, comet).
    #[arg(long)]
    pair: Option<Pair>,
    /// How large.
    #[arg(long, default_value = "tiny")]
    scale: Scale,
    /// Where cells and reports go.
    #[arg(long, default_value = "reproduction", value_name = "DIR")]
    out: PathBuf,
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
    /// Only the first so many documents of the test split: for a quick look.
    #[arg(long, value_name = "COUNT")]
    test_documents: Option<usize>,
    /// Only some cells: a model, or a model at a context size as grouping@2; may be repeated.
    #[arg(long, value_name = "MODEL[@C]")]
    only: Vec<Only>,
    /// Seeds; several give mean and deviation.
    #[arg(long, default_value = "42", value_delimiter = ',')]
    seeds: Vec<u64>,
    /// Stops after this time, as 45m or 8h; the same command goes on.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// A setting of all training recipes, for instance `stop.max_updates=2000`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// A model directory whose weights every cell starts from, such as that of the sentence-level
    /// cell; what it lacks is initialised.
    #[arg(long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// Workers of training; as many as there are cores by default.
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// Where to compute.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// Prints only the table.
    #[arg(long, short)]
    quiet: bool,
}

impl Reproduce {
    /// Runs what is missing, and writes the reports.
    pub fn run(&self) -> anyhow::Result<()> {
        let pair = self.table.pair(self.pair)?;
        let mut grid = self.table.grid();
        if !self.only.is_empty() {
            grid.retain(|&(preset, c)| self.only.iter().any(|only| only.takes(preset, c)));
            ensure!(!grid.is_empty(), "--only chooses no cell of --table {}", self.table.name());
        }
        ensure!(
            self.scale == Scale::Tiny || self.data.is_some() || !self.table.is_trained(),
            "--scale {} needs --data: the practice corpus teaches a tiny network only",
            self.scale.name()
        );
        ensure!(
            self.table != Table::Comet || self.comet.is_some(),
            "--table comet needs --comet: the directory of a COMET model, such as the files of \
             Unbabel/wmt22-comet-da"
        );
        match self.table {
            Table::Parameters => self.parameters(pair, &grid),
            Table::Memory => self.memory(pair, &grid),
            _ => self.trained(pair, &grid),
        }
    }

    fn parameters(&self, pair: Pair, grid: &[(Preset, usize)]) -> anyhow::Result<()> {
        let mut outcomes = Vec::new();
        for &(preset, context) in grid {
            let vocabulary = measure::PAPER_VOCABULARY;
            let config = preset.config(abridge_model::Width::Base, vocabulary, vocabulary, context);
            outcomes.push((self.cell(pair, preset, context), Some(measure::parameters(&config)?)));
        }
        let vocabulary = measure::PAPER_VOCABULARY;
        let notes = vec![format!("width base, vocabularies of {vocabulary}, context size 1")];
        self.report(&Results::new(self.table, pair, grid, &outcomes, notes))
    }

    fn memory(&self, pair: Pair, grid: &[(Preset, usize)]) -> anyhow::Result<()> {
        let vocabulary = measure::PAPER_VOCABULARY;
        let bar = crate::progress::counter(grid.len(), "cells", self.quiet);
        let mut outcomes = Vec::new();
        for &(preset, context) in grid {
            let config = preset.config(self.scale.width(), vocabulary, vocabulary, context);
            let outcome = measure::memory(&config, self.device)?;
            outcomes.push((self.cell(pair, preset, context), Some(outcome)));
            bar.inc(1);
        }
        bar.finish_and_clear();
        let tokens = abridge_evaluate::profile::ProfileSettings::default().tokens;
        let notes = vec![
            format!(
                "width {}, vocabularies of {vocabulary}, sentences of {tokens} tokens, untrained \
                 weights",
                self.scale.width()
            ),
            "operation: the peak of memory while translating, beyond the weights; kept: what stays \
             between two sentences, with keys and values of every layer (of single- and \
             multi-encoder only token ids, for they read the context again)"
                .to_owned(),
            "the paper's Figure 5 shows the memory of a GPU, without figures".to_owned(),
        ];
        self.report(&Results::new(self.table, pair, grid, &outcomes, notes))
    }

    fn trained(&self, pair: Pair, grid: &[(Preset, usize)]) -> anyhow::Result<()> {
        let from = self.from.as_deref().map(ModelDirectory::open).transpose()?;
        let from = from.as_ref().map(ModelDirectory::weights_hash);
        let data = self.prepare(pair)?;
        let mut cells = Vec::new();
        for &seed in &self.seeds {
            for &(preset, context) in grid {
                let recipe = self.scale.recipe(pair, preset, context, seed, &self.settings)?;
                let cell = Cell { pair, preset, context, seed };
                cells.push(Stored::new(cell, recipe, &data.hash, from, &self.out));
            }
        }
        let (stop, signal) = super::train::listen()?;
        let runner = Grid {
            data: &data,
            device: self.device,
            workers: self.workers,
            from: self.from.as_deref(),
            budget: self.budget,
            quiet: self.quiet,
        };
        let progress = runner.run(&cells, &stop, &signal)?;
        let mut outcomes: Vec<(Cell, Option<Outcome>)> =
            cells.iter().map(|stored| (stored.cell, stored.outcome())).collect();
        if let Some(comet) = &self.comet {
            comet::add(&cells, &mut outcomes, &data, comet, self.device)?;
        }
        let done = outcomes.iter().filter(|(_, outcome)| outcome.is_some()).count();
        let mut notes = vec![
            format!("scale {}, {}", self.scale.name(), self.data_name(pair)),
            format!(
                "{done} of {} cells are done; seeds {}",
                cells.len(),
                self.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
            ),
        ];
        notes.extend(from.map(|hash| format!("every cell starts from model {}", &hash[..12])));
        notes.extend(
            self.test_documents.map(|count| format!("only the first {count} test documents")),
        );
        let largest = grid.iter().map(|&(_, context)| context).max().unwrap_or(0);
        if let Some(most) = data.contrastive_context(largest)?.filter(|&most| most < largest) {
            let sentences = if most == 1 { "sentence" } else { "sentences" };
            notes.push(format!(
                "the contrastive set has at most {most} {sentences} of context: a model that looks \
                 further back finds nothing there"
            ));
        }
        let signature = outcomes.iter().find_map(|(_, o)| o.as_ref().map(|o| o.signature.clone()));
        notes
            .extend(signature.map(|signature| format!("signature of the first cell: {signature}")));
        self.report(&Results::new(self.table, pair, grid, &outcomes, notes))?;
        match progress {
            Progress::Done => Ok(()),
            Progress::Budget => Err(Partly(format!(
                "the budget is spent with {done} of {} cells done; the same command goes on",
                cells.len()
            ))
            .into()),
            Progress::Signal(signal) => Err(Stopped { signal, run: self.out.clone() }.into()),
        }
    }

    fn cell(&self, pair: Pair, preset: Preset, context: usize) -> Cell {
        Cell { pair, preset, context, seed: self.seeds.first().copied().unwrap_or(42) }
    }

    fn prepare(&self, pair: Pair) -> anyhow::Result<Data> {
        let given = Given {
            data: self.data.clone(),
            recipe: self.data_recipe.clone(),
            contrastive: self.contrastive.clone(),
            documents: self.documents.clone(),
            test_documents: self.test_documents,
        };
        Data::prepare(pair, &given, &self.out, self.quiet)
    }

    fn data_name(&self, pair: Pair) -> String {
        let name = self.data.as_ref().and_then(|path| path.file_name());
        name.map_or_else(
            || format!("the practice corpus ({})", pair.name()),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Writes the three files and prints the table.
    fn report(&self, results: &Results) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.out)?;
        let pair = if self.table.pair(None).ok() == Some(results.pair) { "" } else { "-en-fr" };
        let name = match self.table {
            // The paper's counts are of one size only.
            Table::Parameters => self.table.name().to_owned(),
            table => format!("{}{pair}-{}", table.name(), self.scale.name()),
        };
        let file = |ending: &str| self.out.join(format!("{name}.{ending}"));
        let markdown = results.to_markdown();
        super::write_whole(&file("md"), markdown.as_bytes())?;
        super::write_whole(&file("csv"), results.to_csv().as_bytes())?;
        super::write_whole(&file("html"), results.to_page().as_bytes())?;
        if let Some(picture) = results.to_svg() {
            super::write_whole(&file("svg"), picture.as_bytes())?;
        }
        let mut out = std::io::stdout().lock();
        write!(out, "{markdown}")?;
        writeln!(out, "\n{}", file("html").display())?;
        Ok(())
    }
}

/// A time as 90s, 45m or 8h.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time as 90s, 45m or 8h");
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
