//! All metrics of one or several systems in one report, and the forms in which it is shown.

mod json;
mod run;
mod sections;
mod table;

use crate::bleu::Bleu;
use crate::chrf::ChrF;
use crate::comet::CometMetric;
use crate::derived::{DocumentBleu, LengthRatio};
use crate::documents::Documents;
use crate::metric::{Metric, TextMetric};
use crate::pronoun::{PronounLanguage, PronounReport};
use crate::references::References;
use crate::signature::Signature;
use crate::significance::{Comparison, Interval, PairedTest};
use crate::ter::Ter;

/// A metric of a report with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricChoice {
    /// `bleu`
    Bleu(Bleu),
    /// `chrf`, or `chrf++` if words count
    ChrF(ChrF),
    /// `ter`
    Ter(Ter),
    /// `d-bleu`; needs documents
    DocumentBleu(DocumentBleu),
    /// `length-ratio`
    LengthRatio(LengthRatio),
    /// `comet`, or `doc-comet` with context; the scores of the lines are computed beforehand
    Comet(CometMetric),
}

impl MetricChoice {
    /// The name on the command line and in JSON.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Bleu(_) => "bleu",
            Self::ChrF(chrf) if chrf.word_order > 0 => "chrf++",
            Self::ChrF(_) => "chrf",
            Self::Ter(_) => "ter",
            Self::DocumentBleu(_) => "d-bleu",
            Self::LengthRatio(_) => "length-ratio",
            Self::Comet(comet) if comet.context > 0 => "doc-comet",
            Self::Comet(_) => "comet",
        }
    }

    fn metric(&self) -> &dyn Metric {
        match self {
            Self::Bleu(metric) => metric,
            Self::ChrF(metric) => metric,
            Self::Ter(metric) => metric,
            Self::DocumentBleu(metric) => metric,
            Self::LengthRatio(metric) => metric,
            Self::Comet(metric) => metric,
        }
    }

    /// The metric as one that reads the texts, if it is.
    fn text_metric(&self) -> Option<&dyn TextMetric> {
        match self {
            Self::Bleu(metric) => Some(metric),
            Self::ChrF(metric) => Some(metric),
            Self::Ter(metric) => Some(metric),
            Self::DocumentBleu(metric) => Some(metric),
            Self::LengthRatio(metric) => Some(metric),
            Self::Comet(_) => None,
        }
    }

    /// A ratio near 1 needs more decimals than a score up to 100.
    fn extra_decimals(&self) -> usize {
        match self {
            Self::LengthRatio(_) => 2,
            Self::Comet(_) => 3,
            _ => 0,
        }
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

/// What a report is about.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// One or several systems; the first is the baseline of comparisons.
    pub systems: Vec<System>,
    /// The references.
    pub references: References,
    /// The source.
    pub sources: Option<Vec<String>>,
    /// Which lines make a document.
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

/// Everything that was found.
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
