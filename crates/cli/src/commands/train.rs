//! `abridge train`: trains a model on a prepared directory.

mod dry_run;
mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use abridge_base::Kind;
use abridge_experiments::estimate::Estimate;
use abridge_experiments::validation::Measure;
use abridge_model::DeviceKind;
use abridge_train::{
    Ending, Options, Ranks, RunPaths, TrainRecipe, Training, Validator, begin_model,
};
use anyhow::Context;
use clap::Args;

use watch::Watcher;

/// Trains a model, or resumes an interrupted run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge prepare practice --practice
  abridge train --data practice --run runs/grouping --recipe recipes/practice.toml
  abridge train --data practice --run runs/sentence --recipe recipes/practice.toml \\
      --set model.preset=sentence
  abridge train --data practice --run runs/longer --recipe recipes/practice.toml \\
      --from runs/sentence/model --contrastive practice/text/contrastive.json
  abridge train --data practice --run runs/try --recipe recipes/practice.toml --dry-run

A run directory that exists is resumed from its newest complete checkpoint. Ctrl-C finishes the
update, saves and exits; a second Ctrl-C exits at once.")]
pub struct Train {
    /// A directory that `abridge prepare` wrote.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The directory of the run: checkpoints, metrics and, at the end, the model.
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    run: Option<PathBuf>,
    /// The recipe; without one, the paper's.
    #[arg(long, value_name = "TOML")]
    recipe: Option<PathBuf>,
    /// A setting of the recipe, for instance optimisation.schedule.peak=1e-3; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// A model directory or an installed model whose weights a new run starts from; weights that
    /// it lacks are initialised. Any model can start from a sentence-level one.
    #[arg(long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// A contrastive set whose accuracy each validation reports (validation.contrastive).
    #[arg(long, value_name = "PATH")]
    contrastive: Option<PathBuf>,
    /// Resumes even if the recipe or the data have changed since the run was started.
    #[arg(long)]
    force: bool,
    /// Workers, each with a micro-batch; by default one per core, or one on another device than the
    /// CPU.
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// Prints what would be trained, tries one update, and trains nothing.
    #[arg(long)]
    dry_run: bool,
    /// Prints only the final summary.
    #[arg(long, short)]
    quiet: bool,
}

impl Train {
    /// Trains until the loss stops falling, a limit is reached, or a signal comes.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut recipe = TrainRecipe::read(self.recipe.as_deref(), &self.settings)?;
        if let Some(set) = &self.contrastive {
            recipe.validation.contrastive = Some(set.clone());
        }
        let device = self.device.open()?;
        if self.dry_run {
            let from = self.from()?;
            let from = from.as_deref();
            let estimate = Estimate::make(&recipe, &self.data, &device, self.workers, from)?;
            return dry_run::describe(&recipe, &estimate);
        }
        let run = self.run.as_deref().context("--run is missing")?;
        let ranks = join()?;
        let result = self.train(recipe, run, &device, &ranks);
        match result {
            // The other ranks would wait for this one forever.
            Err(error)
                if ranks.count() > 1 && !matches!(crate::exit::kind(&error), Kind::Signal(_)) =>
            {
                ranks.abort(crate::exit::report(&error))
            }
            result => result,
        }
    }

    /// The directory of the model to start from.
    fn from(&self) -> anyhow::Result<Option<PathBuf>> {
        self.from.as_deref().map(super::model::directory).transpose()
    }

    fn train(
        &self,
        recipe: TrainRecipe,
        run: &Path,
        device: &burn::tensor::Device,
        ranks: &Rc<dyn Ranks>,
    ) -> anyhow::Result<()> {
        let paths = RunPaths { data: &self.data, run };
        let measure = if ranks.is_leader() { Measure::open(&recipe, &self.data)? } else { None };
        let options = Options {
            workers: self.workers,
            force: self.force,
            from: self.from()?,
            recipe: self.recipe.as_deref().map(TrainRecipe::files).transpose()?.unwrap_or_default(),
            validator: measure.map(|measure| Box::new(measure) as Box<dyn Validator>),
            ranks: ranks.clone(),
        };
        let model = run.join("model");
        if ranks.is_leader() && model.exists() {
            // Find out now, not after training, if the model directory cannot be replaced.
            drop(begin_model(&model)?);
        }
        let mut training = Training::open(recipe, &paths, device, options)?;
        let (stop, signal) = listen()?;
        let mut watcher = Watcher::new(self.quiet || !ranks.is_leader(), &training);
        let ending = training.run(&stop, &mut |event| watcher.see(event));
        watcher.finish();
        let ending = ending?;
        if !ranks.is_leader() {
            return Ok(());
        }
        if ending == Ending::Interrupted {
            let signal = signal.load(Ordering::Relaxed);
            return Err(abridge_base::Error::stopped(signal, run, training.is_saved()).into());
        }
        summarise(&training, run, ending)
    }
}

/// The processes of this run: one, unless MPI started more.
fn join() -> anyhow::Result<Rc<dyn Ranks>> {
    #[cfg(feature = "mpi")]
    let ranks = abridge_train::MpiRanks::join()?;
    #[cfg(not(feature = "mpi"))]
    let ranks = {
        let started = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];
        let size = started.iter().find_map(|name| std::env::var(name).ok());
        anyhow::ensure!(
            size.is_none_or(|size| size == "1"),
            "this build trains in one process; build it with `cargo build --release --features mpi`"
        );
        abridge_train::Alone
    };
    Ok(Rc::new(ranks))
}

/// Writes the model directory and says what to do with it.
fn summarise(training: &Training, run: &Path, ending: Ending) -> anyhow::Result<()> {
    let state = training.state();
    let out = run.join("model");
    training.write_model(&out)?;
    let mut stdout = std::io::stdout().lock();
    let why = match ending {
        Ending::Patience => "the validation loss no longer falls",
        _ => "the recipe's limit is reached",
    };
    writeln!(stdout, "{why}: {} updates", state.update)?;
    if state.skipped > 0 {
        writeln!(stdout, "skipped: {} updates whose gradient was not finite", state.skipped)?;
    }
    if let Some(loss) = state.best_loss {
        let update = state.best_update;
        writeln!(stdout, "best: {loss:.3} bits per token at update {update}")?;
    }
    writeln!(stdout, "model: {}", out.display())?;
    writeln!(stdout, "curves: tensorboard --logdir {}", run.display())?;
    writeln!(stdout, "next:  abridge translate --model {} FILE", out.display())?;
    Ok(())
}

/// A flag that a signal sets, and which signal it was. A second signal ends the process.
pub fn listen() -> anyhow::Result<(Arc<AtomicBool>, Arc<AtomicUsize>)> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    let which = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and sets it, the second exits.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.clone())?;
        signal_hook::flag::register(signal, stop.clone())?;
        signal_hook::flag::register_usize(signal, which.clone(), signal as usize)?;
    }
    Ok((stop, which))
}
