//! The training loop: updates, validation, checkpoints, patience.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use abridge_corpus::prepare::PreparedDirectory;
use abridge_corpus::store::Side;
use abridge_model::device::guarded;
use abridge_model::ops::ProductPrecision;
use abridge_model::{Batch, Model};
use burn::module::Module;
use burn::tensor::Device;

use crate::batches::Updates;
use crate::checkpoint::{Checkpoints, RunState};
use crate::event::{Ending, Event};
use crate::loss_scale::LossScale;
use crate::optimiser::Adam;
use crate::origin::Origin;
use crate::ranks::{Alone, Ranks};
use crate::recipe::TrainRecipe;
use crate::run_directory::{RunDirectory, RunPaths};
use crate::start::{Beginning, Start};
use crate::update::{GradientWorkers, UpdateSettings};
use crate::validation::{self, PerToken, ValidSplit, Validator};
use crate::{Error, Result};

/// A run fails after this many updates in a row with a gradient that is not finite.
const MAX_SKIPPED: u64 = 10;

/// How a run is executed; these options do not affect what is learned, except for `from` and
/// rounding.
pub struct Options {
    /// Workers of this process; if absent, one per core, or one on another device than the CPU.
    pub workers: Option<usize>,
    /// Resumes even if the recipe or the data are not those that the run was started with.
    pub force: bool,
    /// The model directory whose weights a new run starts from.
    pub from: Option<PathBuf>,
    /// The files that the recipe comes from ([`TrainRecipe::files`]), which the run does not
    /// overwrite.
    pub recipe: Vec<PathBuf>,
    /// Further measurements at each validation.
    pub validator: Option<Box<dyn Validator>>,
    /// The processes that train together.
    pub ranks: Rc<dyn Ranks>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: None,
            force: false,
            from: None,
            recipe: Vec::new(),
            validator: None,
            ranks: Rc::new(Alone),
        }
    }
}

/// A run that is ready to start or resume.
pub struct Training {
    recipe: TrainRecipe,
    updates: Updates,
    valid: Vec<ValidSplit>,
    workers: GradientWorkers,
    model: Model,
    adam: Adam,
    state: RunState,
    checkpoints: Checkpoints,
    /// The best network, if its checkpoint could not be saved.
    unsaved_best: Option<Model>,
    /// Whether the newest checkpoint could be saved.
    is_saved: bool,
    path: PathBuf,
    /// Only the leader writes.
    directory: Option<RunDirectory>,
    options: Options,
    beginning: Option<Event>,
}

impl Training {
    /// Starts a run, or resumes the one in the run directory.
    pub fn open(
        recipe: TrainRecipe,
        paths: &RunPaths<'_>,
        device: &Device,
        options: Options,
    ) -> Result<Self> {
        let data = PreparedDirectory::open(paths.data)?;
        let first = Beginning::of(&recipe, &data, options.from.as_deref(), device)?;
        let config = first.config.clone();
        let sampler = recipe.sampler(&data, &config)?;
        let corpora: Vec<String> = sampler.names().map(str::to_owned).collect();
        let valid = ValidSplit::open(&data, &recipe, &config, &corpora)?;
        let mut origin = Origin::of(&recipe, &data, &corpora)?;
        origin.from = first.start.as_ref().map(Start::hash);
        origin.from_place = options.from.as_ref().and_then(|from| from.canonicalize().ok());

        let leader = options.ranks.is_leader();
        let mut directory = leader.then(|| RunDirectory::open(paths.run)).transpose()?;
        let checkpoints = Checkpoints::new(paths.run.join("checkpoints"));
        if leader {
            checkpoints.clean();
        }
        options.ranks.wait();
        let device = device.clone().autodiff();
        let (model, adam, mut state, beginning) = if let Some(found) = checkpoints.newest()? {
            let changed = found.state.origin.differences(&origin);
            if !changed.is_empty() && !options.force {
                return Err(refusal(paths.run, &changed));
            }
            // A run that started from another model can be resumed without naming that model.
            let is_kept = first.start.is_none() && found.state.origin.from.is_some();
            let config = if is_kept { found.config()? } else { config };
            let Origin { from, from_place, .. } = found.state.origin.clone();
            let from_place = origin.from_place.clone().or(from_place);
            let origin = Origin { from, from_place, ..origin };
            let (model, adam) = found.load(&config, &origin, &recipe.optimisation, &device)?;
            let state = RunState { origin, ..found.state };
            let passed_over = found.passed_over;
            let event = Event::Resumed { update: state.update, passed_over, changed };
            (model, adam, state, Some(event))
        } else {
            let (model, event) = first.model(&recipe, &device)?;
            let optimisation = &recipe.optimisation;
            let adam = Adam::new(optimisation.adam).with_base_rate(optimisation.base_rate);
            (model, adam, RunState::new(origin), event)
        };
        if let Some(directory) = &mut directory {
            directory.begin(&recipe.to_toml(), &options.recipe, &data, state.update)?;
        }
        let languages = data.tokenizer(Side::Source)?.languages().ids().collect();
        Ok(Self {
            updates: Updates::new(sampler, languages, &mut state.position),
            valid,
            workers: GradientWorkers::new(options.workers, &device)?,
            recipe,
            model,
            adam,
            state,
            checkpoints,
            unsaved_best: None,
            is_saved: true,
            path: paths.run.to_path_buf(),
            directory,
            options,
            beginning,
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

    /// The run directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Updates in the current epoch, and the last update if the recipe sets a limit.
    pub fn horizon(&self) -> (u64, Option<u64>) {
        let epoch = self.updates.in_epoch().div_ceil(self.recipe.batches.per_update) as u64;
        let by_epochs = self.recipe.stop.max_epochs.map(|epochs| epochs.saturating_mul(epoch));
        (epoch, self.recipe.last_update().into_iter().chain(by_epochs).min())
    }

    /// Whether the newest checkpoint could be saved: on a full disk, the run continues without it.
    pub fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// The network with the best validation so far, or the current one before the first validation.
    pub fn best_model(&self) -> Result<Model> {
        if let Some(best) = &self.unsaved_best {
            return Ok(best.clone());
        }
        match self.state.best_loss {
            Some(_) => {
                let device = self.model.device().without_autodiff();
                let (update, origin) = (self.state.best_update, &self.state.origin);
                self.checkpoints.weights(update, origin, &device).map_err(|error| {
                    let run = self.path.display();
                    Error::Checkpoint(format!(
                        "the best checkpoint is gone: {error}; `abridge average --run {run} --best 1 \
                         --output MODEL` uses the best remaining one"
                    ))
                })
            }
            None => Ok(self.model.valid()),
        }
    }

    /// Trains until there is a reason to stop; `stop` requests a stop after the current update.
    pub fn run(&mut self, stop: &AtomicBool, watch: &mut dyn FnMut(&Event)) -> Result<Ending> {
        let start = Instant::now();
        if let Some(event) = self.beginning.take() {
            // A resume is not recorded in the metrics: they are those of one uninterrupted run.
            match event {
                Event::Resumed { .. } if self.directory.is_some() => watch(&event),
                Event::Resumed { .. } => {}
                event => self.log(&event, watch),
            }
        }
        loop {
            if let Some(ending) = self.has_ended() {
                return Ok(ending);
            }
            if self.options.ranks.any(stop.load(Ordering::Relaxed)) {
                self.save(watch);
                return Ok(Ending::Interrupted);
            }
            self.state.update += 1;
            let (position, update) = (&mut self.state.position, self.state.update);
            let ranks = &*self.options.ranks;
            let before: Vec<u64> = position.corpora.iter().map(|place| place.tokens).collect();
            let batches = self.updates.next(position, update, &self.recipe, ranks);
            let event = self.update(&batches, start)?.with_corpora(&before, &self.state.position);
            self.log(&event, watch);
            if self.state.skipped_in_a_row >= MAX_SKIPPED {
                return Err(Error::NotFinite {
                    updates: MAX_SKIPPED,
                    update,
                    epoch: self.state.position.epoch,
                    batch: self.state.position.batch,
                });
            }
            let is_due = match self.recipe.stop.validate_every {
                Some(every) => self.state.update.is_multiple_of(every),
                None => self.updates.is_epoch_done(&self.state.position),
            };
            if is_due || self.has_ended().is_some() {
                self.validate(watch)?;
            }
        }
    }

    fn has_ended(&self) -> Option<Ending> {
        let stop = &self.recipe.stop;
        let state = &self.state;
        let epochs = state.position.epoch + u64::from(self.updates.is_epoch_done(&state.position));
        if state.best_loss.is_some() && state.without_improvement >= stop.patience {
            Some(Ending::Patience)
        } else if self.recipe.last_update().is_some_and(|last| state.update >= last)
            || stop.max_epochs.is_some_and(|max| epochs >= max)
        {
            Some(Ending::Limit)
        } else {
            None
        }
    }

    fn update(&mut self, batches: &[(usize, Batch)], start: Instant) -> Result<Event> {
        let update = self.state.update;
        self.state.valid_loss = None;
        let optimisation = &self.recipe.optimisation;
        if optimisation.precision == ProductPrecision::F16 {
            self.state.loss_scale.get_or_insert_default();
        }
        let settings = UpdateSettings {
            smoothing: optimisation.label_smoothing,
            dropout: self.model.config().dropout,
            train: optimisation.train,
            seed: self.recipe.seed.0,
            update,
            precision: optimisation.precision,
            loss_scale: self.state.loss_scale.map_or(1.0, |loss| loss.scale),
        };
        let batches: Vec<_> = batches.iter().map(|(place, batch)| (*place, batch)).collect();
        let mut sum = self.workers.sum(&self.model, &batches, settings)?;
        sum.sum_over(&*self.options.ranks)?;
        sum.gradients.scale(1.0 / sum.tokens as f64);
        let norm = sum.gradients.clip(optimisation.clip_norm)?;
        if !norm.is_finite() || !sum.loss.is_finite() {
            self.state.skipped += 1;
            // While a smaller scale of the loss may help, this is no sign that training has failed.
            if !self.state.loss_scale.as_mut().is_some_and(LossScale::failed) {
                self.state.skipped_in_a_row += 1;
            }
            return Ok(Event::Skipped { update });
        }
        self.state.skipped_in_a_row = 0;
        if let Some(loss_scale) = &mut self.state.loss_scale {
            loss_scale.succeeded();
        }
        let rate = optimisation.schedule.rate(update);
        let device = self.model.device();
        let step = || self.adam.step(self.model.clone(), sum.gradients, rate);
        self.model = guarded(&device, step)?;
        let per_token = PerToken::new(sum.loss, sum.likelihood, sum.tokens as f64);
        Ok(Event::Updated {
            update,
            epoch: self.state.position.epoch,
            loss: per_token.loss,
            perplexity: per_token.perplexity,
            rate,
            norm,
            tokens: sum.tokens,
            corpora: BTreeMap::new(),
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Scores the validation split, tracks improvements, and saves.
    ///
    /// As published, losses are compared in bits per token with three decimals, and the later of
    /// equal ones counts as best; only a lower one resets the patience.
    fn validate(&mut self, watch: &mut dyn FnMut(&Event)) -> Result<()> {
        let model = self.model.valid();
        let smoothing = self.recipe.optimisation.label_smoothing;
        let losses = guarded(&model.device(), || {
            validation::losses(&model, &self.valid, smoothing, &*self.options.ranks)
        })??;
        let PerToken { loss, perplexity } = losses.deciding;
        let rounded = (loss * 1000.0).round() / 1000.0;
        let update = self.state.update;
        let state = &mut self.state;
        let best = state.best_loss.is_none_or(|best| rounded <= best);
        let lower = state.best_loss.is_none_or(|best| rounded < best);
        state.valid_loss = Some(rounded);
        state.without_improvement = if lower { 0 } else { state.without_improvement + 1 };
        if best {
            state.best_loss = Some(rounded);
            state.best_update = update;
        }
        let scores = match &mut self.options.validator {
            Some(validator) if self.directory.is_some() => validator.validate(&model, update),
            _ => Ok(BTreeMap::new()),
        };
        // Logged before saving: a run that is killed here resumes from an earlier checkpoint and
        // logs it again.
        let (failed, scores) = match scores {
            Ok(scores) => (None, scores),
            Err(error) => (Some(error), BTreeMap::new()),
        };
        let corpora = losses.corpora;
        let seen = self.updates.seen(&self.state.position);
        let event = Event::Validated { update, loss, perplexity, best, scores, corpora, seen };
        self.log(&event, watch);
        self.save(watch);
        failed.map_or(Ok(()), Err)
    }

    /// Saves a checkpoint. On a full disk, the run continues without it.
    fn save(&mut self, watch: &mut dyn FnMut(&Event)) {
        if self.directory.is_none() {
            return;
        }
        let save = || self.checkpoints.save(&self.model, &self.adam, &self.state);
        let saved = guarded(&self.model.device(), save).unwrap_or_else(|error| Err(error.into()));
        self.is_saved = saved.is_ok();
        if self.state.best_update == self.state.update {
            let best = self.state.best_loss.is_some() && !self.is_saved;
            self.unsaved_best = best.then(|| self.model.valid());
        }
        match saved {
            Ok(_) => {
                let best = self.state.best_update;
                self.checkpoints.prune(self.recipe.checkpoints, best);
            }
            Err(error) => {
                let (update, reason) = (self.state.update, error.to_string());
                self.log(&Event::NotSaved { update, reason }, watch);
            }
        }
    }

    fn log(&mut self, event: &Event, watch: &mut dyn FnMut(&Event)) {
        if let Some(directory) = &mut self.directory {
            directory.log(event);
            watch(event);
        }
    }
}

fn refusal(run: &Path, changed: &[String]) -> Error {
    Error::Checkpoint(format!(
        "{}: cannot resume: {}; use another run directory, the same recipe and data, or --force",
        run.display(),
        changed.join("; ")
    ))
}
