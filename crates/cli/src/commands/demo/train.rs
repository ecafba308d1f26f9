//! Trains the two models side by side.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use abridge_model::DeviceKind;
use abridge_model::weights::ModelDirectory;
use abridge_train::{Ending, Event, Options, RunPaths, TrainRecipe, Training};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{Demo, PRESETS};

/// The recipe of `recipes/practice.toml`, in the binary.
const RECIPE: &str = include_str!("../../../../../recipes/practice.toml");

impl Demo {
    /// Trains what is not there yet, side by side, one core each.
    pub(super) fn train_both(&self, data: &Path) -> anyhow::Result<()> {
        let missing: Vec<&str> = PRESETS
            .into_iter()
            .filter(|preset| ModelDirectory::open(&self.model(preset)).is_err())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (stop, signal) = super::super::train::listen()?;
        let bars = MultiProgress::new();
        if !std::io::stderr().is_terminal() {
            bars.set_draw_target(indicatif::ProgressDrawTarget::hidden());
            eprintln!("training {} for {} updates", missing.join(" and "), self.updates);
        }
        let results: Vec<anyhow::Result<Ending>> = std::thread::scope(|scope| {
            let started: Vec<_> = missing
                .iter()
                .map(|preset| {
                    let bar = bars.add(ProgressBar::new(self.updates));
                    let stop = &stop;
                    scope.spawn(move || {
                        let result = self.train_one(preset, data, stop, &bar);
                        // One that fails does not let the other work in vain.
                        if result.is_err() {
                            stop.store(true, Ordering::Relaxed);
                        }
                        result
                    })
                })
                .collect();
            let joined = started.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|r| r.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        bars.clear()?;
        let endings = results.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        if endings.contains(&Ending::Interrupted) {
            let signal = signal.load(Ordering::Relaxed);
            return Err(crate::exit::Stopped { signal, run: self.out.clone() }.into());
        }
        Ok(())
    }

    fn train_one(
        &self,
        preset: &str,
        data: &Path,
        stop: &AtomicBool,
        bar: &ProgressBar,
    ) -> anyhow::Result<Ending> {
        let style = format!("{preset:<9} {{bar:30}} {{pos}}/{{len}} updates  {{msg}}");
        bar.set_style(ProgressStyle::with_template(&style)?);
        let settings = [
            format!("model.preset={preset}"),
            format!("stop.max_updates={}", self.updates),
            "stop.patience=1000".to_owned(),
        ];
        let recipe = TrainRecipe::parse(RECIPE, &settings)?;
        let run = self.run_directory(preset);
        let paths = RunPaths { data, run: &run };
        let options = Options { workers: Some(1), ..Options::default() };
        let mut training = Training::open(recipe, &paths, &DeviceKind::Cpu.open()?, options)?;
        let ending = training.run(stop, &mut |event| {
            if let Event::Updated { update, perplexity, .. } = event {
                bar.set_position(*update);
                bar.set_message(format!("perplexity {perplexity:.2}"));
            }
        })?;
        if ending != Ending::Interrupted {
            training.write_model(&self.model(preset))?;
        }
        bar.finish();
        Ok(ending)
    }
}
