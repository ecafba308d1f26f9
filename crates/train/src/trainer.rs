//! The training loop: updates, validation, checkpoints, patience.

use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use abridge_corpus::batch::{self, Batcher, Plan, Position};
use abridge_corpus::prepare::{FileHash, MANIFEST, PreparedDirectory};
use abridge_corpus::store::TokenStore;
use abridge_model::{Batch, Dropout, Example, Model, Packed, SourceBatch};
use burn::module::Module;
use burn::tensor::Device;
use serde::Serialize;

use crate::checkpoint::{Checkpoints, Origin, RunState};
use crate::optimiser::Adam;
use crate::recipe::{StopRecipe, TrainRecipe};
use crate::update::{UpdateSettings, Workers};
use crate::{Error, Result};

/// Updates in a row whose gradient may be not finite before a run gives up.
const MAX_SKIPPED: u64 = 10;
/// Complete checkpoints that are kept besides the best.
const KEPT: usize = 2;

/// Where a run reads and writes.
#[derive(Clone, Debug)]
pub struct RunPaths<'a> {
    /// A directory that `abridge prepare` wrote.
    pub data: &'a Path,
    /// The directory of the run, made if it is not there, resumed if it is.
    pub run: &'a Path,
}

/// What happens in a run, for whoever watches.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run goes on from a checkpoint.
    Resumed {
        /// Updates made before.
        update: u64,
        /// Newer checkpoints that were not usable, and why.
        passed_over: Vec<String>,
    },
    /// An update was made.
    Updated {
        /// Its number, from 1.
        update: u64,
        /// The epoch, from 0.
        epoch: u64,
        /// The label-smoothed loss in bits per token.
        loss: f64,
        /// Two to the negative log-likelihood per token.
        perplexity: f64,
        /// The learning rate.
        rate: f64,
        /// The norm of the gradients before clipping.
        norm: f64,
        /// Target tokens.
        tokens: usize,
        /// Seconds since the run was started or resumed.
        seconds: f64,
    },
    /// An update was left out, for its gradient was not finite.
    Skipped {
        /// Its number.
        update: u64,
    },
    /// The validation split was scored.
    Validated {
        /// After this update.
        update: u64,
        /// The label-smoothed loss in bits per token.
        loss: f64,
        /// Two to the negative log-likelihood per token.
        perplexity: f64,
        /// Whether it is the best so far.
        best: bool,
    },
    /// A checkpoint could not be saved; the run goes on.
    NotSaved {
        /// After this update.
        update: u64,
        /// Why.
        reason: String,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The validation loss did not fall any more.
    Patience,
    /// The limit of updates or epochs was reached.
    Limit,
    /// Somebody asked it to stop; it can be resumed.
    Interrupted,
}

/// A run that is ready to go on.
pub struct Training {
    recipe: TrainRecipe,
    batcher: Batcher,
    /// The batches of the current epoch.
    plan: Plan,
    valid: Batcher,
    workers: Workers,
    model: Model,
    adam: Adam,
    state: RunState,
    checkpoints: Checkpoints,
    metrics: PathBuf,
    resumed: Option<Event>,
    /// Held as long as the run is, so that no second process writes here.
    _lock: fs::File,
}

impl Training {
    /// Starts a run, or resumes the one in the run directory.
    pub fn open(
        recipe: TrainRecipe,
        paths: &RunPaths<'_>,
        device: &Device,
        workers: Option<usize>,
    ) -> Result<Self> {
        let data = PreparedDirectory::open(paths.data)?;
        let origin = Origin {
            data: FileHash::of(&paths.data.join(MANIFEST), MANIFEST)?.sha256,
            recipe: TrainRecipe { stop: StopRecipe::default(), ..recipe.clone() }.to_toml(),
        };
        let vocabularies = &data.manifest().vocabularies;
        let config = recipe.config(vocabularies.source, vocabularies.target)?;
        let batches = recipe.batch_settings(&config);
        let store = |split: &str| -> Result<Arc<TokenStore>> { Ok(Arc::new(data.split(split)?)) };
        let batcher = Batcher::new(store("train")?, batches)?;
        let valid = Batcher::new(store("valid")?, batches)?;

        let lock = lock(paths.run)?;
        let checkpoints = Checkpoints::new(paths.run.join("checkpoints"));
        let device = device.clone().autodiff();
        let restored = checkpoints.restore(recipe.optimisation.adam, &device)?;
        let (model, adam, state, resumed) = if let Some(restored) = restored {
            refuse_other_origin(&restored.state.origin, &origin, paths.run)?;
            let update = restored.state.update;
            let event = Event::Resumed { update, passed_over: restored.passed_over };
            (restored.model, restored.adam, restored.state, Some(event))
        } else {
            let model = config.init(recipe.seed.0, &device)?;
            (model, Adam::new(recipe.optimisation.adam), RunState::new(origin), None)
        };
        let run_file = |name: &str| paths.run.join(name);
        fs::write(run_file("recipe.toml"), recipe.to_toml())
            .map_err(|error| Error::Checkpoint(format!("cannot write recipe.toml: {error}")))?;
        let metrics = run_file("metrics.jsonl");
        forget_after(&metrics, state.update)?;
        let workers = Workers::new(workers)?;
        Ok(Self {
            recipe,
            plan: batcher.plan(state.position.epoch),
            batcher,
            valid,
            workers,
            model,
            adam,
            state,
            checkpoints,
            metrics,
            resumed,
            _lock: lock,
        })
    }

    /// The network as it is now.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Where the run is.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The network of the best validation so far, or the present one before any.
    pub fn best_model(&self) -> Result<Model> {
        match self.state.best_loss {
            Some(_) => self
                .checkpoints
                .weights(self.state.best_update, &self.model.device().without_autodiff()),
            None => Ok(self.model.valid()),
        }
    }

    /// Trains until there is a reason to stop. `stop` asks for an end after the current update.
    pub fn run(&mut self, stop: &AtomicBool, watch: &mut dyn FnMut(&Event)) -> Result<Ending> {
        let start = Instant::now();
        if let Some(event) = self.resumed.take() {
            watch(&event);
        }
        let mut not_finite = 0;
        loop {
            if let Some(ending) = self.has_ended() {
                return Ok(ending);
            }
            if stop.load(Ordering::Relaxed) {
                self.save(watch)?;
                return Ok(Ending::Interrupted);
            }
            let batches = self.next_batches();
            let event = self.update(&batches, start)?;
            not_finite = if matches!(event, Event::Skipped { .. }) { not_finite + 1 } else { 0 };
            self.log(&event, watch)?;
            if not_finite == MAX_SKIPPED {
                return Err(Error::NotFinite {
                    updates: MAX_SKIPPED,
                    update: self.state.update,
                    epoch: self.state.position.epoch,
                    batch: self.state.position.batch,
                });
            }
            let is_due = match self.recipe.stop.validate_every {
                Some(every) => self.state.update.is_multiple_of(every),
                None => self.is_epoch_done(),
            };
            if is_due || self.has_ended().is_some() {
                self.validate(watch)?;
            }
        }
    }

    fn has_ended(&self) -> Option<Ending> {
        let stop = &self.recipe.stop;
        let state = &self.state;
        let epochs = state.position.epoch + u64::from(self.is_epoch_done());
        if state.best_loss.is_some() && state.without_improvement >= stop.patience {
            Some(Ending::Patience)
        } else if stop.max_updates.is_some_and(|max| state.update >= max)
            || stop.max_epochs.is_some_and(|max| epochs >= max)
        {
            Some(Ending::Limit)
        } else {
            None
        }
    }

    fn is_epoch_done(&self) -> bool {
        self.state.position.batch >= self.plan.batches.len()
    }

    /// The micro-batches of the next update; the last update of an epoch may have fewer.
    fn next_batches(&mut self) -> Vec<Batch> {
        if self.is_epoch_done() {
            self.state.position = Position { epoch: self.state.position.epoch + 1, batch: 0 };
            self.plan = self.batcher.plan(self.state.position.epoch);
        }
        let first = self.state.position.batch;
        let last = (first + self.recipe.batches.per_update).min(self.plan.batches.len());
        self.state.position.batch = last;
        let planned = &self.plan.batches[first..last];
        planned.iter().map(|planned| for_model(&self.batcher.build(planned))).collect()
    }

    fn update(&mut self, batches: &[Batch], start: Instant) -> Result<Event> {
        self.state.update += 1;
        let update = self.state.update;
        let optimisation = &self.recipe.optimisation;
        let settings = UpdateSettings {
            smoothing: optimisation.label_smoothing,
            dropout: self.model.config().dropout,
            seed: self.recipe.seed.0,
            update,
        };
        let mut sum = self.workers.accumulate(&self.model, batches, settings)?;
        let norm = sum.gradients.clip(optimisation.clip_norm);
        if !norm.is_finite() || !sum.loss.is_finite() {
            self.state.skipped += 1;
            return Ok(Event::Skipped { update });
        }
        let rate = optimisation.schedule.rate(update);
        self.model = self.adam.step(self.model.clone(), sum.gradients, rate);
        let per_token = |sum_of: f64| sum_of / sum.tokens as f64 / std::f64::consts::LN_2;
        Ok(Event::Updated {
            update,
            epoch: self.state.position.epoch,
            loss: per_token(sum.loss),
            perplexity: per_token(sum.likelihood).exp2(),
            rate,
            norm,
            tokens: sum.tokens,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Scores the validation split, keeps count of improvements, and saves.
    ///
    /// As published, losses are compared in bits per token with three decimals, and of equal ones
    /// the later counts as best; only a lower one resets the patience.
    fn validate(&mut self, watch: &mut dyn FnMut(&Event)) -> Result<()> {
        let (loss, perplexity) = self.valid_loss()?;
        let rounded = (loss * 1000.0).round() / 1000.0;
        let best = self.state.best_loss.is_none_or(|best| rounded <= best);
        let lower = self.state.best_loss.is_none_or(|best| rounded < best);
        self.state.without_improvement = if lower { 0 } else { self.state.without_improvement + 1 };
        if best {
            self.state.best_loss = Some(rounded);
            self.state.best_update = self.state.update;
        }
        let update = self.state.update;
        self.log(&Event::Validated { update, loss, perplexity, best }, watch)?;
        self.save(watch)
    }

    fn valid_loss(&self) -> Result<(f64, f64)> {
        let model = self.model.valid();
        let plan = self.valid.plan(0);
        let (mut loss, mut likelihood, mut tokens) = (0.0, 0.0, 0);
        for planned in &plan.batches {
            let batch = for_model(&self.valid.build(planned));
            let smoothing = self.recipe.optimisation.label_smoothing;
            let scored = model.loss(&batch, smoothing, &mut Dropout::off())?;
            loss += f64::from(scored.smoothed.into_scalar::<f32>());
            likelihood += f64::from(scored.likelihood.into_scalar::<f32>());
            tokens += scored.tokens;
        }
        let per_token = |sum: f64| sum / tokens as f64 / std::f64::consts::LN_2;
        Ok((per_token(loss), per_token(likelihood).exp2()))
    }

    /// Saves a checkpoint. A full disk costs the checkpoint, not the run.
    fn save(&self, watch: &mut dyn FnMut(&Event)) -> Result<()> {
        match self.checkpoints.save(&self.model, &self.adam, &self.state) {
            Ok(_) => self.checkpoints.prune(KEPT, self.state.best_update),
            Err(error) => {
                let (update, reason) = (self.state.update, error.to_string());
                self.log(&Event::NotSaved { update, reason }, watch)?;
            }
        }
        Ok(())
    }

    fn log(&self, event: &Event, watch: &mut dyn FnMut(&Event)) -> Result<()> {
        watch(event);
        let line = serde_json::to_string(event).map_err(|e| Error::Checkpoint(e.to_string()))?;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.metrics);
        let written = file.as_mut().map(|file| writeln!(file, "{line}"));
        // A metric that cannot be written is no reason to stop a run.
        drop(written);
        Ok(())
    }
}

/// The same batch in the network's own type.
pub fn for_model(batch: &batch::Batch) -> Batch {
    let packed = |side: &batch::Packed| Packed::new((0..side.len()).map(|i| side.sentence(i)));
    let examples = batch.source_of.iter().zip(&batch.context_of);
    let examples =
        examples.map(|(&source, context)| Example { source, context: context.clone() }).collect();
    Batch {
        source: SourceBatch { sentences: packed(&batch.sentences), examples },
        targets: packed(&batch.targets),
    }
}

/// Makes the run directory and takes its lock.
fn lock(run: &Path) -> Result<fs::File> {
    let failed = |error: std::io::Error| {
        Error::Checkpoint(format!("{}: cannot use it as a run directory: {error}", run.display()))
    };
    fs::create_dir_all(run.join("checkpoints")).map_err(failed)?;
    let file = fs::File::create(run.join(".lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(Error::Checkpoint(format!(
            "{}: another process is training here; wait for it or choose another run directory",
            run.display()
        ))),
        Err(fs::TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn refuse_other_origin(saved: &Origin, given: &Origin, run: &Path) -> Result<()> {
    let what = if saved.data != given.data {
        "the prepared data has changed".to_owned()
    } else if saved.recipe != given.recipe {
        let changed = given.recipe.lines().find(|line| !saved.recipe.lines().any(|l| l == *line));
        format!("the recipe has changed: {}", changed.unwrap_or("a setting is gone"))
    } else {
        return Ok(());
    };
    Err(Error::Checkpoint(format!(
        "{}: cannot resume: {what}; use another run directory, or what it was started with",
        run.display()
    )))
}

/// Drops metrics of updates that were made after the checkpoint and will be made again.
fn forget_after(metrics: &Path, update: u64) -> Result<()> {
    let Ok(file) = fs::File::open(metrics) else { return Ok(()) };
    let kept: Vec<String> = std::io::BufReader::new(file)
        .lines()
        .map_while(std::result::Result::ok)
        .filter(|line| {
            let event: Option<serde_json::Value> = serde_json::from_str(line).ok();
            event.and_then(|event| event["update"].as_u64()).is_some_and(|u| u <= update)
        })
        .collect();
    let mut text = kept.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    fs::write(metrics, text)
        .map_err(|error| Error::Checkpoint(format!("{}: {error}", metrics.display())))
}
