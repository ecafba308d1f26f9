//! `abridge models`: the presets and how large they are.

use std::io::Write;

use abridge_model::{DeviceKind, ModelSize, Preset};
use burn::module::Module;
use clap::Args;

/// Lists the ten models of the paper with their number of parameters.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge models
  abridge models --size small --source-vocabulary 8000 --target-vocabulary 8000
  abridge models --config grouping > config.toml")]
pub struct Models {
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
