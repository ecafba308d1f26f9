//! Two ranks with one worker each beside one process with two workers: the same updates, in turn.
//!
//! ```text
//! cargo bench --workspace --features abridge-cli/mpi --bench ranks -- --size base --rounds 3
//! ```
//!
//! An update of a rank has four parts: gradients of its micro-batches, waiting until the others have
//! theirs, the sum over all ranks, and the step (clipping, Adam). What sending gradients during the
//! backward pass could save is at most the third. Beside seconds stand those of processors, of all ranks
//! together, which other work on the machine hardly changes.

#[path = "../../model/benches/support/mod.rs"]
mod support;

use std::process::Command;
use std::time::Instant;

use abridge_model::ops::ProductPrecision;
use abridge_model::{Batch, ModelSize, Preset};
use abridge_train::{Adam, AdamConfig, GradientWorkers, MpiRanks, Ranks, Trained, UpdateSettings};
use burn::tensor::Device;
use support::{batch, cpu_seconds};

/// Seconds of an update and of its four parts, the same of processors, target tokens of an update.
type Row = [f64; 11];

struct Choices {
    size: ModelSize,
    rounds: usize,
    updates: usize,
    /// Micro-batches of an update, over all ranks.
    batches: usize,
    /// Sentences of a micro-batch.
    sentences: usize,
    /// In a process of a round: its workers.
    workers: Option<usize>,
}

impl Choices {
    fn parse() -> Self {
        let mut choices = Self {
            size: ModelSize::Base,
            rounds: 3,
            updates: 3,
            batches: 4,
            sentences: 32,
            workers: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().expect("the option needs a value");
            let mut number = || value().parse().expect("a number");
            match argument.as_str() {
                "--rounds" => choices.rounds = number(),
                "--updates" => choices.updates = number(),
                "--batches" => choices.batches = number(),
                "--sentences" => choices.sentences = number(),
                "--workers" => choices.workers = Some(number()),
                "--size" => choices.size = value().parse().expect("a size"),
                // What `cargo bench` adds.
                "--bench" => {}
                other => panic!("unknown option {other}"),
            }
        }
        choices
    }
}

fn main() {
    let choices = Choices::parse();
    if let Some(workers) = choices.workers {
        return row(&choices, workers);
    }
    println!(
        "Latent Grouping, {}, context size 1; {} micro-batches of {} sentences per update; median of {} \
         updates",
        choices.size, choices.batches, choices.sentences, choices.updates
    );
    println!("                                 seconds (of processors)");
    print!("round             tokens/s");
    for name in ["update", "gradients", "waiting", "sum", "step"] {
        print!(" {name:>15}");
    }
    println!();
    let mut ratios = Vec::new();
    for round in 1..=choices.rounds {
        let one = run(&choices, 1, 2);
        let two = run(&choices, 2, 1);
        for (name, row) in [("one process", one), ("two ranks", two)] {
            print!("{round:<5} {name:<11} {:>8.0}", row[10] / row[0]);
            for part in 0..5 {
                print!(" {:>6.2} ({:>6.2})", row[part], row[5 + part]);
            }
            println!();
        }
        ratios.push(one[0] / two[0]);
    }
    let (least, median, most) = spread(&mut ratios);
    println!("two ranks have {median:.3} of the speed of one process ({least:.3} to {most:.3})");
}

/// Runs the updates with some ranks of some workers each.
fn run(choices: &Choices, ranks: usize, workers: usize) -> Row {
    let number = |number: usize| number.to_string();
    let output = Command::new("mpirun")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(["--oversubscribe", "--bind-to", "none", "-n", &number(ranks)])
        .arg(std::env::current_exe().expect("this program has a path"))
        .args(["--size", choices.size.name(), "--updates", &number(choices.updates)])
        .args(["--batches", &number(choices.batches), "--workers", &number(workers)])
        .args(["--sentences", &number(choices.sentences)])
        .output()
        .expect("mpirun can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Row::try_from(numbers)
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Updates of one rank; the first prints medians.
fn row(choices: &Choices, workers: usize) {
    let ranks = MpiRanks::join().expect("MPI can be started");
    let vocabulary = if choices.size == ModelSize::Base { 19_804 } else { 8_000 };
    let config = Preset::Grouping.config(choices.size, vocabulary, vocabulary, 1);
    let mut model = config.init(1, &Device::flex().autodiff()).expect("a preset makes sense");
    let workers =
        GradientWorkers::new(Some(workers), &model.device()).expect("threads can be started");
    let batches: Vec<Batch> =
        (0..choices.batches).map(|place| batch(&config, choices.sentences, place as u64)).collect();
    let places = batches.iter().enumerate().skip(ranks.rank()).step_by(ranks.count());
    let mine: Vec<(usize, &Batch)> = places.collect();
    let mut adam = Adam::new(AdamConfig::default());
    let mut parts: [Vec<f64>; 10] = Default::default();
    for update in 1..=choices.updates as u64 + 1 {
        let settings = UpdateSettings {
            smoothing: 0.1,
            dropout: config.dropout,
            train: Trained::All,
            seed: 1,
            update,
            precision: ProductPrecision::F32,
            loss_scale: 1.0,
        };
        let now = || (Instant::now(), cpu_seconds());
        let mut times = vec![now()];
        let mut sum = workers.sum(&model, &mine, settings).expect("the batches fit");
        times.push(now());
        ranks.wait();
        times.push(now());
        sum.sum_over(&ranks).expect("gradients can be read");
        times.push(now());
        sum.gradients.scale(1.0 / sum.tokens as f64);
        sum.gradients.clip(0.1).expect("gradients can be read");
        model = adam.step(model, sum.gradients, 1e-4);
        times.push(now());
        // The first update draws the weights.
        if update > 1 {
            let spans = [(0, 4), (0, 1), (1, 2), (2, 3), (3, 4)];
            for (part, (from, to)) in spans.into_iter().enumerate() {
                let mut processors = [times[to].1 - times[from].1];
                ranks.sum_wide(&mut processors);
                parts[part].push((times[to].0 - times[from].0).as_secs_f64());
                parts[5 + part].push(processors[0]);
            }
        }
    }
    if ranks.is_leader() {
        for part in &mut parts {
            println!("{}", spread(part).1);
        }
        let tokens: usize = batches.iter().map(|batch| batch.targets.tokens().len()).sum();
        println!("{tokens}");
    }
}

/// The least, the median and the most.
fn spread(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[0], values[values.len() / 2], values[values.len() - 1])
}
