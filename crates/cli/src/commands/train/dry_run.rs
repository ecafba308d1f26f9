//! `abridge train --dry-run`: what would be trained, and what it would cost.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use abridge_corpus::batch::{Batch, Batcher, Packed, PlannedBatch};
use abridge_corpus::prepare::PreparedDirectory;
use abridge_train::{TrainRecipe, UpdateSettings, Workers, for_model};
use burn::module::Module;
use burn::tensor::Device;

use super::watch::duration;

/// What an epoch consists of.
#[derive(Default)]
struct Epoch {
    sentences: usize,
    context_only: usize,
    /// Tokens of both sides, and how many a layout with padding would take.
    tokens: usize,
    padded: usize,
}

impl Epoch {
    fn add(&mut self, batch: &Batch) {
        self.sentences += batch.source_of.len();
        self.context_only += batch.context_only();
        for side in [&batch.sentences, &batch.targets] {
            self.tokens += side.tokens.len();
            self.padded += side.len() * longest(side);
        }
    }
}

/// Prints the recipe, sizes, batches per epoch, padding, and the memory and time of one update.
pub fn describe(
    recipe: &TrainRecipe,
    data: &Path,
    device: &Device,
    workers: Option<usize>,
) -> anyhow::Result<()> {
    let data = PreparedDirectory::open(data)?;
    let vocabularies = &data.manifest().vocabularies;
    let config = recipe.config(vocabularies.source, vocabularies.target)?;
    let model = config.init(recipe.seed.0, &device.clone().autodiff())?;
    let batcher = Batcher::new(Arc::new(data.split("train")?), recipe.batch_settings(&config))?;
    let plan = batcher.plan(0);
    let mut epoch = Epoch::default();
    let mut sizes: Vec<(usize, &PlannedBatch)> = Vec::new();
    for planned in &plan.batches {
        let batch = batcher.build(planned);
        epoch.add(&batch);
        sizes.push((batch.sentences.tokens.len() + batch.targets.tokens.len(), planned));
    }
    let parameters = model.num_params();
    let updates = plan.batches.len().div_ceil(recipe.batches.per_update);
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", recipe.to_toml())?;
    let mut row = |name: &str, value: String| writeln!(out, "{name:<24} {value}");
    row("parameters", parameters.to_string())?;
    row("sentences per epoch", epoch.sentences.to_string())?;
    row(
        "  encoded as context only",
        format!("{} ({:.1} %)", epoch.context_only, share(epoch.context_only, epoch.sentences)),
    )?;
    if !plan.dropped.is_empty() {
        row("  too long, left out", plan.dropped.len().to_string())?;
    }
    row("micro-batches per epoch", plan.batches.len().to_string())?;
    row("updates per epoch", updates.to_string())?;
    let waste = share(epoch.padded - epoch.tokens, epoch.padded);
    row("padding", format!("none; padded batches would be {waste:.0} % padding"))?;

    // The largest micro-batches, one per worker: no update needs more memory.
    let workers = Workers::new(workers)?;
    sizes.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let largest = sizes.iter().take(workers.count().min(recipe.batches.per_update));
    let batches: Vec<_> = largest.map(|(_, planned)| for_model(&batcher.build(planned))).collect();
    let settings = UpdateSettings {
        smoothing: recipe.optimisation.label_smoothing,
        dropout: config.dropout,
        seed: recipe.seed.0,
        update: 1,
        precision: recipe.optimisation.precision,
    };
    let start = Instant::now();
    drop(workers.accumulate(&model, &batches, settings)?);
    let seconds = start.elapsed().as_secs_f64();
    // The optimiser's two running means come on top.
    let means = (2 * parameters * size_of::<f32>()) as f64 / f64::from(1 << 20);
    let memory = match peak_mebibytes() {
        Some(peak) => format!("{:.0} MiB, with {} workers", peak + means, workers.count()),
        None => "not known on this system".into(),
    };
    row("expected memory", memory)?;
    let epoch = seconds * plan.batches.len() as f64 / batches.len() as f64;
    row("expected time", format!("{} per epoch, at most", duration(epoch as u64 + 1)))?;
    Ok(())
}

fn longest(side: &Packed) -> usize {
    (0..side.len()).map(|i| side.sentence(i).len()).max().unwrap_or(0)
}

/// The largest resident memory so far, from Linux's `/proc`.
fn peak_mebibytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}
