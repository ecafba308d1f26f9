//! Our results and the paper's, over seeds.

use abridge_model::Preset;

use super::cell::{Cell, Outcome};
use super::paper;
use super::sweep::Variant;
use super::table::{Metric, Pair, Table};

/// A table with its results so far.
#[derive(Clone, Debug)]
pub struct Results {
    /// Which table.
    pub table: Table,
    /// The languages.
    pub pair: Pair,
    /// What was run: scale, data, seeds and other hardware-independent facts.
    pub notes: Vec<String>,
    /// The metrics of the columns.
    pub metrics: Vec<Metric>,
    /// Models and context sizes in the order of the paper.
    pub rows: Vec<Row>,
}

/// A model at a context size.
#[derive(Clone, Debug)]
pub struct Row {
    /// The model.
    pub preset: Preset,
    /// The context size.
    pub context: usize,
    /// The varied settings, such as `groups=9`; empty without a sweep.
    pub variant: String,
    /// One value per metric.
    pub values: Vec<Value>,
}

/// Our score and the paper's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Value {
    /// The mean over seeds.
    pub ours: Option<f64>,
    /// The sample standard deviation over seeds, if there are at least two.
    pub deviation: Option<f64>,
    /// The number of seeds.
    pub seeds: usize,
    /// The published figure.
    pub paper: Option<f64>,
}

impl Value {
    /// Ours minus the paper's.
    pub fn difference(&self) -> Option<f64> {
        Some(self.ours? - self.paper?)
    }
}

impl Results {
    /// Collects the outcomes of cells.
    pub fn new(
        table: Table,
        pair: Pair,
        grid: &[(Preset, usize)],
        variants: &[Variant],
        outcomes: &[(Cell, Option<Outcome>)],
        notes: Vec<String>,
    ) -> Self {
        let metrics = table.metrics();
        let places = grid.iter().flat_map(|&(preset, context)| {
            variants
                .iter()
                .enumerate()
                .map(move |(place, variant)| (preset, context, place, variant))
        });
        let rows = places.map(|(preset, context, place, variant)| {
            let is_own = |cell: &Cell| {
                cell.preset == preset && cell.context == context && cell.variant == place
            };
            let own = outcomes
                .iter()
                .filter(|(cell, _)| is_own(cell))
                .filter_map(|(_, outcome)| outcome.as_ref());
            let own: Vec<&Outcome> = own.collect();
            let values = metrics.iter().map(|metric| {
                let scores: Vec<f64> =
                    own.iter().filter_map(|o| o.scores.get(metric.key).copied()).collect();
                let (ours, deviation) = mean_and_deviation(&scores);
                // The paper's figures are only for the values that it chose.
                let paper = variant
                    .label
                    .is_empty()
                    .then(|| paper::figure(pair, preset, context, metric.key))
                    .flatten();
                Value { ours, deviation, seeds: scores.len(), paper }
            });
            let variant = variant.label.clone();
            Row { preset, context, values: values.collect(), variant }
        });
        let rows = rows.collect();
        Self { table, pair, notes, metrics, rows }
    }
}

fn mean_and_deviation(scores: &[f64]) -> (Option<f64>, Option<f64>) {
    if scores.is_empty() {
        return (None, None);
    }
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let deviation = (scores.len() > 1).then(|| {
        let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
        (squares / (scores.len() - 1) as f64).sqrt()
    });
    (Some(mean), deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_become_mean_and_deviation_beside_the_paper() {
        let (pair, preset) = (Pair::EnDe, Preset::Grouping);
        let cell = |seed| Cell { pair, preset, context: 1, seed, variant: 0 };
        let outcome = |bleu: f64| {
            Some(Outcome { scores: [("bleu".to_owned(), bleu)].into(), ..Outcome::default() })
        };
        let grid = [(Preset::Grouping, 1), (Preset::Grouping, 2)];
        let outcomes = [(cell(1), outcome(27.0)), (cell(2), outcome(29.0)), (cell(3), None)];
        let results = Results::new(
            Table::EnDe,
            Pair::EnDe,
            &grid,
            &[Variant::default()],
            &outcomes,
            Vec::new(),
        );
        let bleu = results.rows[0].values[0];
        assert_eq!((bleu.ours, bleu.seeds, bleu.paper), (Some(28.0), 2, Some(28.21)));
        assert!((bleu.deviation.unwrap() - 2f64.sqrt()).abs() < 1e-12);
        assert!((bleu.difference().unwrap() + 0.21).abs() < 1e-9);
        assert_eq!(results.rows[1].values[0].ours, None);
    }
}
