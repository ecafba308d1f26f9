//! `abridge profile`: what context costs in memory and time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_evaluate::picture::{LineChart, png};
use abridge_evaluate::profile::{
    ProfilePoint, ProfileSettings, has_context, memory_chart, profile, profile_table, time_chart,
};
use abridge_machine::allocator::Counted;
use abridge_model::weights::ModelDirectory;
use abridge_model::{DeviceKind, Model, ModelConfig, Preset, Width};
use anyhow::{Context, ensure};
use burn::tensor::Device;
use clap::Args;

/// Rows of the vocabularies of networks that are made up: the paper's for English-German.
const VOCABULARY: usize = 19_804;

/// Measures the operation memory (beyond the weights) and the time of translating a document at
/// several context sizes, and draws the paper's memory figure.
///
/// Neither depends on what the weights are, so a model that was trained for 3 sentences is measured
/// at 50 as well, and presets are measured with random weights.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge profile --model runs/grouping/model
  abridge profile --width base --presets all --output profile
  abridge profile --width small --presets grouping,caching-tokens --context-size 0,10,50")]
pub struct Profile {
    /// A model directory.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["width", "presets"])]
    model: Option<PathBuf>,
    /// The width of networks that are made up: base, small or tiny.
    #[arg(long, default_value = "base", value_parser = super::parse::<Width>)]
    width: Width,
    /// The presets to measure, separated by commas, or all.
    #[arg(long, value_name = "NAMES", default_value = "all")]
    presets: String,
    /// The context sizes to measure.
    #[arg(
        long = "context-size",
        alias = "contexts",
        value_delimiter = ',',
        value_name = "N,…",
        default_value = "0,1,2,3,5,10,20,30,40,50"
    )]
    context_sizes: Vec<usize>,
    /// Tokens of every sentence and of every translation.
    #[arg(long, default_value_t = ProfileSettings::default().tokens)]
    tokens: usize,
    /// Sentences that are timed.
    #[arg(long, default_value_t = ProfileSettings::default().sentences)]
    sentences: usize,
    /// Hypotheses that are followed at once.
    #[arg(long, default_value_t = ProfileSettings::default().beam)]
    beam: usize,
    /// Writes memory.svg, memory.png, time.svg, time.png, profile.md and profile.json there.
    #[arg(long, short, alias = "out", value_name = "DIR")]
    output: Option<PathBuf>,
    /// Where to compute. Only the memory of the processor is counted.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
}

impl Profile {
    /// Measures, prints the table and draws.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(self.tokens > 1, "--tokens is {}, but a word and an end are two", self.tokens);
        ensure!(self.sentences > 0 && self.beam > 0, "--sentences and --beam are at least 1");
        let mut contexts = self.context_sizes.clone();
        contexts.sort_unstable();
        contexts.dedup();
        let device = self.device.open()?;
        let mut points = Vec::new();
        for (name, config) in self.configs()? {
            let sizes = if has_context(&config) { &contexts[..] } else { &[0][..] };
            for &context_size in sizes {
                let config = ModelConfig { context_size, ..config.clone() };
                // A memory that never holds anything is no configuration.
                if config.check().is_err() {
                    continue;
                }
                points.push(self.measure(&name, &config, &device)?);
            }
        }
        ensure!(!points.is_empty(), "none of the context sizes makes sense for the model");
        print!("{}", profile_table(&points));
        std::io::stdout().flush()?;
        if let Some(out) = &self.output {
            write(out, &points).with_context(|| format!("cannot write {}", out.display()))?;
            eprintln!("wrote {}", out.join("memory.svg").display());
        }
        Ok(())
    }

    /// Names and configurations of what is measured.
    fn configs(&self) -> anyhow::Result<Vec<(String, ModelConfig)>> {
        if let Some(path) = &self.model {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            return Ok(vec![(name, ModelDirectory::open(path)?.config().clone())]);
        }
        let presets: Vec<Preset> = match self.presets.as_str() {
            "all" => Preset::ALL.to_vec(),
            names => {
                names.split(',').map(str::parse).collect::<Result<_, abridge_model::Error>>()?
            }
        };
        let config = |preset: Preset| preset.config(self.width, VOCABULARY, VOCABULARY, 1);
        Ok(presets.into_iter().map(|preset| (preset.to_string(), config(preset))).collect())
    }

    fn measure(
        &self,
        name: &str,
        config: &ModelConfig,
        device: &Device,
    ) -> anyhow::Result<ProfilePoint> {
        let model: Model = match &self.model {
            Some(path) => config.load(&path.join("model.safetensors"), device)?,
            None => config.init(1, device)?,
        };
        let settings =
            ProfileSettings { tokens: self.tokens, sentences: self.sentences, beam: self.beam };
        let point = profile(name, &model, &settings, &Counted)?;
        eprintln!("{name} at context size {}: {:.3} s", point.context, point.seconds);
        Ok(point)
    }
}

fn write(out: &Path, points: &[ProfilePoint]) -> anyhow::Result<()> {
    fs::create_dir_all(out)?;
    fs::write(out.join("profile.md"), profile_table(points))?;
    fs::write(out.join("profile.json"), serde_json::to_vec_pretty(points)?)?;
    let draw = |name: &str, chart: LineChart| -> anyhow::Result<()> {
        let svg = chart.draw().standalone(&chart.title);
        fs::write(out.join(format!("{name}.png")), png(&svg, 2.0)?)?;
        Ok(fs::write(out.join(format!("{name}.svg")), svg)?)
    };
    draw("memory", memory_chart(points))?;
    draw("time", time_chart(points))
}
