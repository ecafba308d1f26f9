//! The training step, forward and backward, as context grows.
//!
//! ```text
//! cargo bench -p abridge-model                                   # all of it, some minutes
//! cargo bench -p abridge-model -- --size small --steps 5
//! cargo bench -p abridge-model -- --size base --preset grouping --context-size 0,10
//! cargo bench -p abridge-model -- --precision bf16
//! ```
//!
//! As in training, each core has a worker with its share of the sentences. With
//! `--features abridge-model/plain-operations` the operations of the engine are measured instead of
//! the fused ones.
//!
//! Every sentence is encoded once, so a step at context size 10 should cost little more than one at
//! context size 0. The last columns show the share of CPU time that went into matrix products and
//! how fast they were, to be compared with the peak in the first lines: that of one large product
//! on one core, in this run. Each row runs in its own process, to measure its peak memory; compare
//! rows of one run only, because machines are noisy.

mod support;

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use abridge_model::ops::{Matrix, MatrixMut, Output, ProductPrecision, Products, Tally};
use abridge_model::{Batch, Dropout, Model, ModelSize, Preset, ops};
use burn::tensor::{Device, Gradients};
use support::{batch, cpu_seconds, list, peak_mebibytes};

/// What to measure, from the command line.
#[derive(Clone, Debug)]
struct Options {
    sizes: Vec<ModelSize>,
    presets: Vec<Preset>,
    contexts: Vec<usize>,
    steps: usize,
    sentences: usize,
    workers: usize,
    precision: ProductPrecision,
    /// In a child process: measure one row and print it.
    is_row: bool,
}

impl Options {
    fn parse() -> Self {
        let mut options = Self {
            sizes: vec![ModelSize::Small, ModelSize::Base],
            presets: vec![Preset::Grouping, Preset::CachingTokens],
            contexts: vec![0, 1, 3, 10],
            steps: 3,
            sentences: 64,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            precision: ProductPrecision::F32,
            is_row: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().expect("the option needs a value");
            match argument.as_str() {
                "--size" => options.sizes = list(&value()),
                "--preset" => options.presets = list(&value()),
                "--context-size" => options.contexts = list(&value()),
                "--steps" => options.steps = value().parse().expect("a number"),
                "--sentences" => options.sentences = value().parse().expect("a number"),
                "--workers" => options.workers = value().parse().expect("a number"),
                "--precision" => options.precision = value().parse().expect("a precision"),
                "--row" => options.is_row = true,
                // What `cargo bench` adds.
                "--bench" => {}
                other => panic!("unknown option {other}"),
            }
        }
        options
    }
}

fn main() {
    let options = Options::parse();
    if options.is_row {
        return row(&options);
    }
    println!(
        "{} consecutive sentences per step, shared by {} workers; source and target lengths of \
         mean 22 and deviation 12; {}",
        options.sentences,
        options.workers,
        ops::Instructions::here()
    );
    println!(
        "one product of 1024 x 1024 x 1024 in {} on one core: {:.0} GFLOP/s",
        options.precision,
        peak_of_a_product(options.precision)
    );
    println!(
        "{:<6} {:<15} {:>3} {:>9} {:>7} {:>10} {:>11} {:>10} {:>9} {:>9}",
        "size",
        "preset",
        "C",
        "sent./s",
        "of C=0",
        "tgt tok/s",
        "CPU s/step",
        "peak MiB",
        "products",
        "GFLOP/s"
    );
    for size in &options.sizes {
        for preset in &options.presets {
            let mut first = None;
            for &context in &options.contexts {
                // Without context and without the current sentence, caching tokens keeps nothing:
                // its row at C = 0 is the sentence-level model.
                let preset = match (preset, context) {
                    (Preset::CachingTokens, 0) => Preset::Sentence,
                    (preset, _) => *preset,
                };
                let rate = measure(*size, preset, context, &options, first);
                first.get_or_insert(rate);
            }
        }
    }
}

/// Runs one row in its own process and prints it; returns its sentences per second.
fn measure(
    size: ModelSize,
    preset: Preset,
    context: usize,
    options: &Options,
    first: Option<f64>,
) -> f64 {
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--row", "--size", size.name(), "--preset", preset.name()])
        .args(["--context-size", &context.to_string(), "--steps", &options.steps.to_string()])
        .args(["--sentences", &options.sentences.to_string()])
        .args(["--workers", &options.workers.to_string()])
        .args(["--precision", &options.precision.to_string()])
        .output()
        .expect("the row can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [sentences, tokens, cpu, peak, products, speed] = numbers[..] else {
        panic!("{text}{}", String::from_utf8_lossy(&output.stderr));
    };
    let share = first.map_or(100.0, |first| 100.0 * sentences / first);
    println!(
        "{size:<6} {preset:<15} {context:>3} {sentences:>9.1} {share:>6.0}% {tokens:>10.0} \
         {cpu:>11.2} {peak:>10.0} {products:>8.0}% {speed:>9.0}"
    );
    sentences
}

fn row(options: &Options) {
    let (size, preset, context) = (options.sizes[0], options.presets[0], options.contexts[0]);
    let vocabulary = if size == ModelSize::Base { 19_804 } else { 8_000 };
    let config = preset.config(size, vocabulary, vocabulary, context);
    let tally = Arc::new(Tally::default());
    let products = Products { precision: options.precision, tally: Some(Arc::clone(&tally)) };
    let model = config.init(1, &Device::flex().autodiff()).expect("a preset is valid");
    let model = model.with_products(&products);
    let share = options.sentences / options.workers;
    let batches: Vec<Batch> =
        (0..options.workers as u64).map(|i| batch(&config, share, i)).collect();
    let words: usize = batches.iter().map(|batch| batch.targets.tokens().len()).sum();
    let pool = || rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let pools: Vec<rayon::ThreadPool> = batches.iter().map(|_| pool()).collect();
    let mut seconds = Vec::new();
    let mut cpu = 0.0;
    for step in 0..=options.steps {
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        std::thread::scope(|scope| {
            for (batch, pool) in batches.iter().zip(&pools) {
                let (model, dropout) = (&model, Dropout::new(config.dropout, step as u64));
                let step = move || gradients(model, batch, dropout);
                scope.spawn(move || pool.install(|| drop(step())));
            }
        });
        // The first step initialises the weights.
        if step == 0 {
            tally.clear();
        } else {
            seconds.push(start.elapsed().as_secs_f64());
            cpu += cpu_seconds() - cpu_start;
        }
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    println!(
        "{} {} {} {} {} {}",
        (share * options.workers) as f64 / median,
        words as f64 / median,
        cpu / options.steps as f64,
        peak_mebibytes(),
        100.0 * tally.time().as_secs_f64() / cpu,
        tally.operations() as f64 / tally.time().as_secs_f64().max(1e-9) / 1e9,
    );
}

/// The peak speed of the processor: a product that is large enough to hide all overhead.
fn peak_of_a_product(precision: ProductPrecision) -> f64 {
    const SIZE: usize = 1024;
    let values = vec![0.5f32; SIZE * SIZE];
    let mut out = vec![0.0f32; SIZE * SIZE];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let mut best = 0.0f64;
    for _ in 0..10 {
        let tally = Arc::new(Tally::default());
        let products = Products { precision, tally: Some(Arc::clone(&tally)) };
        pool.install(|| {
            let (a, b) = (Matrix::packed(&values, SIZE), Matrix::packed(&values, SIZE));
            let out = MatrixMut::packed(&mut out, SIZE);
            products.multiply(out, a, b, 1.0, Output::Overwrite);
        });
        best = best.max(tally.operations() as f64 / tally.time().as_secs_f64() / 1e9);
    }
    best
}

/// Forward and backward, as a worker in training does it.
fn gradients(model: &Model, batch: &Batch, mut dropout: Dropout) -> Gradients {
    let model = model.with_own_leaves();
    let loss = model.loss(batch, 0.1, &mut dropout).expect("the batch fits the model");
    loss.smoothed.backward()
}
