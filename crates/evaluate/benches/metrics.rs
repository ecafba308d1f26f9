//! Time for 100,000 lines, compared with sacreBLEU if it is installed.
//!
//! ```text
//! PYTHON=/tmp/venv/bin/python cargo bench -p abridge-evaluate
//! ```
//!
//! The lines are generated from a fixed seed. `LINES` changes their number, `RAYON_NUM_THREADS` the
//! number of threads; sacreBLEU uses one. Times do not include reading files and starting Python.
//! TER is measured on a tenth of the lines, because sacreBLEU needs minutes for it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use abridge_evaluate::{
    Bleu, ChrF, NumpyRandom, PairedTest, References, Statistics, Ter, TextMetric, compare,
};

/// Prints the seconds that sacreBLEU takes for each metric, and its scores.
const SACREBLEU: &str = r#"
import sys, time
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
read = lambda name: open(f"{sys.argv[1]}/{name}", encoding="utf-8", newline="\n").read().split("\n")[:-1]
system, other, reference = read("system"), read("other"), read("reference")
for name, metric, part in (("BLEU", BLEU(), 1), ("chrF2", CHRF(), 1), ("chrF2++", CHRF(word_order=2), 1), ("TER", TER(), 10)):
    lines = len(system) // part
    start = time.perf_counter()
    score = metric.corpus_score(system[:lines], [reference[:lines]]).score
    print(f"{name}\t{time.perf_counter() - start}\t{score}", flush=True)
lines = len(system) // 10
start = time.perf_counter()
test = PairedTest([("a", system[:lines]), ("b", other[:lines])], {"BLEU": BLEU()}, [reference[:lines]], "bs", 1000)
result = test()[1]["BLEU"][1]
print(f"paired bootstrap\t{time.perf_counter() - start}\t{result.p_value}", flush=True)
"#;

struct Measured {
    name: String,
    seconds: f64,
    result: f64,
}

struct Texts {
    system: Vec<String>,
    other: Vec<String>,
    reference: Vec<String>,
}

fn main() {
    let lines = std::env::var("LINES").ok().and_then(|l| l.parse().ok()).unwrap_or(100_000);
    let texts = generate(lines);
    let ours = measure(&texts);
    let theirs = sacrebleu(&texts).unwrap_or_default();
    println!("{lines} lines; TER and the bootstrap on {}; {} threads", lines / 10, rayon_threads());
    println!("{:<18}{:>12}{:>14}{:>10}  result", "", "abridge", "sacreBLEU", "faster");
    for Measured { name, seconds, result } in &ours {
        let mut row = format!("{name:<18}{seconds:>10.3} s");
        match theirs.iter().find(|other| other.name == *name) {
            Some(other) => {
                let _ = write!(row, "{:>12.3} s{:>9.0}×", other.seconds, other.seconds / seconds);
                let _ = write!(row, "  {result:.6} {:.6}", other.result);
            }
            None => {
                let _ = write!(row, "{:>14}{:>10}  {result:.6}", "not found", "");
            }
        }
        println!("{row}");
    }
}

fn rayon_threads() -> usize {
    std::env::var("RAYON_NUM_THREADS").ok().and_then(|count| count.parse().ok()).unwrap_or_else(
        || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
    )
}

fn measure(texts: &Texts) -> Vec<Measured> {
    let part = texts.reference.len() / 10;
    let metrics: [(&dyn TextMetric, usize); 4] = [
        (&Bleu::default(), texts.reference.len()),
        (&ChrF::default(), texts.reference.len()),
        (&ChrF::plus_plus(), texts.reference.len()),
        (&Ter::default(), part),
    ];
    let mut measured = Vec::new();
    for (metric, lines) in metrics {
        let references = References::single(texts.reference[..lines].iter().cloned())
            .expect("one reference per line");
        let start = Instant::now();
        let counts = Statistics::collect(metric, &texts.system[..lines], &references)
            .expect("as many lines as references");
        let result = metric.score(&counts.sums());
        let seconds = start.elapsed().as_secs_f64();
        measured.push(Measured { name: metric.name(), seconds, result });
    }
    let start = Instant::now();
    let bleu = Bleu::default();
    let references = References::single(texts.reference[..part].iter().cloned())
        .expect("one reference per line");
    let count = |system: &[String]| {
        Statistics::collect(&bleu, &system[..part], &references).expect("as many lines")
    };
    let found =
        compare(&bleu, &count(&texts.system), &count(&texts.other), PairedTest::bootstrap())
            .expect("two systems of the same size");
    measured.push(Measured {
        name: "paired bootstrap".to_owned(),
        seconds: start.elapsed().as_secs_f64(),
        result: found.p_value,
    });
    measured
}

fn sacrebleu(texts: &Texts) -> Option<Vec<Measured>> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let known = Command::new(&python).args(["-c", "import sacrebleu"]).output().ok()?;
    if !known.status.success() {
        eprintln!("`{python}` cannot import sacrebleu: set PYTHON to one that can");
        return None;
    }
    let folder = tempfile::tempdir().ok()?;
    write(folder.path(), "system", &texts.system);
    write(folder.path(), "other", &texts.other);
    write(folder.path(), "reference", &texts.reference);
    let output = Command::new(&python).args(["-c", SACREBLEU]).arg(folder.path()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.split('\t');
        Some(Measured {
            name: cells.next()?.to_owned(),
            seconds: cells.next()?.parse().ok()?,
            result: cells.next()?.parse().ok()?,
        })
    });
    Some(rows.collect())
}

fn write(folder: &Path, name: &str, lines: &[String]) {
    let mut text = lines.join("\n");
    text.push('\n');
    std::fs::write(folder.join(name), text).expect("a temporary folder can be written");
}

/// References of 13 to 41 words from a vocabulary of 20,000 with realistic frequencies, and two
/// translations of them with words dropped, replaced and swapped.
fn generate(lines: usize) -> Texts {
    let mut random = NumpyRandom::new(1);
    let mut below = move |bound: u32| {
        let mut number = [0];
        random.fill_indices(bound, &mut number);
        number[0]
    };
    let vocabulary: Vec<String> = (0..20_000)
        .map(|_| (0..2 + below(8)).map(|_| char::from(b'a' + below(26) as u8)).collect())
        .collect();
    let mut texts = Texts { system: Vec::new(), other: Vec::new(), reference: Vec::new() };
    for _ in 0..lines {
        let mut word = || {
            let range = 1 + below(20_000);
            vocabulary[below(range) as usize].clone()
        };
        let count = 5 + word().len() * 4;
        let words: Vec<String> = (0..count).map(|_| word()).collect();
        texts.reference.push(words.join(" ") + ".");
        for (system, errors) in [(&mut texts.system, 25), (&mut texts.other, 27)] {
            let mut changed = Vec::new();
            for word in &words {
                match below(100) {
                    chance if chance < errors / 3 => {}
                    chance if chance < errors => {
                        changed.push(vocabulary[below(20_000) as usize].clone());
                    }
                    _ => changed.push(word.clone()),
                }
            }
            if changed.len() > 4 && below(2) == 0 {
                let (left, right) = (below(changed.len() as u32), below(changed.len() as u32));
                changed.swap(left as usize, right as usize);
            }
            system.push(changed.join(" ") + ".");
        }
    }
    texts
}
