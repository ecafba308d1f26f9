//! `abridge import`: models of other toolkits.

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_base::files::OutputDirectory;
use abridge_base::message::printable;
use abridge_corpus::Tokenizer;
use abridge_model::tokens::END;
use abridge_model::weights::{FairseqCheckpoint, ModelDirectory, WeightPrecision};
use abridge_model::{DeviceKind, Packed, Preset};
use abridge_translate::ForeignTranslator;
use anyhow::{bail, ensure};
use clap::Args;

/// Converts a model of another toolkit into a model directory, which every command accepts.
///
/// Detects what it is given: an OPUS-MT or other MarianMT directory of transformers (config.json,
/// model.safetensors or `pytorch_model.bin`, source.spm, target.spm, vocab.json), a directory with a
/// Marian or Firefox model (.npz or .bin, vocab*.spm or *vocab.yml, lex*.bin), or, with --preset, a
/// checkpoint of the published implementation (.pt or .safetensors with fairseq's names). Pickles
/// are parsed and never run. If the model needs a feature that abridge lacks, the error names it
/// and nothing is written.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge import opus-mt-en-de --output models/en-de
  abridge import opus-mt-en-ROMANCE --target-language fra --output models/en-fr
  abridge import firefox/enpt --output models/en-pt
  abridge import checkpoint_best.pt --preset grouping --context-size 1 --output models/grouping
  abridge import weights.safetensors --preset caching-tokens --context-size 3 --heads 8 --output m

A checkpoint of the published code behaves as that code does (as_published = true in config.toml),
for that is how its weights were trained.")]
pub struct Import {
    /// The directory or file.
    path: PathBuf,
    /// The language to translate into, as in >>fra<<, for a multilingual model; without it each
    /// sentence must start with such a code.
    #[arg(long, value_name = "CODE", conflicts_with = "preset")]
    target_language: Option<String>,
    /// How the weights are stored: int8, f16 or f32. By default int8 for an 8-bit Marian model, and
    /// f32 for all others.
    #[arg(long, value_name = "PRECISION")]
    to: Option<WeightPrecision>,
    /// Which of the ten models of the published implementation it is; `abridge models` lists them.
    #[arg(long, value_parser = super::parse::<Preset>)]
    preset: Option<Preset>,
    /// The context size that it was trained with, which the weights do not show.
    #[arg(long, default_value_t = 1, requires = "preset")]
    context_size: usize,
    /// The number of attention heads, which the weights do not show.
    #[arg(long, default_value_t = 8, requires = "preset")]
    heads: usize,
    /// The window of average or max pooling, which the weights do not show.
    #[arg(long, requires = "preset")]
    window: Option<usize>,
    /// The SentencePiece model of the source language, to store beside the weights.
    #[arg(long, value_name = "MODEL", requires = "preset")]
    source_model: Option<PathBuf>,
    /// The fairseq dictionary of the source language.
    #[arg(long, value_name = "DICT", requires = "source_model")]
    source_dictionary: Option<PathBuf>,
    /// The SentencePiece model of the target language.
    #[arg(long, value_name = "MODEL", requires = "preset")]
    target_model: Option<PathBuf>,
    /// The fairseq dictionary of the target language.
    #[arg(long, value_name = "DICT", requires = "target_model")]
    target_dictionary: Option<PathBuf>,
    /// The model directory to write.
    #[arg(long, short, alias = "out", value_name = "DIR")]
    output: PathBuf,
    /// Where to compute a trial run of the imported model; `abridge --version --verbose` lists what
    /// this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
}

impl Import {
    /// Reads, checks, tries and writes.
    pub fn run(&self) -> anyhow::Result<()> {
        let output = ModelDirectory::begin_new(&self.output)?;
        match self.preset {
            Some(preset) => self.checkpoint(preset, output),
            None if ForeignTranslator::is_one(&self.path) => self.foreign(output),
            None => bail!(
                "{} is neither a directory nor a Marian .npz or .bin file; if it is a checkpoint of \
                 the published implementation, name its model with --preset",
                self.path.display()
            ),
        }
    }

    fn foreign(&self, output: OutputDirectory) -> anyhow::Result<()> {
        let language = self.target_language.as_deref();
        let foreign = ForeignTranslator::open(&self.path, language, &self.device.open()?)?;
        let precision = self.to.unwrap_or(foreign.precision());
        foreign.write(precision, output)?;
        let directory = ModelDirectory::open(&self.output)?;
        let mut out = std::io::stdout().lock();
        let config = directory.config();
        writeln!(
            out,
            "model:  {} with {} + {} layers, width {}, {} target words",
            foreign.toolkit(),
            config.encoder_layers,
            config.decoder_layers,
            config.width,
            config.target_vocabulary
        )?;
        writeln!(
            out,
            "stored: {:.1} MB as {precision}{}",
            directory.weights_size() as f64 / 1e6,
            if foreign.has_shortlist() { ", with its shortlist" } else { "" }
        )?;
        let search = foreign.search();
        writeln!(out, "search: beam {}, length penalty {}", search.beam, search.length_penalty)?;
        if !foreign.codes().is_empty() {
            writeln!(
                out,
                "note:   it translates into several languages; choose one with --to, or import it with \
                 --target-language: {}",
                printable(&foreign.codes().join(" "))
            )?;
        }
        writeln!(out, "next:   abridge translate --model {} FILE", self.output.display())?;
        Ok(())
    }

    fn checkpoint(&self, preset: Preset, output: OutputDirectory) -> anyhow::Result<()> {
        use abridge_model::config::ShortenerConfig;
        let device = self.device.open()?;
        let checkpoint = FairseqCheckpoint::open(&self.path)?;
        let mut config = checkpoint.infer(preset, self.heads, self.context_size)?;
        match (&mut config.shortener, self.window) {
            (Some(ShortenerConfig::Pooling(pooling)), Some(given)) => pooling.window = given,
            (_, Some(_)) => {
                bail!("--window applies to pooling models, but the preset has no pooling")
            }
            _ => {}
        }
        let model = checkpoint.load(&config, &device)?;
        let reading = model.read(&Packed::new([[END]]))?;
        ensure!(reading.len() == 1, "the model cannot read a sentence");

        // Everything is checked; from here on only the disk can fail.
        let path = self.path.display().to_string();
        let provenance = [("imported from".to_owned(), path)].into();
        let precision = self.to.unwrap_or(WeightPrecision::Single);
        let attach = |folder: &Path| self.attach(folder);
        ModelDirectory::write_into(output, precision, &model, provenance, attach)?;
        writeln!(
            std::io::stdout(),
            "{preset}: {} tensors of {} in {}",
            model.parameters().len(),
            self.path.display(),
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
