//! Runs cells until they are done or the budget is spent.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use abridge_base::files::replace;
use abridge_corpus::ContrastiveSet;
use abridge_evaluate::{
    Bleu, ContrastiveReport, Control, Controls, Example, References, Spread, corpus_score,
    score_with_controls,
};
use abridge_model::DeviceKind;
use abridge_train::{Ending, Event, Options, RunPaths, Training};
use abridge_translate::{BeamSettings, Translator};
use anyhow::Context;

use super::cell::{Outcome, Stored};
use super::data::Data;
use crate::observer::Observer;

/// The seed of the random control.
const CONTROL_SEED: u64 = 1;

/// The progress of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Every cell is done.
    Done,
    /// The budget is spent; the same command continues.
    Budget,
    /// It was interrupted; the same command continues.
    Stopped,
}

/// Runs the cells of a grid.
pub struct Grid<'a> {
    /// The data.
    pub data: &'a Data,
    /// The device to compute on.
    pub device: DeviceKind,
    /// Training workers.
    pub workers: Option<usize>,
    /// The model whose weights training starts from.
    pub from: Option<&'a Path>,
    /// The time budget.
    pub budget: Option<Duration>,
    /// Receives the progress.
    pub observer: &'a dyn Observer,
}

impl Grid<'_> {
    /// Runs the unfinished cells, in order. Stopping loses nothing: training resumes.
    pub fn run(&self, cells: &[Stored], stop: &AtomicBool) -> anyhow::Result<Progress> {
        let start = Instant::now();
        let left = cells.iter().filter(|cell| cell.outcome().is_none()).count();
        if left < cells.len() {
            self.observer.line(&format!(
                "{} of {} cells are already done",
                cells.len() - left,
                cells.len()
            ));
        }
        for (number, cell) in cells.iter().filter(|cell| cell.outcome().is_none()).enumerate() {
            self.observer.line(&format!("cell {} of {left}: {}", number + 1, cell.cell.name()));
            if self.is_spent(start) {
                return Ok(Progress::Budget);
            }
            let outcome = self
                .run_cell(cell, stop, start)
                .with_context(|| format!("cell {}", cell.cell.name()))?;
            match outcome {
                Some(outcome) => cell.keep(&outcome)?,
                None if self.is_spent(start) => return Ok(Progress::Budget),
                None => return Ok(Progress::Stopped),
            }
        }
        Ok(Progress::Done)
    }

    fn is_spent(&self, start: Instant) -> bool {
        self.budget.is_some_and(|budget| start.elapsed() >= budget)
    }

    /// Trains, translates and scores; `None` if it was stopped.
    fn run_cell(
        &self,
        cell: &Stored,
        stop: &AtomicBool,
        start: Instant,
    ) -> anyhow::Result<Option<Outcome>> {
        fs::create_dir_all(&cell.directory)
            .with_context(|| format!("cannot make {}", cell.directory.display()))?;
        let mut outcome = Outcome::default();
        let device = self.device.open()?;
        let run = cell.run();
        let paths = RunPaths { data: &self.data.prepared, run: &run };
        let from = self.from.map(Path::to_path_buf);
        let options = Options { workers: self.workers, from, ..Options::default() };
        let mut training = Training::open(cell.recipe.clone(), &paths, &device, options)?;
        let ending = training.run(stop, &mut |event| {
            match event {
                Event::Updated { update, perplexity, .. } => {
                    let text = format!("update {update}  perplexity {perplexity:.2}");
                    self.observer.status(&text);
                }
                Event::Validated { update, perplexity, best, .. } => {
                    let best = if *best { ", the best so far" } else { "" };
                    let line =
                        format!("  update {update}: validation perplexity {perplexity:.2}{best}");
                    self.observer.line(&line);
                }
                _ => {}
            }
            if self.is_spent(start) {
                stop.store(true, Ordering::Relaxed);
            }
        })?;
        self.observer.idle();
        if ending == Ending::Interrupted {
            return Ok(None);
        }
        training.write_model(&cell.model())?;
        outcome.scores.insert("updates".into(), training.state().update as f64);
        if let Some(loss) = training.state().best_loss {
            outcome.scores.insert("validation loss".into(), loss);
        }
        drop(training);
        outcome.scores.insert("training seconds".into(), training_seconds(&run)?);

        let translator = Translator::open(&cell.model(), &device)?;
        self.translate(cell, &translator, &mut outcome)?;
        self.contrast(&translator, &mut outcome)?;
        Ok(Some(outcome))
    }

    fn translate(
        &self,
        cell: &Stored,
        translator: &Translator,
        outcome: &mut Outcome,
    ) -> anyhow::Result<()> {
        let sources: Vec<Vec<String>> = self
            .data
            .test
            .iter()
            .map(|document| document.segments.iter().map(|s| s.source.clone()).collect())
            .collect();
        let settings = BeamSettings::default();
        let sentences = AtomicUsize::new(0);
        let translations = translator.translate_documents(&sources, &settings, &|done| {
            let sentences = sentences.fetch_add(done, Ordering::Relaxed) + done;
            self.observer.status(&format!("{sentences} sentences translated"));
        })?;
        self.observer.idle();
        let lines: Vec<String> = translations.into_iter().flatten().collect();
        replace(&cell.translation(), (lines.join("\n") + "\n").as_bytes())?;
        let segments = self.data.test.iter().flat_map(|document| &document.segments);
        let references = segments.filter_map(|segment| segment.target.clone());
        let score = corpus_score(&Bleu::default(), &lines, &References::single(references)?)?;
        outcome.scores.insert("bleu".into(), score.score);
        outcome.signature = format!(
            "abridge {}|model {}|beam {}|context {}|BLEU {}",
            env!("CARGO_PKG_VERSION"),
            &translator.hash()[..translator.hash().len().min(12)],
            settings.beam,
            translator.model().config().context_size,
            score.signature
        );
        Ok(())
    }

    fn contrast(&self, translator: &Translator, outcome: &mut Outcome) -> anyhow::Result<()> {
        let Some(input) = &self.data.contrastive else { return Ok(()) };
        let mut input = input.clone();
        input.context = translator.model().config().context_size;
        let set = ContrastiveSet::read(&input)?;
        let size = input.context;
        let random = Control::Random.check(&Example::all(&set), size, CONTROL_SEED).is_ok();
        // A gain from context must be compared with that of a random context.
        let controls = if size > 0 && random { &[Control::Random][..] } else { &[] };
        let beside = Controls { controls, seed: CONTROL_SEED, draws: Controls::DRAWS };
        let scores = score_with_controls(translator, &set, beside, None, &mut |_| {})?;
        let report = ContrastiveReport::new(&set, &scores[0]);
        outcome.scores.insert("accuracy".into(), 100.0 * report.total.share());
        if let Some(mean) = report.mean {
            outcome.scores.insert("mean over pronouns".into(), 100.0 * mean.share);
        }
        let random: Vec<f64> = scores[1..]
            .iter()
            .filter_map(|draw| ContrastiveReport::new(&set, draw).mean.map(|mean| mean.share))
            .collect();
        if !random.is_empty() {
            let mean = Spread::of(random).mean;
            outcome.scores.insert("mean with random context".into(), 100.0 * mean);
        }
        for (distance, accuracy) in &report.by_distance {
            outcome.scores.insert(format!("accuracy at {distance}"), 100.0 * accuracy.share());
        }
        Ok(())
    }
}

/// The total time of a run's updates, over all its sessions: the clock restarts in each.
fn training_seconds(run: &Path) -> anyhow::Result<f64> {
    let metrics = fs::read_to_string(run.join("metrics.jsonl"))?;
    let (mut sum, mut last) = (0.0, 0.0);
    for line in metrics.lines() {
        let event: serde_json::Value = serde_json::from_str(line)?;
        if let Some(seconds) = event["seconds"].as_f64() {
            sum += if seconds < last { seconds } else { seconds - last };
            last = seconds;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_resumed_run_is_the_sum_over_its_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<String> =
            [2.0, 3.5, 1.0, 4.0].iter().map(|s| format!("{{\"seconds\":{s}}}")).collect();
        let metrics = lines.join("\n{\"event\":\"validated\"}\n");
        fs::write(folder.path().join("metrics.jsonl"), metrics).unwrap();
        assert!((training_seconds(folder.path()).unwrap() - 7.5).abs() < 1e-9);
    }
}
