//! `abridge profile`: what context costs in memory and time.

use std::io::Write;
use std::path::PathBuf;

use abridge_base::files::{OutputFile, Outputs, read_text};
use abridge_base::{Error, tell};
use abridge_evaluate::picture::{HAS_PNG, LineChart, png};
use abridge_evaluate::profile::{
    ProfilePoint, ProfileSettings, has_context, memory_chart, profile, profile_table, time_chart,
};
use abridge_machine::allocator::Counted;
use abridge_model::weights::ModelDirectory;
use abridge_model::{DeviceKind, Model, ModelConfig, ModelSize, Preset};
use abridge_translate::BeamSettings;
use anyhow::ensure;
use burn::tensor::Device;
use clap::Args;

/// Vocabulary size of networks with random weights: the number that gives the paper's parameter
/// counts for English-German. (The paper itself says 20,000.)
const VOCABULARY: usize = 19_804;

/// The files in `--output`.
const FILES: [&str; 6] =
    ["profile.md", "profile.json", "memory.png", "memory.svg", "time.png", "time.svg"];
const LARGEST_PROFILE: u64 = 64 << 20;
/// Longer sentences than any network is trained for, and hours of measuring.
const MOST_TOKENS: usize = 1 << 12;
const MOST_SENTENCES: usize = 1 << 20;

/// Measures the operation memory (beyond the weights) and the time of translating a document at
/// several context sizes, and draws the paper's memory figure.
///
/// Neither depends on the values of the weights, so a model that was trained for 3 sentences is
/// measured at 50 as well, and presets are measured with random weights.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge profile --model runs/grouping/model
  abridge profile --size base --presets all --output profile
  abridge profile --size small --presets grouping,caching-tokens --context-size 0,10,50")]
pub struct Profile {
    /// A model directory.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["size", "presets"])]
    model: Option<PathBuf>,
    /// The size of networks with random weights: base, small or tiny.
    #[arg(long, alias = "width", default_value = "base", value_parser = super::parse::<ModelSize>)]
    size: ModelSize,
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
    /// Tokens per sentence and per translation.
    #[arg(long, default_value_t = ProfileSettings::default().tokens)]
    tokens: usize,
    /// Number of sentences to time.
    #[arg(long, default_value_t = ProfileSettings::default().sentences)]
    sentences: usize,
    /// Beam size.
    #[arg(long, default_value_t = ProfileSettings::default().beam)]
    beam: usize,
    /// Writes memory.svg, time.svg, profile.md and profile.json to DIR; a build with the feature
    /// png adds memory.png and time.png.
    #[arg(long, short, alias = "out", value_name = "DIR")]
    output: Option<PathBuf>,
    /// Where to compute; `abridge --version --verbose` lists what this machine has. Only CPU memory is
    /// counted.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
}

impl Profile {
    /// Measures, prints the table and draws.
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(self.tokens > 1, "--tokens must be at least 2: a word and the end of the sentence");
        ensure!(self.sentences > 0 && self.beam > 0, "--sentences and --beam must be at least 1");
        super::check_at_most("--tokens", self.tokens, MOST_TOKENS)?;
        super::check_at_most("--sentences", self.sentences, MOST_SENTENCES)?;
        BeamSettings { beam: self.beam, ..BeamSettings::default() }.check()?;
        let mut contexts = self.context_sizes.clone();
        contexts.sort_unstable();
        contexts.dedup();
        let outputs = self.outputs()?;
        let device = self.device.open()?;
        let mut points = Vec::new();
        for (name, config) in self.configs()? {
            let sizes = if has_context(&config) { &contexts[..] } else { &[0][..] };
            for &context_size in sizes {
                let config = ModelConfig { context_size, ..config.clone() };
                // A memory that never holds anything is not a valid configuration.
                if config.check().is_err() {
                    continue;
                }
                points.push(self.measure(&name, &config, &device)?);
            }
        }
        ensure!(!points.is_empty(), "none of the context sizes is valid for the model");
        let mut stdout = std::io::stdout().lock();
        write!(stdout, "{}", profile_table(&points))?;
        stdout.flush()?;
        if let Some([markdown, json, memory_png, memory_svg, time_png, time_svg]) = &outputs {
            markdown.write(profile_table(&points).as_bytes())?;
            json.write(&serde_json::to_vec_pretty(&points)?)?;
            draw(&memory_chart(&points), memory_png, memory_svg)?;
            draw(&time_chart(&points), time_png, time_svg)?;
            tell!("wrote {}", memory_svg.path().display());
        }
        Ok(())
    }

    /// The files of `--output`, in the order of [`FILES`], checked before the work.
    fn outputs(&self) -> anyhow::Result<Option<[OutputFile; 6]>> {
        let Some(out) = &self.output else { return Ok(None) };
        std::fs::create_dir_all(out).map_err(|error| Error::io("create", out, error))?;
        let mut outputs = Outputs::new();
        if let Some(model) = &self.model {
            super::model::reading(model, &mut outputs)?;
        }
        // An earlier profile is replaced; other files that happen to have these names are not.
        let is_profile = read_text(&out.join("profile.json"), LARGEST_PROFILE)
            .is_ok_and(|text| text.starts_with('[') && text.contains("\"seconds\""));
        let remedy = "write to another directory";
        let files = FILES.map(|name| outputs.derived(&out.join(name), is_profile, remedy));
        let files = files.into_iter().collect::<abridge_base::Result<Vec<_>>>()?;
        Ok(files.try_into().ok())
    }

    /// Names and configurations of what is measured.
    fn configs(&self) -> anyhow::Result<Vec<(String, ModelConfig)>> {
        if let Some(path) = &self.model {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            let directory = ModelDirectory::open(&super::model::directory(path)?)?;
            return Ok(vec![(name, directory.config().clone())]);
        }
        let presets: Vec<Preset> = match self.presets.as_str() {
            "all" => Preset::ALL.to_vec(),
            names => {
                names.split(',').map(str::parse).collect::<Result<_, abridge_model::Error>>()?
            }
        };
        let config = |preset: Preset| preset.config(self.size, VOCABULARY, VOCABULARY, 1);
        Ok(presets.into_iter().map(|preset| (preset.to_string(), config(preset))).collect())
    }

    fn measure(
        &self,
        name: &str,
        config: &ModelConfig,
        device: &Device,
    ) -> anyhow::Result<ProfilePoint> {
        let model: Model = match &self.model {
            Some(path) => {
                config.load(&super::model::directory(path)?.join("model.safetensors"), device)?
            }
            None => config.init(1, device)?,
        };
        let settings =
            ProfileSettings { tokens: self.tokens, sentences: self.sentences, beam: self.beam };
        let point = profile(name, &model, &settings, &Counted)?;
        tell!("{name} at context size {}: {:.3} s", point.context, point.seconds);
        Ok(point)
    }
}

fn draw(chart: &LineChart, as_png: &OutputFile, as_svg: &OutputFile) -> anyhow::Result<()> {
    let svg = chart.draw().standalone(&chart.title);
    if HAS_PNG {
        as_png.write(&png(&svg, 2.0)?)?;
    }
    Ok(as_svg.write(svg.as_bytes())?)
}
