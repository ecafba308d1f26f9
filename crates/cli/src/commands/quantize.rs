//! `abridge quantize`: the same model in fewer bits.

use std::io::Write;
use std::path::PathBuf;

use abridge_model::weights::{ModelDirectory, WeightPrecision};
use anyhow::ensure;
use clap::Args;

/// Writes a model directory a quarter (int8) or half (f16) the size.
///
/// Every command accepts it like the original. The decoder multiplies int8 weights in integer
/// arithmetic and reads f16 directly, which is also faster; the encoder, scoring, and devices other
/// than the CPU unpack them when they are loaded.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge quantize --model demo/models/grouping --to int8 demo/models/grouping-int8
  abridge translate --model demo/models/grouping-int8 talk.en
  abridge quantize --model runs/a/model --to f16 runs/a/model-f16

Check what it costs on your own data before you use it:
  abridge contrast --model demo/models/grouping --against demo/models/grouping-int8 --set set.json")]
pub struct Quantize {
    /// The model directory.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// The new precision of the weights: int8 or f16.
    #[arg(long, value_name = "PRECISION", value_parser = precision)]
    to: WeightPrecision,
    /// The model directory to write.
    output: PathBuf,
}

fn precision(name: &str) -> Result<WeightPrecision, String> {
    match name.parse()? {
        WeightPrecision::Single => {
            Err("trained weights are f32 already; choose int8 or f16".into())
        }
        fewer => Ok(fewer),
    }
}

impl Quantize {
    /// Reads, rounds and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        let model = ModelDirectory::open(&self.model)?;
        let present = model.precision()?;
        ensure!(
            present == WeightPrecision::Single,
            "{} already holds {present} weights, and rounding them again would lose more; give the \
             directory that it was made from",
            self.model.display()
        );
        let quantised = model.quantise(self.to, &self.output)?;
        let (before, after) = (model.weights_size() as f64, quantised.weights_size() as f64);
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "weights: {:.2} MB as f32, {:.2} MB as {} ({:.1} %)",
            before / 1e6,
            after / 1e6,
            self.to,
            100.0 * after / before
        )?;
        writeln!(out, "model:   {}", self.output.display())?;
        writeln!(out, "next:    abridge translate --model {} FILE", self.output.display())?;
        Ok(())
    }
}
