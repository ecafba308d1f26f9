//! `abridge import`: weights that were trained with the published implementation.

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_corpus::Tokenizer;
use abridge_model::tokens::END;
use abridge_model::weights::{FairseqCheckpoint, ModelDirectory, Precision};
use abridge_model::{DeviceKind, Packed, Preset};
use anyhow::{bail, ensure};
use clap::Args;

/// Turns a checkpoint of the published implementation into a model directory.
///
/// Reads fairseq's parameter names from a .safetensors file, or from a .pt checkpoint whose pickle
/// is parsed and never run. Sizes are taken from the tensors.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge import checkpoint_best.pt --preset grouping --context-size 1 --output models/grouping
  abridge import weights.safetensors --preset caching-tokens --context-size 3 --heads 8 --output m

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
    /// The SentencePiece model of the source language, to be put beside the weights.
    #[arg(long, value_name = "MODEL")]
    source_model: Option<PathBuf>,
    /// The fairseq dictionary of the source language.
    #[arg(long, value_name = "DICT", requires = "source_model")]
    source_dictionary: Option<PathBuf>,
    /// The SentencePiece model of the target language.
    #[arg(long, value_name = "MODEL")]
    target_model: Option<PathBuf>,
    /// The fairseq dictionary of the target language.
    #[arg(long, value_name = "DICT", requires = "target_model")]
    target_dictionary: Option<PathBuf>,
    /// The model directory to be made.
    #[arg(long, short, alias = "out", value_name = "DIR")]
    output: PathBuf,
    /// Where to try the imported model once.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
}

impl Import {
    /// Reads, checks, tries and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        use abridge_model::config::ShortenerConfig;
        let device = self.device.open()?;
        let output = ModelDirectory::begin_new(&self.output)?;
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
        let checkpoint = self.checkpoint.display().to_string();
        let provenance = [("imported from".to_owned(), checkpoint)].into();
        let single = Precision::Single;
        let attach = |folder: &Path| self.attach(folder);
        ModelDirectory::write_into(output, single, &model, provenance, attach)?;
        writeln!(
            std::io::stdout(),
            "{}: {} tensors of {} in {}",
            self.preset,
            model.parameters().len(),
            self.checkpoint.display(),
            self.output.display()
        )?;
        Ok(())
    }

    /// Puts the tokenizers into the model directory.
    fn attach(&self, folder: &Path) -> anyhow::Result<()> {
        for (name, model, dictionary) in [
            ("source", &self.source_model, &self.source_dictionary),
            ("target", &self.target_model, &self.target_dictionary),
        ] {
            if let Some(model) = model {
                Tokenizer::import(model, dictionary.as_deref())?.save(folder, name)?;
            }
        }
        Ok(())
    }
}
