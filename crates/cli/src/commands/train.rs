//! `abridge train`: trains a model on a prepared directory.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use abridge_corpus::prepare::PreparedDirectory;
use abridge_model::DeviceKind;
use abridge_train::{Ending, Event, RunPaths, TrainRecipe, Training};
use anyhow::Context;
use burn::module::Module;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

/// Trains a model, or goes on with a run that was interrupted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge prepare practice --practice
  abridge train --data practice --run runs/grouping --recipe recipes/practice.toml
  abridge train --data practice --run runs/sentence --recipe recipes/practice.toml \\
      --set model.preset=sentence
  abridge train --data practice --run runs/try --recipe recipes/practice.toml --dry-run

A run directory that exists is resumed from its newest complete checkpoint. Ctrl-C finishes the
update, saves and exits; a second Ctrl-C exits at once.")]
pub struct Train {
    /// A directory that `abridge prepare` wrote.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The directory of the run: checkpoints, metrics and, in the end, the model.
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    run: Option<PathBuf>,
    /// The recipe; without one, the paper's.
    #[arg(long, value_name = "TOML")]
    recipe: Option<PathBuf>,
    /// A setting of the recipe, for instance optimisation.schedule.peak=1e-3; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Workers, each with a micro-batch on one core; as many as there are cores by default.
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// Where to compute.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// Prints what would be trained, and trains nothing.
    #[arg(long)]
    dry_run: bool,
    /// Prints only the end.
    #[arg(long, short)]
    quiet: bool,
}

impl Train {
    /// Trains until the loss stops falling, a limit is reached, or a signal comes.
    pub fn run(&self) -> anyhow::Result<()> {
        let recipe = TrainRecipe::read(self.recipe.as_deref(), &self.settings)?;
        let device = self.device.open()?;
        if self.dry_run {
            return self.describe(&recipe);
        }
        let run = self.run.as_deref().context("--run is needed")?;
        let paths = RunPaths { data: &self.data, run };
        let mut training = Training::open(recipe, &paths, &device, self.workers)?;
        let (stop, signal) = listen()?;
        let mut watcher = Watcher::new(self.quiet, training.model().num_params());
        let ending = training.run(&stop, &mut |event| watcher.see(event))?;
        watcher.finish();
        if ending == Ending::Interrupted {
            let signal = signal.load(Ordering::Relaxed);
            return Err(crate::exit::Stopped { signal, run: run.to_path_buf() }.into());
        }
        self.deliver(&training, run, ending)
    }

    /// Writes the model directory and says what to do with it.
    fn deliver(&self, training: &Training, run: &Path, ending: Ending) -> anyhow::Result<()> {
        let state = training.state();
        let out = run.join("model");
        training.write_model(&self.data, &out)?;
        let why = match ending {
            Ending::Patience => "the validation loss does not fall any more",
            _ => "the limit of the recipe is reached",
        };
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{why}: {} updates", state.update)?;
        if let Some(loss) = state.best_loss {
            let update = state.best_update;
            writeln!(stdout, "best: {loss:.3} bits per token at update {update}")?;
        }
        writeln!(stdout, "model: {}", out.display())?;
        writeln!(stdout, "next:  abridge translate --model {} FILE", out.display())?;
        Ok(())
    }

    fn describe(&self, recipe: &TrainRecipe) -> anyhow::Result<()> {
        let data = PreparedDirectory::open(&self.data)?;
        let vocabularies = &data.manifest().vocabularies;
        let config = recipe.config(vocabularies.source, vocabularies.target)?;
        let model = config.init(0, &DeviceKind::Cpu.open()?)?;
        let train = Arc::new(data.split("train")?);
        let batcher = abridge_corpus::batch::Batcher::new(train, recipe.batch_settings(&config))?;
        let plan = batcher.plan(0);
        let (mut sentences, mut context_only) = (0, 0);
        for planned in &plan.batches {
            let batch = batcher.build(planned);
            sentences += batch.source_of.len();
            context_only += batch.context_only();
        }
        let parameters = model.num_params();
        let updates = plan.batches.len().div_ceil(recipe.batches.per_update);
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", recipe.to_toml())?;
        writeln!(out, "parameters            {parameters}")?;
        writeln!(out, "sentences per epoch   {sentences}")?;
        writeln!(
            out,
            "encoded only as context {context_only} ({:.1} %)",
            100.0 * context_only as f64 / sentences.max(1) as f64
        )?;
        writeln!(out, "micro-batches, updates per epoch {}, {updates}", plan.batches.len())?;
        // Weights, their gradients (one set per worker and the sum) and two running means.
        let workers = self
            .workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let mebibytes = (parameters * 4 * (4 + workers)) >> 20;
        writeln!(out, "memory for weights, gradients and optimiser {mebibytes} MiB")?;
        Ok(())
    }
}

/// A flag that a signal sets, and which signal it was. A second one ends the process.
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

/// Shows how a run goes: a bar on a terminal, lines elsewhere.
struct Watcher {
    bar: Option<ProgressBar>,
    quiet: bool,
    tokens: usize,
}

impl Watcher {
    fn new(quiet: bool, parameters: usize) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        let watcher = Self { bar, quiet, tokens: 0 };
        watcher.say(&format!("training {:.2} M parameters", parameters as f64 / 1e6));
        watcher
    }

    fn see(&mut self, event: &Event) {
        match event {
            Event::Resumed { update, passed_over } => {
                for checkpoint in passed_over {
                    self.say(&format!("passed over {checkpoint}"));
                }
                self.say(&format!("resumed after update {update}"));
            }
            Event::Updated { update, epoch, loss, perplexity, rate, norm, tokens, seconds } => {
                self.tokens += tokens;
                let speed = self.tokens as f64 / seconds.max(1e-9);
                let text = format!(
                    "epoch {epoch}  update {update}  loss {loss:.3}  perplexity {perplexity:.2}  \
                     rate {rate:.2e}  norm {norm:.2}  {speed:.0} tokens/s"
                );
                match &self.bar {
                    Some(bar) => {
                        bar.set_message(text);
                        bar.tick();
                    }
                    None if update % 20 == 0 => self.say(&text),
                    None => {}
                }
            }
            Event::Skipped { update } => {
                self.say(&format!("update {update} skipped: its gradient is not finite"));
            }
            Event::Validated { update, loss, perplexity, best } => self.say(&format!(
                "update {update}: validation loss {loss:.3}, perplexity {perplexity:.2}{}",
                if *best { ", the best so far" } else { "" }
            )),
            Event::NotSaved { update, reason } => {
                self.say(&format!("no checkpoint at update {update}: {reason}"));
            }
        }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.println(text),
            // Progress is for people: it goes to standard error, and nobody may be there.
            None => drop(writeln!(std::io::stderr(), "{text}")),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
