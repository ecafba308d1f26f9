//! The training and translation speed of a machine: one row per network, the same on every device.
//!
//! Weights and words are random, because neither affects the time.

use std::fmt::Write;
use std::time::Instant;

use abridge_evaluate::profile::{ProfileSettings, profile};
use abridge_machine::allocator::Counted;
use abridge_model::ops::{Bf16Kind, Instructions, ProductPrecision, check_precision};
use abridge_model::{Batch, DeviceKind, ModelConfig, ModelSize, Preset, synthetic};
use abridge_train::{Adam, AdamConfig, GradientWorkers, Trained, UpdateSettings};
use burn::module::Module;
use serde::Serialize;

/// Settings of the benchmark.
#[derive(Clone, Debug)]
pub struct BenchSettings {
    /// The device to compute on.
    pub device: DeviceKind,
    /// The precision of matrix products in training.
    pub precision: ProductPrecision,
    /// The micro-batches per update, one per worker; by default as many as fit the device.
    pub workers: Option<usize>,
    /// Sentences per micro-batch.
    pub sentences: usize,
    /// Timed updates, after one warm-up update.
    pub updates: usize,
    /// Sentences to translate, with a beam of 5.
    pub translated: usize,
}

impl Default for BenchSettings {
    fn default() -> Self {
        Self {
            device: DeviceKind::Cpu,
            precision: ProductPrecision::F32,
            workers: None,
            sentences: 64,
            updates: 3,
            translated: 5,
        }
    }
}

/// The measured machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// This program's version.
    pub abridge: String,
    /// The name of the processor, if known.
    pub processor: Option<String>,
    /// The processor's vector instructions.
    pub instructions: String,
    /// Its instructions for bfloat16, if it has any.
    pub bf16: Option<String>,
    /// The number of hardware threads.
    pub threads: usize,
    /// Its memory in MiB, if known.
    pub memory: Option<u64>,
    /// Operating system and architecture.
    pub system: String,
    /// The kind of the device that computed.
    pub device: String,
    /// What it calls itself, such as the name of a card.
    pub device_name: String,
}

impl Machine {
    /// This machine.
    pub fn here(device: DeviceKind) -> anyhow::Result<Self> {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
        Ok(Self {
            abridge: env!("CARGO_PKG_VERSION").to_owned(),
            processor: name.map(|name| name.trim_start_matches([' ', '\t', ':']).to_owned()),
            instructions: Instructions::here().to_string(),
            bf16: Bf16Kind::fastest().map(|kind| kind.to_string()),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: abridge_machine::memory::total().map(|bytes| bytes >> 20),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            device: device.to_string(),
            device_name: device.describe()?,
        })
    }
}

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchRow {
    /// The preset of its sizes.
    pub size: String,
    /// Which of the paper's models.
    pub preset: String,
    /// The context size.
    pub context: usize,
    /// Parameters.
    pub parameters: usize,
    /// Sentences per second in training, of the median update.
    pub training: f64,
    /// Target tokens per second in training.
    pub training_tokens: f64,
    /// Peak bytes of main memory in training, including the network.
    pub training_bytes: usize,
    /// What the engine held of the device's own memory after training, in bytes: about the peak, because
    /// it keeps what it has freed for reuse. Absent for the CPU.
    pub device_bytes: Option<u64>,
    /// Sentences per second in translation, one at a time.
    pub translation: f64,
}

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchReport {
    /// The machine.
    pub machine: Machine,
    /// The precision of matrix products in training.
    pub precision: String,
    /// Workers, each with a micro-batch.
    pub workers: usize,
    /// Sentences per micro-batch.
    pub sentences: usize,
    /// The networks.
    pub rows: Vec<BenchRow>,
}

impl BenchReport {
    /// A report without rows.
    pub fn begin(settings: &BenchSettings) -> anyhow::Result<Self> {
        check_precision(settings.precision, &settings.device.open()?)?;
        Ok(Self {
            machine: Machine::here(settings.device)?,
            precision: settings.precision.to_string(),
            workers: settings.start_workers()?.count(),
            sentences: settings.sentences,
            rows: Vec::new(),
        })
    }

    /// As a Markdown table, with the machine above it.
    pub fn table(&self) -> String {
        let Machine {
            abridge,
            processor,
            instructions,
            bf16,
            threads,
            memory,
            system,
            device,
            device_name,
        } = &self.machine;
        let unknown = || "unknown".to_owned();
        let mut text = format!(
            "abridge {abridge} on {device} ({device_name}); {}, {threads} threads, {instructions}{}, {} MiB, \
             {system}\ntraining in {}, {} workers with {} sentences each; translation with a beam \
             of 5, one sentence at a time\n\n",
            processor.clone().unwrap_or_else(unknown),
            bf16.as_ref().map_or(String::new(), |kind| format!(", {kind}")),
            memory.map_or_else(unknown, |memory| memory.to_string()),
            self.precision,
            self.workers,
            self.sentences,
        );
        text.push_str(
            "| size | model | C | parameters | training sent./s | tgt tok/s | \
             host peak MiB | device MiB | translation sent./s |\n\
             | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for row in &self.rows {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.1} M | {:.1} | {:.0} | {} | {} | {:.1} |",
                row.size,
                row.preset,
                row.context,
                row.parameters as f64 / 1e6,
                row.training,
                row.training_tokens,
                row.training_bytes >> 20,
                row.device_bytes.map_or_else(|| "–".to_owned(), |bytes| (bytes >> 20).to_string()),
                row.translation,
            );
        }
        text
    }
}

impl BenchSettings {
    fn start_workers(&self) -> anyhow::Result<GradientWorkers> {
        Ok(GradientWorkers::new(self.workers, &self.device.open()?)?)
    }

    /// Measures one network.
    pub fn measure(
        &self,
        size: ModelSize,
        preset: Preset,
        context: usize,
    ) -> anyhow::Result<BenchRow> {
        // The vocabularies of the experiments at these sizes.
        let vocabulary = if size == ModelSize::Base { 19_804 } else { 8_000 };
        let config = preset.config(size, vocabulary, vocabulary, context);
        config.check()?;
        let device = self.device.open()?;
        // What earlier networks have left.
        device.memory_cleanup();
        let before = Counted.current();
        Counted.reset();
        let (seconds, sentences, tokens, parameters) = self.train(&config)?;
        let training_bytes = Counted.peak().saturating_sub(before);
        let device_bytes = device.memory_pool_usage().map(|usage| usage.bytes_reserved);
        let model = config.init(1, &device)?;
        let settings = ProfileSettings { sentences: self.translated, ..ProfileSettings::default() };
        let point = profile(preset.name(), &model, &settings, &Counted)?;
        Ok(BenchRow {
            size: size.name().to_owned(),
            preset: preset.name().to_owned(),
            context,
            parameters,
            training: sentences as f64 / seconds,
            training_tokens: tokens as f64 / seconds,
            training_bytes,
            device_bytes,
            translation: 1.0 / point.seconds,
        })
    }

    /// The seconds of the median update, its sentences and target tokens, and the parameters.
    fn train(&self, config: &ModelConfig) -> anyhow::Result<(f64, usize, usize, usize)> {
        let device = self.device.open()?;
        let mut model = config.init(1, &device.clone().autodiff())?;
        let parameters = model.num_params();
        let workers = self.start_workers()?;
        let batches: Vec<Batch> = (0..workers.count() as u64)
            .map(|worker| synthetic::batch(config, self.sentences, worker))
            .collect();
        let mut adam = Adam::new(AdamConfig::default());
        let mut seconds = Vec::new();
        for update in 0..=self.updates as u64 {
            let start = Instant::now();
            let settings = UpdateSettings {
                smoothing: 0.1,
                dropout: config.dropout,
                train: Trained::All,
                seed: 1,
                update,
                precision: self.precision,
                loss_scale: 1.0,
            };
            let mut sum = workers.accumulate(&model, &batches, settings)?;
            sum.gradients.clip(0.1)?;
            model = adam.step(model, sum.gradients, 1e-4);
            // The step of the optimiser has only been asked for; the clock waits for it.
            device.sync()?;
            // The first update initialises the weights and compiles the device's kernels.
            if update > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
        seconds.sort_by(f64::total_cmp);
        let tokens = batches.iter().map(|batch| batch.targets.tokens().len()).sum();
        Ok((seconds[seconds.len() / 2], self.sentences * batches.len(), tokens, parameters))
    }
}
