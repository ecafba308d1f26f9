//! A report of all metrics of one or several systems, and its output formats.

mod json;
mod run;
mod sections;
mod table;

use std::sync::Arc;

use crate::comet::CometMetric;
use crate::documents::Documents;
use crate::metric::{Metric, TextMetric};
use crate::metrics::{MetricSettings, NamedMetric};
use crate::pronoun::{PronounLanguage, PronounReport};
use crate::references::References;
use crate::signature::Signature;
use crate::significance::{Comparison, Interval, PairedTest};

/// A metric of a report with its settings.
#[derive(Clone, Debug)]
pub enum MetricChoice {
    /// One of [`METRICS`](crate::METRICS), with its name.
    Text(&'static str, Arc<dyn TextMetric>),
    /// `comet`, or `doc-comet` with context; the scores of the lines are computed beforehand
    Comet(CometMetric),
}

impl MetricChoice {
    /// A text metric.
    pub fn text(metric: NamedMetric, settings: &MetricSettings) -> Self {
        Self::Text(metric.name, metric.with(settings))
    }

    /// The name on the command line and in JSON.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Text(name, _) => name,
            Self::Comet(comet) if comet.context > 0 => "doc-comet",
            Self::Comet(_) => "comet",
        }
    }

    /// The metric itself.
    pub fn metric(&self) -> &dyn Metric {
        match self {
            Self::Text(_, metric) => &**metric,
            Self::Comet(metric) => metric,
        }
    }

    /// Whether it needs document boundaries.
    pub fn is_of_documents(&self) -> bool {
        matches!(self, Self::Text(_, metric) if metric.is_of_documents())
    }
}

/// The translation of one system.
#[derive(Clone, Debug)]
pub struct System {
    /// Its name in the report, usually the name of the file.
    pub name: String,
    /// Its lines.
    pub lines: Vec<String>,
}

/// Which pronouns are counted.
#[derive(Clone, Debug)]
pub struct PronounChoice {
    /// The language of the translation.
    pub language: PronounLanguage,
    /// If not empty, only lines whose source has one of these words.
    pub source_words: Vec<String>,
}

/// The inputs of a report.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// One or several systems; the first is the baseline of comparisons.
    pub systems: Vec<System>,
    /// The references.
    pub references: References,
    /// The source.
    pub sources: Option<Vec<String>>,
    /// The lines of each document.
    pub documents: Option<Documents>,
    /// The metrics in the order of the report.
    pub metrics: Vec<MetricChoice>,
    /// A test between the baseline and each other system.
    pub test: Option<PairedTest>,
    /// Bootstrap resamples and seed for a confidence interval of every score.
    pub confidence: Option<(usize, u64)>,
    /// Whether to count pronouns.
    pub pronouns: Option<PronounChoice>,
}

/// A score of one system.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemScore {
    /// The score.
    pub score: f64,
    /// More about it.
    pub details: Option<String>,
    /// Its confidence interval.
    pub interval: Option<Interval>,
    /// The comparison with the baseline.
    pub comparison: Option<Comparison>,
    /// Its p-value after Holm's correction for all comparisons of the report.
    pub holm: Option<f64>,
}

/// The scores of one metric.
#[derive(Clone, Debug)]
pub struct MetricResult {
    /// The name in JSON.
    pub key: &'static str,
    /// The name in tables.
    pub name: String,
    /// What the scores depend on.
    pub signature: Signature,
    /// Whether larger is better.
    pub higher_is_better: bool,
    /// The scores in the order of the systems.
    pub systems: Vec<SystemScore>,
    /// Per document the scores in the order of the systems.
    pub documents: Vec<Vec<f64>>,
    extra_decimals: usize,
}

/// The name and size of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentSize {
    /// The name.
    pub id: String,
    /// The number of lines.
    pub lines: usize,
}

/// All results.
#[derive(Clone, Debug)]
pub struct Report {
    /// The names of the systems.
    pub systems: Vec<String>,
    /// The number of lines.
    pub lines: usize,
    /// The hash of references and source.
    pub set: String,
    /// The results in the order of the request.
    pub metrics: Vec<MetricResult>,
    /// The documents.
    pub documents: Vec<DocumentSize>,
    /// The test that the comparisons were made with.
    pub test: Option<PairedTest>,
    /// The pronouns of every system.
    pub pronouns: Vec<PronounReport>,
}
