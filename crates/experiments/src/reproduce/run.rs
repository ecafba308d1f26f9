//! Runs a table, from its settings to its results.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abridge_base::files::{OutputFile, Outputs};
use abridge_base::message::counted;
use abridge_corpus::prepare::FilterReport;
use abridge_evaluate::picture::is_own_page;
use abridge_model::weights::ModelDirectory;
use abridge_model::{DeviceKind, ModelSize, Preset};
use anyhow::ensure;

use super::cell::{Cell, Outcome, Stored};
use super::comet;
use super::data::{Data, Given};
use super::grid::{Grid, Progress};
use super::measure::{self, PAPER_VOCABULARY};
use super::results::Results;
use super::scale::Scale;
use super::sweep::{Sweep, Variant, Vary, variants};
use super::table::{Only, Pair, Table};
use crate::observer::Observer;

/// The file name extensions of a report.
const ENDINGS: [&str; 4] = ["html", "md", "csv", "svg"];

/// Which table to reproduce, and how.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The table.
    pub table: Table,
    /// The languages, if the table leaves a choice.
    pub pair: Option<Pair>,
    /// The size of the networks.
    pub scale: Scale,
    /// The directory of cells and reports.
    pub out: PathBuf,
    /// The user's data.
    pub given: Given,
    /// The directory of a COMET model.
    pub comet: Option<PathBuf>,
    /// Only some cells; all if empty.
    pub only: Vec<Only>,
    /// Seeds; several give mean and standard deviation.
    pub seeds: Vec<u64>,
    /// The time budget.
    pub budget: Option<Duration>,
    /// Settings of all training recipes, as `key=value`.
    pub settings: Vec<String>,
    /// A named sweep: its models and its field.
    pub sweep: Option<Sweep>,
    /// Fields of the recipe with several values each.
    pub vary: Vec<Vary>,
    /// A model directory whose weights every cell starts from.
    pub from: Option<PathBuf>,
    /// Training workers.
    pub workers: Option<usize>,
    /// The device to compute on.
    pub device: DeviceKind,
}

/// Cells that were trained, now or before.
pub(super) struct Trained {
    pub data: Data,
    /// In the order of seeds, grid and variants.
    pub cells: Vec<Stored>,
    /// The hash of the weights that they started from.
    pub from: Option<String>,
    pub progress: Progress,
}

/// The files of a report.
#[derive(Clone, Debug)]
pub struct Report {
    /// The table as Markdown.
    pub markdown: String,
    /// The page with plots.
    pub page: PathBuf,
    /// The progress of the cells.
    pub progress: Progress,
    /// The numbers of finished cells, and of all.
    pub done: (usize, usize),
}

impl Reproduction {
    /// Runs what is missing, and writes the table as Markdown, CSV, a page and a picture.
    pub fn run(&self, observer: &dyn Observer, stop: &AtomicBool) -> anyhow::Result<Report> {
        let pair = self.table.pair(self.pair)?;
        let mut grid = self.sweep.map_or_else(|| self.table.grid(), Sweep::grid);
        ensure!(
            self.table.has_scores() || (self.sweep.is_none() && self.vary.is_empty()),
            "--table {} has no scores for a sweep to compare; use --table en-de",
            self.table.name()
        );
        if !self.only.is_empty() {
            grid.retain(|&(preset, c)| self.only.iter().any(|only| only.takes(preset, c)));
            ensure!(!grid.is_empty(), "--only selects no cell of the table {}", self.table.name());
        }
        ensure!(
            self.scale == Scale::Tiny || self.given.data.is_some() || !self.table.is_trained(),
            "--scale {} needs --data: the practice corpus is only enough for a tiny network",
            self.scale.name()
        );
        ensure!(
            !matches!(self.table, Table::Comet | Table::LargerContextComet) || self.comet.is_some(),
            "--table comet and larger-context-comet need --comet: the directory of a COMET model, \
             such as the files of Unbabel/wmt22-comet-da"
        );
        std::fs::create_dir_all(&self.out)?;
        // Find out now, not after training, if a file cannot be written.
        for ending in ENDINGS {
            self.output(pair, ending)?;
        }
        match self.table {
            Table::Parameters => self.parameters(pair, &grid),
            Table::Memory => self.memory(pair, &grid, observer, stop),
            Table::Examples => self.examples(pair, &grid, observer, stop),
            Table::KeptTokens => self.kept_tokens(pair, &grid, observer, stop),
            _ => self.trained(pair, &grid, observer, stop),
        }
    }

    fn parameters(&self, pair: Pair, grid: &[(Preset, usize)]) -> anyhow::Result<Report> {
        let mut outcomes = Vec::new();
        for &(preset, context) in grid {
            let config =
                preset.config(ModelSize::Base, PAPER_VOCABULARY, PAPER_VOCABULARY, context);
            outcomes.push((self.cell(pair, preset, context), Some(measure::parameters(&config)?)));
        }
        let notes = vec![format!("size base, vocabularies of {PAPER_VOCABULARY}, context size 1")];
        self.report(pair, grid, &outcomes, notes, Progress::Done)
    }

    /// Trains the cells that are not done yet.
    pub(super) fn train(
        &self,
        pair: Pair,
        grid: &[(Preset, usize)],
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> anyhow::Result<Trained> {
        let from = self.from.as_deref().map(ModelDirectory::open).transpose()?;
        let from = from.map(|directory| directory.weights_hash().to_owned());
        let data = Data::prepare(pair, &self.given, &self.out, observer)?;
        let mut cells = Vec::new();
        for &seed in &self.seeds {
            for &(preset, context) in grid {
                for (variant, Variant { settings, .. }) in self.variants().iter().enumerate() {
                    let settings = [&self.settings[..], settings].concat();
                    let recipe = self.scale.recipe(pair, preset, context, seed, &settings)?;
                    // Invalid values are found before anything is trained.
                    recipe.config(PAPER_VOCABULARY, PAPER_VOCABULARY)?;
                    let cell = Cell { pair, preset, context, seed, variant };
                    cells.push(Stored::new(cell, recipe, &data.hash, from.as_deref(), &self.out));
                }
            }
        }
        let runner = Grid {
            data: &data,
            device: self.device,
            workers: self.workers,
            from: self.from.as_deref(),
            budget: self.budget,
            observer,
        };
        let progress = runner.run(&cells, stop)?;
        Ok(Trained { data, cells, from, progress })
    }

    fn trained(
        &self,
        pair: Pair,
        grid: &[(Preset, usize)],
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> anyhow::Result<Report> {
        let Trained { data, cells, from, progress } = self.train(pair, grid, observer, stop)?;
        let mut outcomes: Vec<(Cell, Option<Outcome>)> =
            cells.iter().map(|stored| (stored.cell, stored.outcome())).collect();
        if let Some(comet) = &self.comet {
            comet::add(&cells, &mut outcomes, &data, comet, self.device)?;
        }
        let notes = self.notes(pair, grid, &data, from.as_deref(), &outcomes)?;
        self.report(pair, grid, &outcomes, notes, progress)
    }

    /// What the results of trained cells depend on.
    fn notes(
        &self,
        pair: Pair,
        grid: &[(Preset, usize)],
        data: &Data,
        from: Option<&str>,
        outcomes: &[(Cell, Option<Outcome>)],
    ) -> anyhow::Result<Vec<String>> {
        let mut notes = vec![
            format!("scale {}, {}", self.scale.name(), self.data_name(pair)),
            format!(
                "{} of {} cells are done; seeds {}",
                done(outcomes),
                outcomes.len(),
                self.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
            ),
        ];
        notes.extend(from.map(|hash| format!("every cell starts from model {}", &hash[..12])));
        notes.extend(data.filtered.iter().map(FilterReport::summary));
        notes.extend(
            self.given.test_documents.map(|count| format!("only the first {count} test documents")),
        );
        let largest = grid.iter().map(|&(_, context)| context).max().unwrap_or(0);
        if let Some(most) = data.contrastive_context(largest)?.filter(|&most| most < largest) {
            notes.push(format!(
                "the contrastive set has at most {} of context: larger context sizes are not filled",
                counted(most, "sentence")
            ));
        }
        let signature = outcomes.iter().find_map(|(_, o)| o.as_ref().map(|o| o.signature.clone()));
        notes
            .extend(signature.map(|signature| format!("signature of the first cell: {signature}")));
        Ok(notes)
    }

    fn cell(&self, pair: Pair, preset: Preset, context: usize) -> Cell {
        let seed = self.seeds.first().copied().unwrap_or(42);
        Cell { pair, preset, context, seed, variant: 0 }
    }

    /// The combinations of varied values.
    fn variants(&self) -> Vec<Variant> {
        let named = self.sweep.map(Sweep::vary);
        variants(&named.into_iter().chain(self.vary.iter().cloned()).collect::<Vec<_>>())
    }

    pub(super) fn data_name(&self, pair: Pair) -> String {
        let name = self.given.data.as_ref().and_then(|path| path.file_name());
        name.map_or_else(
            || format!("the practice corpus ({})", pair.name()),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// The path of a file of the report.
    fn file(&self, pair: Pair, ending: &str) -> PathBuf {
        let other = if self.table.pair(None).ok() == Some(pair) { "" } else { "-en-fr" };
        let mut name = match self.table {
            // The paper's counts are for one size only.
            Table::Parameters => self.table.name().to_owned(),
            table => format!("{}{other}-{}", table.name(), self.scale.name()),
        };
        match self.sweep {
            Some(sweep) => name = format!("{name}-{}", sweep.name()),
            None if !self.vary.is_empty() => name += "-varied",
            None => {}
        }
        self.out.join(format!("{name}.{ending}"))
    }

    /// A file of the report. The report of an earlier run is replaced; other files that happen to
    /// have these names are not.
    fn output(&self, pair: Pair, ending: &str) -> abridge_base::Result<OutputFile> {
        // The page is the first file of a report to be written.
        let is_own = is_own_page(&self.file(pair, "html"));
        let remedy = "move it away, or write to another directory";
        Outputs::new().derived(&self.file(pair, ending), is_own, remedy)
    }

    /// Writes the files of a table of scores.
    pub(super) fn report(
        &self,
        pair: Pair,
        grid: &[(Preset, usize)],
        outcomes: &[(Cell, Option<Outcome>)],
        notes: Vec<String>,
        progress: Progress,
    ) -> anyhow::Result<Report> {
        let results = Results::new(self.table, pair, grid, &self.variants(), outcomes, notes);
        let write = |ending: &str, text: &str| self.output(pair, ending)?.write(text.as_bytes());
        let markdown = results.to_markdown();
        write("html", &results.to_page())?;
        write("md", &markdown)?;
        write("csv", &results.to_csv())?;
        if let Some(picture) = results.to_svg() {
            write("svg", &picture)?;
        }
        let done = (done(outcomes), outcomes.len());
        Ok(Report { markdown, page: self.file(pair, "html"), progress, done })
    }

    /// Writes files, by extension and the page first, of a report that is not a table of scores.
    pub(super) fn written(
        &self,
        pair: Pair,
        found: &Trained,
        files: &[(&str, &[u8])],
        text: &str,
    ) -> anyhow::Result<Report> {
        for (ending, bytes) in files {
            self.output(pair, ending)?.write(bytes)?;
        }
        Ok(Report {
            markdown: text.to_owned(),
            page: self.file(pair, "html"),
            progress: found.progress,
            done: found.done(),
        })
    }

    /// A report of the progress, if there is nothing else to show yet.
    pub(super) fn unfinished(&self, found: &Trained) -> Report {
        let (done, all) = found.done();
        Report {
            markdown: format!("# {}\n\n- {done} of {all} cells are done\n", self.table.title()),
            page: self.out.clone(),
            progress: found.progress,
            done: (done, all),
        }
    }
}

impl Trained {
    /// The numbers of finished cells, and of all.
    pub fn done(&self) -> (usize, usize) {
        let done = self.cells.iter().filter(|cell| cell.outcome().is_some()).count();
        (done, self.cells.len())
    }
}

fn done(outcomes: &[(Cell, Option<Outcome>)]) -> usize {
    outcomes.iter().filter(|(_, outcome)| outcome.is_some()).count()
}
