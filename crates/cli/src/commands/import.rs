//! `abridge import`: weights that were trained with the published implementation.

use std::fs;
use std::path::PathBuf;

use abridge_model::tokens::END;
use abridge_model::weights::FairseqCheckpoint;
use abridge_model::{DeviceKind, Packed, Preset};
use anyhow::{Context, bail, ensure};
use clap::Args;

/// Turns a checkpoint of the published implementation into a model directory.
///
/// Reads fairseq's parameter names from a .safetensors file, or from a .pt checkpoint whose pickle
/// is parsed and never run. Sizes are taken from the tensors.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge import checkpoint_best.pt --preset grouping --context-size 1 --out models/grouping
  abridge import weights.safetensors --preset caching-tokens --context-size 3 --heads 8 --out m

The model behaves as the published code does (as_published = true in config.toml), for that is how
its weights were trained.")]
pub struct Import {
    /// The checkpoint.
    checkpoint: PathBuf,
    /// Which of the ten models it is; `abridge models` lists them.
    #[arg(long, value_parser = super::parse::<Preset>)]
    preset: Preset,
    /// The context size that it was trained with; it leaves no trace in the weights.
    #[arg(long, default_value_t = 1)]
    context_size: usize,
    /// Attention heads; they leave no trace in the weights.
    #[arg(long, default_value_t = 8)]
    heads: usize,
    /// The window of average or max pooling; it leaves no trace in the weights.
    #[arg(long)]
    window: Option<usize>,
    /// The model directory to be made.
    #[arg(long)]
    out: PathBuf,
    /// Where to try the imported model once.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
}

impl Import {
    /// Reads, checks, tries and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        use abridge_model::config::ShortenerConfig;
        let device = self.device.open()?;
        ensure!(
            !self.out.exists(),
            "{} exists already; choose another --out or remove it",
            self.out.display()
        );
        let checkpoint = FairseqCheckpoint::open(&self.checkpoint)?;
        let mut config = checkpoint.infer(self.preset, self.heads, self.context_size)?;
        match (&mut config.shortener, self.window) {
            (Some(ShortenerConfig::Pooling { window, .. }), Some(given)) => *window = given,
            (_, Some(_)) => bail!("--window is of pooling models, but the preset has no pooling"),
            _ => {}
        }
        let model = checkpoint.load(&config, &device)?;
        let reading = model.read(&Packed::new([[END]]))?;
        ensure!(reading.len() == 1, "the model cannot read a sentence");

        // Everything is checked; from here on only the disk can fail.
        let cannot_write = || format!("cannot write {}", self.out.display());
        fs::create_dir_all(&self.out).with_context(cannot_write)?;
        model.save(&self.out.join("model.safetensors"))?;
        fs::write(self.out.join("config.toml"), config.to_toml()).with_context(cannot_write)?;
        println!(
            "{}: {} tensors of {} in {}",
            self.preset,
            model.parameters().len(),
            self.checkpoint.display(),
            self.out.display()
        );
        Ok(())
    }
}
