//! `abridge models`: the presets and how large they are, or the models that are installed.

use std::io::Write;

use abridge_base::message::printable;
use abridge_model::weights::ModelDirectory;
use abridge_model::{DeviceKind, ModelSize, Preset};
use abridge_translate::InstalledModels;
use burn::module::Module;
use clap::Args;

/// Lists the ten models of the paper with their number of parameters, or the models that are
/// installed.
///
/// A model directory in the folder of installed models can be named without its path: `--model NAME`.
/// That folder is `$ABRIDGE_MODELS` or, where it is not set, `~/.local/share/abridge/models`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge models
  abridge models --installed
  abridge models --size small --source-vocabulary 8000 --target-vocabulary 8000
  abridge models --config grouping > config.toml")]
pub struct Models {
    /// Lists the models that are built in or installed instead.
    #[arg(long, conflicts_with_all = ["size", "source_vocabulary", "target_vocabulary", "context_size", "config"])]
    installed: bool,
    /// The size of the network: base (the paper's), small or tiny.
    #[arg(long, alias = "width", default_value = "base", value_parser = super::parse::<ModelSize>)]
    size: ModelSize,
    /// Rows of the source embedding; the default is what the paper's data gives.
    #[arg(long, default_value_t = 19_804)]
    source_vocabulary: usize,
    /// Rows of the target embedding.
    #[arg(long, default_value_t = 19_804)]
    target_vocabulary: usize,
    /// Sentences of context before the current one.
    #[arg(long, default_value_t = 1)]
    context_size: usize,
    /// Prints the configuration of one preset as TOML instead of the table.
    #[arg(long, value_name = "PRESET", value_parser = super::parse::<Preset>)]
    config: Option<Preset>,
}

impl Models {
    /// Prints the table, or one configuration.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        if self.installed {
            return list_installed(&mut out);
        }
        let config_of = |preset: Preset| {
            let (source, target) = (self.source_vocabulary, self.target_vocabulary);
            preset.config(self.size, source, target, self.context_size)
        };
        if let Some(preset) = self.config {
            let config = config_of(preset);
            config.check()?;
            write!(out, "{}", config.to_toml())?;
            return Ok(());
        }
        let device = DeviceKind::Cpu.open()?;
        writeln!(
            out,
            "{:<17} {:<28} {:>11} {:>9}  what the memory keeps of a sentence of n tokens",
            "preset", "in the paper", "parameters", "paper"
        )?;
        for preset in Preset::ALL {
            let model = config_of(preset).init(0, &device)?;
            let paper = match self.size {
                ModelSize::Base => format!("{:.2} M", preset.paper_parameters()),
                _ => "-".to_owned(),
            };
            let millions = format!("{:.2} M", model.num_params() as f64 / 1e6);
            let kept = kept(&config_of(preset));
            let name = preset.paper_name();
            writeln!(out, "{preset:<17} {name:<28} {millions:>11} {paper:>9}  {kept}")?;
        }
        writeln!(
            out,
            "\nsize {}, vocabularies of {} and {}, context size {}",
            self.size, self.source_vocabulary, self.target_vocabulary, self.context_size
        )?;
        Ok(())
    }
}

/// Prints the models that can be named without their path.
fn list_installed(out: &mut impl Write) -> anyhow::Result<()> {
    let models = InstalledModels::of_user()?;
    for model in models.list() {
        // Where a built-in model has not been used yet, this unpacks it.
        let place = models.find(&model.name)?;
        let what = match ModelDirectory::open(&place) {
            Ok(directory) => describe(&directory),
            Err(error) => format!("cannot be used: {error}"),
        };
        let built_in = if model.is_built_in { ", built in" } else { "" };
        let text = format!("{:<16} {what}{built_in}\n{:<16} {}", model.name, "", place.display());
        // A manifest may come from anybody.
        writeln!(out, "{}", printable(&text))?;
    }
    writeln!(out, "\nmodel directories in {} can be named like these", models.folder().display())?;
    Ok(())
}

fn describe(directory: &ModelDirectory) -> String {
    let config = directory.config();
    let languages = directory.provenance().get("languages").map_or("", String::as_str);
    let megabytes = directory.size() as f64 / 1e6;
    format!("{languages} {megabytes:.1} MB, context size {}", config.context_size)
        .trim_start()
        .to_owned()
}

fn kept(config: &abridge_model::ModelConfig) -> String {
    use abridge_model::config::Context;
    match config.context {
        Context::None => "nothing".into(),
        Context::SingleEncoder | Context::MultiEncoder => "its text, read again".into(),
        Context::Memory => {
            config.shortener.map_or_else(String::new, |shortener| shortener.keeps("n"))
        }
    }
}
