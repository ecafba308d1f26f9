//! A whole update at growing context sizes: gradients of one micro-batch per worker, clipping,
//! Adam.
//!
//! ```text
//! cargo bench -p abridge-train                                   # all of it, some minutes
//! cargo bench -p abridge-train -- --size small --updates 5
//! cargo bench -p abridge-train -- --size base --preset grouping --context-size 0,10
//! cargo bench -p abridge-train -- --precision bf16               # matrix products with AMX
//! cargo bench -p abridge-train -- --train all,context            # a memory on a frozen network
//! cargo bench -p abridge-train -- --beside PYTHON                # each row in PyTorch, too
//! ```
//!
//! Every sentence is encoded once, so an update at context size 10 should cost little more than one
//! at context size 0; `update.py` encodes the context of every sentence again, as the published
//! code does. Each row runs in its own process, for its peak memory. `--beside` takes the Python of
//! an environment that has PyTorch, and measures each row there right after ours, with as many
//! sentences per update: compare the ratios, because machines are noisy.

#[path = "../../model/benches/support/mod.rs"]
mod support;

use std::process::Command;
use std::time::Instant;

use abridge_model::ops::ProductPrecision;
use abridge_model::{Batch, ModelSize, Preset};
use abridge_train::{Adam, AdamConfig, GradientWorkers, Trained, UpdateSettings};
use burn::tensor::Device;
use support::{batch, list, peak_mebibytes};

/// What to measure, from the command line.
#[derive(Clone, Debug)]
struct Choices {
    sizes: Vec<ModelSize>,
    presets: Vec<Preset>,
    contexts: Vec<usize>,
    updates: usize,
    sentences: usize,
    precision: ProductPrecision,
    /// Empty for the paper's networks; otherwise a memory on top of a sentence-level network, and
    /// whether all is trained or only the memory.
    trained: Vec<Trained>,
    /// A Python interpreter with PyTorch.
    beside: Option<String>,
    /// In a child process: measure one row and print it.
    is_row: bool,
}

impl Choices {
    fn parse() -> Self {
        let mut choices = Self {
            sizes: vec![ModelSize::Small, ModelSize::Base],
            presets: vec![Preset::Grouping, Preset::CachingTokens],
            contexts: vec![0, 1, 3, 10],
            updates: 3,
            sentences: 64,
            precision: ProductPrecision::F32,
            trained: Vec::new(),
            beside: None,
            is_row: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().expect("the option needs a value");
            match argument.as_str() {
                "--size" => choices.sizes = list(&value()),
                "--preset" => choices.presets = list(&value()),
                "--context-size" => choices.contexts = list(&value()),
                "--updates" => choices.updates = value().parse().expect("a number"),
                "--sentences" => choices.sentences = value().parse().expect("a number"),
                "--precision" => choices.precision = value().parse().expect("a precision"),
                "--train" => choices.trained = value().split(',').map(trained).collect(),
                "--beside" => choices.beside = Some(value()),
                "--row" => choices.is_row = true,
                // What `cargo bench` adds.
                "--bench" => {}
                other => panic!("unknown option {other}"),
            }
        }
        choices
    }
}

fn trained(name: &str) -> Trained {
    match name {
        "all" => Trained::All,
        "context" => Trained::Context,
        other => panic!("--train takes all or context, not {other}"),
    }
}

fn main() {
    let choices = Choices::parse();
    if choices.is_row {
        return row(&choices);
    }
    println!(
        "{} consecutive sentences per worker and update, lengths of mean 22 and deviation 12; {}",
        choices.sentences, choices.precision
    );
    print!(
        "{:<6} {:<15} {:>3} {:>9} {:>7} {:>10} {:>10}",
        "size", "preset", "C", "sent./s", "of C=0", "tgt tok/s", "peak MiB"
    );
    if choices.beside.is_some() {
        print!(" {:>9} {:>7} {:>11}", "PyTorch", "ratio", "PyTorch MiB");
    }
    println!();
    if !choices.trained.is_empty() {
        return side_by_side(&choices);
    }
    for size in &choices.sizes {
        for preset in &choices.presets {
            let mut first = None;
            for &context in &choices.contexts {
                // Without context, caching tokens keeps nothing: it is the sentence-level model.
                let preset = match (preset, context) {
                    (Preset::CachingTokens, 0) => Preset::Sentence,
                    (preset, _) => *preset,
                };
                let rate = measure(*size, preset, context, &choices, first);
                first.get_or_insert(rate);
            }
        }
    }
}

/// The cost of training a memory with and without the network below it.
fn side_by_side(choices: &Choices) {
    for &size in &choices.sizes {
        for &preset in &choices.presets {
            for &context in choices.contexts.iter().filter(|&&context| context > 0) {
                let mut first = None;
                for &trained in &choices.trained {
                    println!("train = {trained:?}");
                    let choices = Choices { trained: vec![trained], ..choices.clone() };
                    let rate = measure(size, preset, context, &choices, first);
                    first.get_or_insert(rate);
                }
            }
        }
    }
}

/// Runs one row in its own process and prints it; returns its sentences per second.
fn measure(
    size: ModelSize,
    preset: Preset,
    context: usize,
    choices: &Choices,
    first: Option<f64>,
) -> f64 {
    let mut ours = Command::new(std::env::current_exe().expect("this program has a path"));
    ours.args(["--precision", &choices.precision.to_string()]);
    if let [trained] = choices.trained[..] {
        ours.args(["--train", if trained == Trained::All { "all" } else { "context" }]);
    }
    let [sentences, tokens, peak] =
        run_row(ours, size, preset, context, choices.sentences, choices);
    let share = first.map_or(100.0, |first| 100.0 * sentences / first);
    print!(
        "{size:<6} {preset:<15} {context:>3} {sentences:>9.1} {share:>6.0}% {tokens:>10.0} \
         {peak:>10.0}"
    );
    if let Some(python) = &choices.beside {
        let mut theirs = Command::new(python);
        theirs.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/update.py"));
        // Ours has a micro-batch per core.
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let total = choices.sentences * workers;
        let [theirs, _, memory] = run_row(theirs, size, preset, context, total, choices);
        print!(" {theirs:>9.1} {:>7.2} {memory:>11.0}", sentences / theirs);
    }
    println!();
    sentences
}

/// Sentences and target tokens per second, and the peak memory in MiB.
fn run_row(
    mut program: Command,
    size: ModelSize,
    preset: Preset,
    context: usize,
    sentences: usize,
    choices: &Choices,
) -> [f64; 3] {
    let output = program
        .args(["--row", "--size", size.name(), "--preset", preset.name()])
        .args(["--context-size", &context.to_string(), "--updates", &choices.updates.to_string()])
        .args(["--sentences", &sentences.to_string()])
        .output()
        .expect("the row can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    <[f64; 3]>::try_from(numbers)
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn row(choices: &Choices) {
    let (size, preset, context) = (choices.sizes[0], choices.presets[0], choices.contexts[0]);
    let vocabulary = if size == ModelSize::Base { 19_804 } else { 8_000 };
    let mut config = preset.config(size, vocabulary, vocabulary, context);
    if !choices.trained.is_empty() {
        let below = Preset::Sentence.config(size, vocabulary, vocabulary, 0);
        config = below.with_context_of(&config);
    }
    let mut model = config.init(1, &Device::flex().autodiff()).expect("a preset makes sense");
    if choices.trained == [Trained::Context] {
        model = model.with_frozen_base();
    }
    let workers = GradientWorkers::new(None, &model.device()).expect("threads can be started");
    let batches: Vec<Batch> = (0..workers.count())
        .map(|worker| batch(&config, choices.sentences, worker as u64))
        .collect();
    let mut adam = Adam::new(AdamConfig::default());
    let mut seconds = Vec::new();
    for update in 1..=choices.updates as u64 + 1 {
        let start = Instant::now();
        let settings = UpdateSettings {
            smoothing: 0.1,
            dropout: config.dropout,
            train: choices.trained.first().copied().unwrap_or_default(),
            seed: 1,
            update,
            precision: choices.precision,
            loss_scale: 1.0,
        };
        let mut sum = workers.accumulate(&model, &batches, settings).expect("the batches fit");
        sum.gradients.clip(0.1).expect("gradients can be read");
        model = adam.step(model, sum.gradients, 1e-4);
        // The first update initialises the weights.
        if update > 1 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let tokens: usize = batches.iter().map(|batch| batch.targets.tokens().len()).sum();
    println!(
        "{} {} {}",
        (choices.sentences * batches.len()) as f64 / median,
        tokens as f64 / median,
        peak_mebibytes()
    );
}
