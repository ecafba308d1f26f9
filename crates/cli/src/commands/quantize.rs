//! `abridge quantize`: the same model in fewer bits.

use std::io::Write;
use std::path::PathBuf;

use abridge_model::weights::{ModelDirectory, WeightPrecision};
use anyhow::{bail, ensure};
use clap::Args;

/// Writes a model directory a quarter (int8) or half (f16) the size.
///
/// Every command accepts it like the original. On the CPU, translation multiplies int8 weights as
/// integers, and its decoder reads f16 weights directly if the processor can, which is also faster.
/// Training and other devices unpack the weights to f32.
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
    /// A note for the manifest of the new model, for instance `commit=1a2b3c`; may be repeated.
    #[arg(long = "note", value_name = "NAME=TEXT", value_parser = note)]
    notes: Vec<(String, String)>,
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

fn note(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, text)) if !name.is_empty() => Ok((name.to_owned(), text.to_owned())),
        _ => Err(format!("`{text}` is not a note like commit=1a2b3c")),
    }
}

impl Quantize {
    /// Reads, rounds and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        let model = ModelDirectory::open(&super::model::directory(&self.model)?)?;
        let present = model.precision()?;
        ensure!(
            present == WeightPrecision::Single,
            "{} already holds {present} weights, and rounding them again would lose more; give the \
             directory that it was made from",
            self.model.display()
        );
        let is_taken = |name: &str| {
            model.provenance().contains_key(name) || ["precision", "made of"].contains(&name)
        };
        if let Some((taken, _)) = self.notes.iter().find(|(name, _)| is_taken(name)) {
            bail!("the manifest has an entry `{taken}` already; give the note another name");
        }
        let quantised = model.quantise(self.to, &self.output, self.notes.iter().cloned())?;
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
