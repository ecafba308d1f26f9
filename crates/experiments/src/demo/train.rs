//! Trains the two models side by side.

use std::sync::atomic::{AtomicBool, Ordering};

use abridge_model::DeviceKind;
use abridge_model::weights::ModelDirectory;
use abridge_train::{Ending, Event, Options, RunPaths, TrainRecipe, Training};

use super::{Demo, PRESETS};
use crate::recipes;

/// Called with a model's name, update and perplexity.
type OnUpdate<'a> = &'a (dyn Fn(&str, u64, f64) + Sync);

impl Demo {
    /// The models that do not exist yet.
    pub fn missing(&self) -> Vec<&'static str> {
        let is_missing = |preset: &&str| ModelDirectory::open(&self.model(preset)).is_err();
        PRESETS.into_iter().filter(is_missing).collect()
    }

    /// Trains models side by side, one core each, until they are done or `stop` is set.
    pub fn train(
        &self,
        presets: &[&str],
        stop: &AtomicBool,
        on_update: OnUpdate<'_>,
    ) -> anyhow::Result<Ending> {
        let results: Vec<anyhow::Result<Ending>> = std::thread::scope(|scope| {
            let started: Vec<_> = presets
                .iter()
                .map(|preset| {
                    scope.spawn(move || {
                        let result = self.train_one(preset, stop, on_update);
                        // If one fails, the other stops, too.
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
        let endings = results.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        let is_interrupted = endings.contains(&Ending::Interrupted);
        Ok(if is_interrupted { Ending::Interrupted } else { Ending::Limit })
    }

    fn train_one(
        &self,
        preset: &str,
        stop: &AtomicBool,
        on_update: OnUpdate<'_>,
    ) -> anyhow::Result<Ending> {
        let settings = [
            format!("model.preset={preset}"),
            format!("stop.max_updates={}", self.updates),
            "stop.patience=1000".to_owned(),
        ];
        let recipe = TrainRecipe::parse(recipes::PRACTICE, &settings)?;
        let (data, run) = (self.data(), self.run_directory(preset));
        let paths = RunPaths { data: &data, run: &run };
        let options = Options { workers: Some(1), ..Options::default() };
        let mut training = Training::open(recipe, &paths, &DeviceKind::Cpu.open()?, options)?;
        let ending = training.run(stop, &mut |event| {
            if let Event::Updated { update, perplexity, .. } = event {
                on_update(preset, *update, *perplexity);
            }
        })?;
        if ending != Ending::Interrupted {
            training.write_model(&self.model(preset))?;
        }
        Ok(ending)
    }
}
