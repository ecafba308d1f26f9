//! `abridge demo`: the whole workflow on built-in data, in a few minutes.

mod terminal;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use abridge_train::Ending;
use clap::Args;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Trains a model without and one with context on the built-in corpus, and shows the difference.
///
/// Needs no data and no network; a few minutes on two cores. Writes `report.html` with
/// translations, accuracy, learning curves and pictures of the memory. Run again, it reuses what is
/// finished. After an interruption it resumes where it stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge demo
  abridge demo --output /tmp/demo --updates 300")]
pub struct Demo {
    /// Where the corpus, the two models and the report go.
    #[arg(long, short, alias = "out", default_value = "demo", value_name = "DIR")]
    output: PathBuf,
    /// Updates per model; fewer are faster but give worse models.
    #[arg(long, default_value_t = 1000)]
    updates: u64,
}

impl Demo {
    /// Prepares, trains, compares and says what to try next.
    pub fn run(&self) -> anyhow::Result<()> {
        let demo =
            abridge_experiments::demo::Demo { out: self.output.clone(), updates: self.updates };
        let manifest = demo.prepare()?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "The practice corpus, written by a small grammar inside this program:\n")?;
        writeln!(out, "{}", manifest.table())?;
        drop(out);
        self.train(&demo)?;

        let comparison = demo.compare()?;
        let mut out = std::io::stdout().lock();
        terminal::print(&comparison, &mut out)?;
        writeln!(out, "Learning curves, and pictures of what the memory keeps, are in")?;
        writeln!(out, "  {}\n", demo.report().display())?;
        writeln!(out, "Both models stay in {}. Try:\n", self.output.join("models").display())?;
        for command in demo.commands(&comparison.sentences) {
            writeln!(out, "  {command}")?;
        }
        Ok(())
    }

    /// Trains the missing models, with a progress bar for each.
    fn train(&self, demo: &abridge_experiments::demo::Demo) -> anyhow::Result<()> {
        let missing = demo.missing();
        if missing.is_empty() {
            return Ok(());
        }
        let (stop, signal) = super::train::listen()?;
        let bars = MultiProgress::new();
        if !std::io::stderr().is_terminal() {
            bars.set_draw_target(indicatif::ProgressDrawTarget::hidden());
            abridge_base::tell!("training {} for {} updates", missing.join(" and "), self.updates);
        }
        let mut named = Vec::new();
        for &preset in &missing {
            let style = format!("{preset:<9} {{bar:30}} {{pos}}/{{len}} updates  {{msg}}");
            let bar = bars.add(ProgressBar::new(self.updates));
            bar.set_style(ProgressStyle::with_template(&style)?);
            named.push((preset, bar));
        }
        let ending = demo.train(&missing, &stop, &|preset, update, perplexity| {
            if let Some((_, bar)) = named.iter().find(|(name, _)| *name == preset) {
                bar.set_position(update);
                bar.set_message(format!("perplexity {perplexity:.2}"));
            }
        });
        bars.clear()?;
        if ending? == Ending::Interrupted {
            let signal = signal.load(Ordering::Relaxed);
            return Err(abridge_base::Error::stopped(signal, &self.output, true).into());
        }
        Ok(())
    }
}
