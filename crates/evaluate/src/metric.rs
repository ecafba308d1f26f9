//! The interface of metrics: counts per segment that add up, and a score from their sums.

use std::fmt;

use abridge_base::message::counted;
use abridge_corpus::{Error, Result};
use rayon::prelude::*;

use crate::documents::DocumentLines;
use crate::references::{ReferenceCount, References};
use crate::signature::{Field, Signature};

/// A metric whose score is a function of sums over segments.
///
/// Scores of a corpus, a document and a resample all follow from that.
pub trait Metric: fmt::Debug + Send + Sync {
    /// The name beside the score, such as `BLEU` or `chrF2++`.
    fn name(&self) -> String;

    /// The settings that the score depends on.
    fn fields(&self) -> Vec<Field>;

    /// How many counts a segment has.
    fn counts(&self) -> usize;

    /// The score of the summed counts.
    fn score(&self, sums: &[f64]) -> f64;

    /// The score of the summed counts of a resample, in single precision as in sacreBLEU.
    fn resample_score(&self, sums: &[f32]) -> ResampleScore;

    /// Whether a larger score means a better translation.
    fn higher_is_better(&self) -> bool {
        true
    }

    /// Details of the score, as printed by sacreBLEU.
    fn details(&self, sums: &[f64]) -> Option<String> {
        let _ = sums;
        None
    }

    /// How many more decimals a table shows than for scores up to 100.
    fn extra_decimals(&self) -> usize {
        0
    }

    /// The signature of a score.
    fn signature(&self, references: ReferenceCount) -> Signature {
        Signature::sacrebleu(references, Vec::new(), self.fields())
    }
}

/// A metric of only the texts of a translation and its references.
pub trait TextMetric: Metric {
    /// The counts of one segment; there is at least one reference.
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<f64>;

    /// Whether its segments are whole documents, each joined into one line.
    fn is_of_documents(&self) -> bool {
        false
    }
}

/// The score of a resample, in the precision in which it is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResampleScore {
    /// The whole formula was computed in single precision (chrF, TER).
    Single(f32),
    /// The formula ended in double precision (BLEU).
    Double(f64),
}

/// The counts of all segments of a translation, for one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    counts: usize,
    values: Vec<f64>,
}

impl Statistics {
    /// Counts every segment. The result does not depend on the number of threads.
    pub fn collect<S: AsRef<str> + Sync>(
        metric: &dyn TextMetric,
        hypotheses: &[S],
        references: &References,
    ) -> Result<Self> {
        Self::collect_with(metric, hypotheses, references, &|_| {})
    }

    /// As [`Self::collect`]; `done` is called with 0 before a segment is counted and with 1 after it.
    /// If it unwinds, no segment is begun any more.
    pub fn collect_with<S: AsRef<str> + Sync>(
        metric: &dyn TextMetric,
        hypotheses: &[S],
        references: &References,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Self> {
        if hypotheses.len() != references.len() {
            return Err(Error::new(format!(
                "the hypothesis has {} but the reference has {}",
                counted(hypotheses.len(), "line"),
                references.len()
            ))
            .remedy("give the translation of the same test set, one line per segment"));
        }
        if hypotheses.is_empty() {
            return Err(Error::new("there are no lines to evaluate")
                .remedy("give files with at least one line"));
        }
        let rows: Vec<Vec<f64>> = hypotheses
            .par_iter()
            .enumerate()
            .map(|(segment, hypothesis)| {
                // After a panic the other threads still come here for what is left.
                done(0);
                let counts = metric.count(hypothesis.as_ref(), &references.of_segment(segment));
                done(1);
                counts
            })
            .collect();
        Ok(Self { counts: metric.counts(), values: rows.concat() })
    }

    /// Precomputed scores of segments, each with the count 1.
    pub fn of_scores(scores: &[f64]) -> Self {
        Self { counts: 2, values: scores.iter().flat_map(|&score| [score, 1.0]).collect() }
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.values.len() / self.counts
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The counts of each segment.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.counts)
    }

    /// The counts of one segment.
    pub fn row(&self, segment: usize) -> &[f64] {
        &self.values[segment * self.counts..(segment + 1) * self.counts]
    }

    /// The number of counts per segment.
    pub fn counts(&self) -> usize {
        self.counts
    }

    /// The sums over all segments.
    pub fn sums(&self) -> Vec<f64> {
        sum(self.counts, self.rows())
    }

    /// The sums over the lines of one document.
    pub fn document_sums(&self, document: &DocumentLines) -> Vec<f64> {
        let places = document.lines.start * self.counts..document.lines.end * self.counts;
        sum(self.counts, self.values[places].chunks_exact(self.counts))
    }
}

fn sum<'a>(counts: usize, rows: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let mut sums = vec![0.0; counts];
    for row in rows {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    sums
}

/// The score of a translation and its signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The name of the metric.
    pub name: String,
    /// The score.
    pub score: f64,
    /// Details, if the metric has any.
    pub details: Option<String>,
    /// What it depends on.
    pub signature: Signature,
}

/// Scores a translation.
///
/// ```
/// use abridge_evaluate::{Bleu, References, corpus_score};
///
/// let references = References::single(["The cat sat on the mat.", "It slept."])?;
/// let score = corpus_score(&Bleu::default(), &["The cat sat on a mat.", "It slept."], &references)?;
/// assert_eq!(format!("{:.1}", score.score), "53.9");
/// assert_eq!(
///     score.signature.to_string(),
///     "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
/// );
/// # Ok::<(), abridge_corpus::Error>(())
/// ```
pub fn corpus_score<S: AsRef<str> + Sync>(
    metric: &dyn TextMetric,
    hypotheses: &[S],
    references: &References,
) -> Result<Score> {
    let sums = Statistics::collect(metric, hypotheses, references)?.sums();
    Ok(Score {
        name: metric.name(),
        score: metric.score(&sums),
        details: metric.details(&sums),
        signature: metric.signature(references.count()),
    })
}

/// Scores one segment against its references. For BLEU set [`crate::Bleu::effective_order`].
pub fn sentence_score(metric: &dyn TextMetric, hypothesis: &str, references: &[&str]) -> f64 {
    metric.score(&metric.count(hypothesis, references))
}
