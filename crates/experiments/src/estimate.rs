//! Estimates the data, memory and time of a recipe.

use std::path::Path;
use std::time::Instant;

use abridge_corpus::batch::{PlannedBatch, Position};
use abridge_corpus::prepare::PreparedDirectory;
use abridge_model::device::is_cpu;
use abridge_model::{Batch, Packed};
use abridge_train::{Beginning, GradientWorkers, TrainRecipe, UpdateSettings, learning_count};
use burn::module::Module;
use burn::tensor::Device;

/// Micro-batches that are sampled: an epoch of a small corpus, enough of a large one.
const SAMPLE: usize = 2000;

/// The composition of an epoch.
#[derive(Default)]
struct Epoch {
    sentences: usize,
    context_only: usize,
    /// Tokens of both sides, and their number with padding.
    tokens: usize,
    padded: usize,
}

impl Epoch {
    fn add(&mut self, batch: &Batch) {
        self.sentences += batch.source.examples.len();
        self.context_only += batch.source.context_only();
        for side in [&batch.source.sentences, &batch.targets] {
            self.tokens += side.tokens().len();
            self.padded += side.len() * longest(side);
        }
    }
}

/// The data, memory and time of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Parameters of the model.
    pub parameters: usize,
    /// Trainable parameters.
    pub learning: usize,
    /// Sentences per epoch that are translated.
    pub sentences: usize,
    /// Sentences per epoch that are encoded only as context.
    pub context_only: usize,
    /// Sentences that are too long for a batch and dropped.
    pub dropped: usize,
    /// The shares of several corpora in the target tokens, at the start of training.
    pub corpora: Vec<(String, f64)>,
    /// Micro-batches per epoch; with several corpora, as many as all their tokens fill.
    pub batches: usize,
    /// Updates per epoch.
    pub updates: usize,
    /// The share of padding that padded batches would have.
    pub padding: f64,
    /// Training workers.
    pub workers: usize,
    /// The memory of the largest update in MiB, if known.
    pub memory: Option<f64>,
    /// Whether that is a device's own memory, not the machine's.
    pub is_of_device: bool,
    /// An upper bound on the seconds per epoch.
    pub seconds: f64,
}

impl Estimate {
    /// Plans an epoch and tries one update with the largest micro-batches, with a new network or
    /// with the weights of the model directory `from`.
    pub fn make(
        recipe: &TrainRecipe,
        data: &Path,
        device: &Device,
        workers: Option<usize>,
        from: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let data = PreparedDirectory::open(data)?;
        let first = Beginning::of(recipe, &data, from, device)?;
        let config = &first.config;
        let (model, _) = first.model(recipe, &device.clone().autodiff())?;
        let mut sampler = recipe.sampler(&data, config)?;
        let mut position = Position::default();
        let mut epoch = Epoch::default();
        let mut sizes: Vec<(usize, PlannedBatch)> = Vec::new();
        while !sampler.is_epoch_done(&position) && sizes.len() < SAMPLE {
            let planned = sampler.next(&mut position, 1);
            let batch = sampler.build(&planned);
            epoch.add(&batch);
            let tokens = batch.source.sentences.tokens().len() + batch.targets.tokens().len();
            sizes.push((tokens, planned));
        }
        let whole = sampler.is_epoch_done(&position);
        let all = if whole { sizes.len() } else { sampler.batches_in_epoch() };
        let scaled = |count: usize| (count as f64 * all as f64 / sizes.len() as f64) as usize;
        let (sentences, context_only) = (scaled(epoch.sentences), scaled(epoch.context_only));
        let tokens: u64 = position.corpora.iter().map(|place| place.tokens).sum();
        let drawn = sampler.names().zip(&position.corpora).filter(|_| sampler.is_mixed());
        let corpora = drawn
            .map(|(name, place)| (name.to_owned(), share(place.tokens as usize, tokens as usize)))
            .collect();

        // The largest micro-batches, one per worker: no update needs more memory.
        let workers = GradientWorkers::new(workers, device)?;
        sizes.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        let largest = sizes.iter().take(workers.count().min(recipe.batches.per_update));
        let batches: Vec<_> = largest.map(|(_, planned)| sampler.build(planned)).collect();
        let settings = UpdateSettings {
            smoothing: recipe.optimisation.label_smoothing,
            dropout: config.dropout,
            train: recipe.optimisation.train,
            seed: recipe.seed.0,
            update: 1,
            precision: recipe.optimisation.precision,
            loss_scale: 1.0,
        };
        let start = Instant::now();
        drop(workers.accumulate(&model, &batches, settings)?);
        let seconds = start.elapsed().as_secs_f64();
        let (parameters, learning) = (model.num_params(), learning_count(&model));
        // Plus the optimiser's two running means.
        let means = (2 * learning * size_of::<f32>()) as f64 / f64::from(1 << 20);
        Ok(Self {
            parameters,
            learning,
            sentences,
            context_only,
            dropped: sampler.dropped(),
            corpora,
            batches: all,
            updates: all.div_ceil(recipe.batches.per_update),
            padding: share(epoch.padded - epoch.tokens, epoch.padded),
            workers: workers.count(),
            memory: peak_mebibytes(device).map(|peak| peak + means),
            is_of_device: !is_cpu(device),
            seconds: seconds * all as f64 / batches.len() as f64,
        })
    }

    /// The share of sentences that are encoded only as context.
    pub fn context_share(&self) -> f64 {
        share(self.context_only, self.sentences)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn longest(side: &Packed) -> usize {
    side.segments().lengths().max().unwrap_or(0)
}

/// The largest memory so far: what the engine holds of the device's own, because it keeps what it has
/// freed for reuse, or what is resident, from Linux's `/proc`.
fn peak_mebibytes(device: &Device) -> Option<f64> {
    if !is_cpu(device) {
        let usage = device.memory_pool_usage()?;
        return Some(usage.bytes_reserved as f64 / f64::from(1 << 20));
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}
