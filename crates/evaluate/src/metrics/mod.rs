//! Text metrics by name. A new one needs a file in this folder and a line in [`METRICS`].

mod bleu;
mod chrf;
mod derived;
#[cfg(test)]
mod exact_match;
mod ter;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use bleu::{Bleu, BleuScore, Smoothing};
pub use chrf::ChrF;
pub use derived::{DocumentBleu, LengthRatio};
pub use ter::Ter;

use crate::metric::TextMetric;

/// Every metric, in the order of reports.
pub const METRICS: &[NamedMetric] = &[
    metric("bleu", |settings| Arc::new(settings.bleu.clone())),
    metric("chrf", |settings| Arc::new(settings.chrf.clone())),
    metric("chrf++", |settings| Arc::new(settings.chrf_plus_plus())),
    metric("ter", |settings| Arc::new(settings.ter.clone())),
    metric("d-bleu", |settings| Arc::new(DocumentBleu { bleu: settings.bleu.clone() })),
    metric("length-ratio", |settings| Arc::new(LengthRatio { bleu: settings.bleu.clone() })),
    #[cfg(test)]
    metric("exact-match", |_| Arc::new(exact_match::ExactMatch)),
];

/// A metric by its name on the command line and in JSON.
#[derive(Clone, Copy, Debug)]
pub struct NamedMetric {
    /// The name.
    pub name: &'static str,
    make: fn(&MetricSettings) -> Arc<dyn TextMetric>,
}

const fn metric(
    name: &'static str,
    make: fn(&MetricSettings) -> Arc<dyn TextMetric>,
) -> NamedMetric {
    NamedMetric { name, make }
}

impl NamedMetric {
    /// The metric with this name.
    pub fn find(name: &str) -> Option<Self> {
        METRICS.iter().copied().find(|metric| metric.name == name)
    }

    /// The metric with its settings.
    pub fn with(self, settings: &MetricSettings) -> Arc<dyn TextMetric> {
        (self.make)(settings)
    }
}

/// The settings of the metrics that have some.
#[derive(Clone, Debug)]
pub struct MetricSettings {
    /// Of BLEU, document BLEU and the length ratio.
    pub bleu: Bleu,
    /// Of chrF.
    pub chrf: ChrF,
    /// The longest word n-grams of chrF++.
    pub chrf_word_order: usize,
    /// Of TER.
    pub ter: Ter,
}

impl MetricSettings {
    fn chrf_plus_plus(&self) -> ChrF {
        ChrF { word_order: self.chrf_word_order, ..self.chrf.clone() }
    }
}

impl Default for MetricSettings {
    fn default() -> Self {
        Self {
            bleu: Bleu::default(),
            chrf: ChrF::default(),
            chrf_word_order: ChrF::plus_plus().word_order,
            ter: Ter::default(),
        }
    }
}
