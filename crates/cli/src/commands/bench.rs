//! `abridge bench`: how fast this machine trains and translates.

use std::io::Write;
use std::path::PathBuf;

use abridge_base::files::Outputs;
use abridge_base::tell;
use abridge_experiments::bench::{BenchReport, BenchSettings};
use abridge_model::ops::ProductPrecision;
use abridge_model::{DeviceKind, ModelSize, Preset};
use anyhow::ensure;
use clap::Args;

/// Measures how fast a device trains and translates, with random weights and words.
///
/// Takes about five minutes on two cores. To compare, please send the JSON with the name of your
/// device.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge bench
  abridge bench --device cuda --output cuda.json
  abridge bench --size tiny --presets grouping --context-size 0,1,10
  abridge bench --precision bf16")]
pub struct Bench {
    /// The sizes of the networks.
    #[arg(
        long = "size",
        alias = "widths",
        value_delimiter = ',',
        value_name = "SIZE,…",
        default_value = "small,base",
        value_parser = super::parse::<ModelSize>
    )]
    sizes: Vec<ModelSize>,
    /// The models of the paper to measure.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME,…",
        default_value = "sentence,caching-tokens,grouping",
        value_parser = super::parse::<Preset>
    )]
    presets: Vec<Preset>,
    /// The context sizes to measure for models that use context.
    #[arg(long, value_delimiter = ',', value_name = "N,…", default_value = "1,10")]
    context_size: Vec<usize>,
    /// Sentences per micro-batch.
    #[arg(long, default_value_t = BenchSettings::default().sentences)]
    sentences: usize,
    /// Number of updates to time.
    #[arg(long, default_value_t = BenchSettings::default().updates)]
    updates: usize,
    /// The precision of matrix products in training: f32, bf16, or f16 on other devices than the CPU.
    #[arg(long, default_value_t = ProductPrecision::F32)]
    precision: ProductPrecision,
    /// Training workers; by default one per core, or one on an accelerator.
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// Writes the measurements and a description of the machine to FILE, as JSON.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Larger micro-batches fit no memory.
const MOST_SENTENCES: usize = 1 << 16;

impl Bench {
    /// Measures row by row and prints the table.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(
            self.sentences > 0 && self.updates > 0,
            "--sentences and --updates must be at least 1"
        );
        ensure!(self.workers != Some(0), "--workers must be at least 1");
        super::check_at_most("--sentences", self.sentences, MOST_SENTENCES)?;
        // Fail before the work if the device is missing or the file cannot be written.
        self.device.open()?;
        let output = self.output.as_deref().map(|path| Outputs::new().file(path)).transpose()?;
        let settings = BenchSettings {
            device: self.device,
            precision: self.precision,
            workers: self.workers,
            sentences: self.sentences,
            updates: self.updates,
            ..BenchSettings::default()
        };
        let mut report = BenchReport::begin(&settings)?;
        for &size in &self.sizes {
            for &preset in &self.presets {
                let sizes = if preset == Preset::Sentence { &[0][..] } else { &self.context_size };
                for &context in sizes {
                    tell!("{size} {preset}, context size {context}");
                    report.rows.push(settings.measure(size, preset, context)?);
                }
            }
        }
        let mut stdout = std::io::stdout().lock();
        write!(stdout, "{}", report.table())?;
        stdout.flush()?;
        if let Some(output) = output {
            output.write(&serde_json::to_vec_pretty(&report)?)?;
        }
        Ok(())
    }
}
