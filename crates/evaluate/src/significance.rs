//! Significance tests between systems: paired bootstrap resampling (Koehn, 2004) and paired
//! approximate randomisation (Riezler and Maxwell, 2005).
//!
//! Random numbers, arithmetic and counting are those of sacreBLEU with `NumPy` 2, so p-values,
//! means and intervals are the same for the same seed.

use std::fmt;

use abridge_corpus::{Error, Result};
use rayon::prelude::*;
use serde::Serialize;

use crate::metric::{Metric, ResampleScore, Statistics};
use crate::random::NumpyRandom;
use crate::real::{Real, mean};
use crate::references::ReferenceCount;
use crate::signature::{Field, Signature};

/// How chance is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resampling {
    /// Test sets are sampled from the segments of the given one, with replacement.
    Bootstrap,
    /// The outputs of the two systems are exchanged at random, segment by segment.
    Randomization,
}

impl fmt::Display for Resampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bootstrap => "paired bootstrap resampling",
            Self::Randomization => "paired approximate randomisation",
        })
    }
}

/// A paired test between two systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedTest {
    /// How chance is simulated.
    pub resampling: Resampling,
    /// The number of samples.
    pub samples: usize,
    /// The seed of the random generator.
    pub seed: u64,
}

impl PairedTest {
    /// sacreBLEU's default seed.
    pub const SEED: u64 = 12345;

    /// 1,000 resamples.
    pub fn bootstrap() -> Self {
        Self { resampling: Resampling::Bootstrap, samples: 1_000, seed: Self::SEED }
    }

    /// 10,000 exchanges.
    pub fn randomization() -> Self {
        Self { resampling: Resampling::Randomization, samples: 10_000, seed: Self::SEED }
    }

    /// The signature fields of the test.
    pub fn fields(&self) -> Vec<Field> {
        let name = match self.resampling {
            Resampling::Bootstrap => "bs",
            Resampling::Randomization => "ar",
        };
        vec![
            Field::new(name, name, self.samples.to_string()),
            Field::new("seed", "rs", self.seed.to_string()),
        ]
    }

    /// The signature of a tested score.
    pub fn signature(&self, metric: &dyn Metric, references: ReferenceCount) -> Signature {
        Signature::sacrebleu(references, self.fields(), metric.fields())
    }
}

/// The bootstrap interval of a system's score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean over the resamples.
    pub mean: f64,
    /// Half the width of the interval that holds 95 % of the resamples.
    pub half_width: f64,
}

/// The result of a paired test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The score of the system minus that of the baseline.
    pub difference: f64,
    /// How often chance alone gives a larger difference; small values are significant.
    pub p_value: f64,
    /// The interval of the system; only the bootstrap estimates one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// Tests a system against a baseline.
pub fn compare(
    metric: &dyn Metric,
    baseline: &Statistics,
    system: &Statistics,
    test: PairedTest,
) -> Result<Comparison> {
    compare_with(metric, baseline, system, test, &|_| {})
}

/// As [`compare`]; `done` is called with the number of scored samples.
pub fn compare_with(
    metric: &dyn Metric,
    baseline: &Statistics,
    system: &Statistics,
    test: PairedTest,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Comparison> {
    check(baseline, test.samples)?;
    if baseline.len() != system.len() || baseline.counts() != system.counts() {
        return Err(Error::new(format!(
            "the baseline has {} segments but the system has {}",
            baseline.len(),
            system.len()
        ))
        .remedy("compare translations of the same test set by the same metric"));
    }
    let difference = metric.score(&system.sums()) - metric.score(&baseline.sums());
    match test.resampling {
        Resampling::Bootstrap => {
            let pairs = resample(test, baseline.len(), |indices| {
                let pair = (
                    bootstrap_score(metric, baseline, indices),
                    bootstrap_score(metric, system, indices),
                );
                done(1);
                pair
            });
            let (baseline, system) = pairs.into_iter().unzip();
            Ok(match (Scores::new(baseline), Scores::new(system)) {
                (Scores::Single(baseline), Scores::Single(system)) => {
                    bootstrap_comparison(difference, &baseline, &system)
                }
                (baseline, system) => {
                    bootstrap_comparison(difference, &baseline.wide(), &system.wide())
                }
            })
        }
        Resampling::Randomization => Ok(Comparison {
            difference,
            p_value: randomization(metric, baseline, system, test, difference.abs(), done),
            interval: None,
        }),
    }
}

/// The bootstrap interval of one system.
pub fn interval(
    metric: &dyn Metric,
    statistics: &Statistics,
    samples: usize,
    seed: u64,
) -> Result<Interval> {
    check(statistics, samples)?;
    let test = PairedTest { resampling: Resampling::Bootstrap, samples, seed };
    let scores =
        resample(test, statistics.len(), |indices| bootstrap_score(metric, statistics, indices));
    Ok(match Scores::new(scores) {
        Scores::Single(scores) => interval_of(&scores),
        Scores::Double(scores) => interval_of(&scores),
    })
}

fn check(statistics: &Statistics, samples: usize) -> Result<()> {
    /// Their scores are kept, in a few hundred megabytes.
    const MOST_SAMPLES: usize = 10_000_000;
    if !(1..=MOST_SAMPLES).contains(&samples) {
        let problem =
            format!("a significance test takes 1 to {MOST_SAMPLES} samples, not {samples}");
        return Err(Error::usage(problem)
            .remedy("use 1,000 for the bootstrap or 10,000 for approximate randomisation"));
    }
    if statistics.is_empty() || u32::try_from(statistics.len()).is_err() {
        return Err(Error::new(format!("cannot resample {} segments", statistics.len()))
            .remedy("give at least one and at most 4,294,967,295"));
    }
    Ok(())
}

/// Draws all resamples sequentially, and scores them on all cores.
fn resample<T: Send>(
    test: PairedTest,
    segments: usize,
    score: impl Fn(&[u32]) -> T + Sync,
) -> Vec<T> {
    /// Limits the memory for indices to a few megabytes.
    const INDICES_AT_ONCE: usize = 1 << 21;
    let at_once = (INDICES_AT_ONCE / segments).clamp(1, test.samples);
    let mut random = NumpyRandom::new(test.seed);
    let mut indices = vec![0u32; at_once * segments];
    let mut scores = Vec::with_capacity(test.samples);
    while scores.len() < test.samples {
        let now = at_once.min(test.samples - scores.len());
        let indices = &mut indices[..now * segments];
        random.fill_indices(segments as u32, indices);
        scores.par_extend(indices.par_chunks_exact(segments).map(&score));
    }
    scores
}

fn bootstrap_score(metric: &dyn Metric, statistics: &Statistics, indices: &[u32]) -> ResampleScore {
    let mut sums = vec![0f32; statistics.counts()];
    for &index in indices {
        for (sum, &value) in sums.iter_mut().zip(statistics.row(index as usize)) {
            *sum += value as f32;
        }
    }
    metric.resample_score(&sums)
}

/// The scores of all resamples, in the precision of the `NumPy` array of them.
enum Scores {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Scores {
    fn new(scores: Vec<ResampleScore>) -> Self {
        let single: Option<Vec<f32>> = scores
            .iter()
            .map(|score| match score {
                ResampleScore::Single(score) => Some(*score),
                ResampleScore::Double(_) => None,
            })
            .collect();
        single.map_or_else(
            || {
                let wide = scores.iter().map(|score| match *score {
                    ResampleScore::Single(score) => f64::from(score),
                    ResampleScore::Double(score) => score,
                });
                Self::Double(wide.collect())
            },
            Self::Single,
        )
    }

    fn wide(self) -> Vec<f64> {
        match self {
            Self::Single(scores) => scores.into_iter().map(f64::from).collect(),
            Self::Double(scores) => scores,
        }
    }
}

fn interval_of<T: Real>(scores: &[T]) -> Interval {
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| a.wide().total_cmp(&b.wide()));
    let outside = sorted.len() / 40;
    let width = sorted[sorted.len() - outside - 1] - sorted[outside];
    Interval { mean: mean(&sorted).wide(), half_width: (T::of(0.5) * width).wide() }
}

fn bootstrap_comparison<T: Real>(difference: f64, baseline: &[T], system: &[T]) -> Comparison {
    let differences: Vec<T> = baseline
        .iter()
        .zip(system)
        .map(|(&baseline, &system)| T::of((system - baseline).wide().abs()))
        .collect();
    // Under the null hypothesis, differences are distributed around 0 as they are around their
    // mean.
    let center = mean(&differences);
    let threshold = T::of(difference.abs());
    let larger = differences.iter().filter(|&&value| value - center > threshold).count();
    Comparison {
        difference,
        p_value: p_value(larger, differences.len()),
        interval: Some(interval_of(system)),
    }
}

fn randomization(
    metric: &dyn Metric,
    baseline: &Statistics,
    system: &Statistics,
    test: PairedTest,
    difference: f64,
    done: &(dyn Fn(usize) + Sync),
) -> f64 {
    /// Limits the memory for coins to a few megabytes.
    const COINS_AT_ONCE: usize = 1 << 22;
    let segments = baseline.len();
    let at_once = (COINS_AT_ONCE / segments).clamp(1, test.samples);
    let mut random = NumpyRandom::new(test.seed);
    let mut coins = random.coins();
    let mut larger = 0;
    let mut scored = 0;
    while scored < test.samples {
        let now = at_once.min(test.samples - scored);
        let tossed: Vec<bool> = (0..now * segments).map(|_| coins.toss()).collect();
        larger += tossed
            .par_chunks_exact(segments)
            .filter(|keep| {
                let is_larger = exchanged_difference(metric, baseline, system, keep) > difference;
                done(1);
                is_larger
            })
            .count();
        scored += now;
    }
    p_value(larger, test.samples)
}

/// The difference between two systems made of the outputs of both.
fn exchanged_difference(
    metric: &dyn Metric,
    baseline: &Statistics,
    system: &Statistics,
    keep: &[bool],
) -> f64 {
    let mut first = vec![0f64; baseline.counts()];
    let mut second = first.clone();
    for ((baseline, system), &keep) in baseline.rows().zip(system.rows()).zip(keep) {
        let (here, there) = if keep { (baseline, system) } else { (system, baseline) };
        for (sum, value) in first.iter_mut().zip(here) {
            *sum += value;
        }
        for (sum, value) in second.iter_mut().zip(there) {
            *sum += value;
        }
    }
    (metric.score(&first) - metric.score(&second)).abs()
}

/// Adds one to both counts, so that p-values are never too small.
fn p_value(larger: usize, samples: usize) -> f64 {
    (larger + 1) as f64 / (samples + 1) as f64
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::metrics::Bleu;
    use crate::references::References;

    fn statistics(bleu: &Bleu, lines: &[&str], references: &References) -> Statistics {
        Statistics::collect(bleu, lines, references).unwrap()
    }

    #[test]
    fn a_system_does_not_differ_from_itself_and_the_seed_decides() {
        let references = References::single(["a b c d e", "f g h i j", "k l m n o"]).unwrap();
        let bleu = Bleu::default();
        let good = statistics(&bleu, &["a b c d e", "f g h i j", "k l m n x"], &references);
        let bad = statistics(&bleu, &["a b c x y", "f g h i z", "x l m n o"], &references);
        for test in [PairedTest::bootstrap(), PairedTest::randomization()] {
            let same = compare(&bleu, &good, &good, test).unwrap();
            assert!(same.difference.abs() < 1e-12);
            let once = compare(&bleu, &bad, &good, test).unwrap();
            assert_eq!(once, compare(&bleu, &bad, &good, test).unwrap());
            assert!(once.difference > 0.0 && once.p_value > 0.0 && once.p_value <= 1.0);
            let count = AtomicUsize::new(0);
            let done = |samples| _ = count.fetch_add(samples, Ordering::Relaxed);
            assert_eq!(once, compare_with(&bleu, &bad, &good, test, &done).unwrap());
            assert_eq!(count.into_inner(), test.samples);
        }
    }

    #[test]
    fn no_samples_and_too_many_are_errors() {
        let references = References::single(["a"]).unwrap();
        let bleu = Bleu::default();
        let counts = statistics(&bleu, &["a"], &references);
        let test = PairedTest { samples: 0, ..PairedTest::bootstrap() };
        assert!(compare(&bleu, &counts, &counts, test).is_err());
        assert!(interval(&bleu, &counts, 0, 1).is_err());
        let test = PairedTest { samples: usize::MAX, ..test };
        assert!(compare(&bleu, &counts, &counts, test).is_err());
    }
}
