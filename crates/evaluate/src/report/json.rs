//! The report as JSON: one object, a key per metric, each with `score` and `signature`.
//!
//! The score of a metric is that of the first system; its `systems` has all systems, its
//! `documents` all documents. Numbers are not rounded.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{MetricResult, Report};
use crate::pronoun::{PronounReport, PronounRow};
use crate::significance::Interval;

#[derive(Serialize)]
struct MetricValue<'a> {
    name: &'a str,
    score: f64,
    signature: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a str>,
    higher_is_better: bool,
    tool: &'static str,
    set: &'a str,
    lines: usize,
    systems: Vec<SystemValue<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    documents: Vec<DocumentValue<'a>>,
}

#[derive(Serialize)]
struct SystemValue<'a> {
    system: &'a str,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holm: Option<f64>,
}

#[derive(Serialize)]
struct DocumentValue<'a> {
    id: &'a str,
    lines: usize,
    scores: &'a [f64],
}

#[derive(Serialize)]
struct PronounsValue<'a> {
    name: &'static str,
    score: f64,
    signature: String,
    higher_is_better: bool,
    tool: &'static str,
    set: &'a str,
    lines: usize,
    systems: Vec<PronounSystemValue<'a>>,
}

#[derive(Serialize)]
struct PronounSystemValue<'a> {
    system: &'a str,
    score: f64,
    precision: f64,
    recall: f64,
    genders: Vec<PronounRowValue<'a>>,
}

#[derive(Serialize)]
struct PronounRowValue<'a> {
    name: &'a str,
    precision: f64,
    recall: f64,
    hypothesis: usize,
    reference: usize,
    matched: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forms: Vec<PronounRowValue<'a>>,
}

const TOOL: &str = concat!("abridge ", env!("CARGO_PKG_VERSION"));

/// The object itself.
struct Metrics<'a>(&'a Report);

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(report) = self;
        let mut object = serializer.serialize_map(None)?;
        for metric in &report.metrics {
            object.serialize_entry(metric.key, &report.metric_value(metric))?;
        }
        if let Some(first) = report.pronouns.first() {
            object.serialize_entry("pronouns", &report.pronouns_value(first))?;
        }
        object.end()
    }
}

impl Report {
    /// As indented JSON with a final newline. Metrics are in the order of the request.
    pub fn to_json(&self) -> String {
        // Keys are strings and numbers are finite, so serialisation cannot fail.
        let mut text = serde_json::to_string_pretty(&Metrics(self)).unwrap_or_default();
        text.push('\n');
        text
    }

    fn metric_value<'a>(&'a self, metric: &'a MetricResult) -> MetricValue<'a> {
        let first = metric.systems.first();
        MetricValue {
            name: &metric.name,
            score: first.map_or(0.0, |first| first.score),
            signature: metric.signature.to_string(),
            details: first.and_then(|first| first.details.as_deref()),
            higher_is_better: metric.higher_is_better,
            tool: TOOL,
            set: crate::hash::short(&self.set),
            lines: self.lines,
            systems: self
                .systems
                .iter()
                .zip(&metric.systems)
                .map(|(system, score)| SystemValue {
                    system,
                    score: score.score,
                    details: score.details.as_deref(),
                    interval: score.interval,
                    difference: score.comparison.map(|comparison| comparison.difference),
                    p_value: score.comparison.map(|comparison| comparison.p_value),
                    holm: score.holm,
                })
                .collect(),
            documents: self
                .documents
                .iter()
                .zip(&metric.documents)
                .map(|(document, scores)| DocumentValue {
                    id: &document.id,
                    lines: document.lines,
                    scores,
                })
                .collect(),
        }
    }

    fn pronouns_value<'a>(&'a self, first: &'a PronounReport) -> PronounsValue<'a> {
        PronounsValue {
            name: "pronoun F1",
            score: first.total.f_score(),
            signature: first.signature.to_string(),
            higher_is_better: true,
            tool: TOOL,
            set: crate::hash::short(&self.set),
            lines: first.lines,
            systems: self
                .systems
                .iter()
                .zip(&self.pronouns)
                .map(|(system, report)| PronounSystemValue {
                    system,
                    score: report.total.f_score(),
                    precision: report.total.precision(),
                    recall: report.total.recall(),
                    genders: report.genders.iter().map(row_value).collect(),
                })
                .collect(),
        }
    }
}

fn row_value(row: &PronounRow) -> PronounRowValue<'_> {
    PronounRowValue {
        name: row.name,
        precision: row.counts.precision(),
        recall: row.counts.recall(),
        hypothesis: row.counts.hypothesis,
        reference: row.counts.reference,
        matched: row.counts.matched,
        forms: row.forms.iter().map(row_value).collect(),
    }
}
