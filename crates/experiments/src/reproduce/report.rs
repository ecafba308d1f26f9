//! Results as Markdown and CSV.

use std::fmt::Write;

use super::results::{Results, Row, Value};
use super::table::Metric;

/// Shown for missing values.
pub const MISSING: &str = "-";

impl Results {
    /// The headings of the table.
    pub fn header(&self) -> Vec<String> {
        let mut header = vec!["model".to_owned(), "context".to_owned()];
        if self.is_varied() {
            header.push("varied".to_owned());
        }
        for metric in &self.metrics {
            header.push(metric.name.to_owned());
            if self.has_paper(metric) {
                header.extend(["paper".to_owned(), "difference".to_owned()]);
            }
        }
        header
    }

    /// The cells of the table.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let cells = |row: &Row| {
            let mut cells = vec![row.preset.paper_name().to_owned(), row.context.to_string()];
            if self.is_varied() {
                cells.push(row.variant.clone());
            }
            for (metric, value) in self.metrics.iter().zip(&row.values) {
                cells.push(ours(value, metric.decimals));
                if self.has_paper(metric) {
                    cells.push(number(value.paper, metric.decimals));
                    cells.push(signed(value.difference(), metric.decimals));
                }
            }
            cells
        };
        self.rows.iter().map(cells).collect()
    }

    /// Whether the rows are those of a sweep.
    pub fn is_varied(&self) -> bool {
        self.rows.iter().any(|row| !row.variant.is_empty())
    }

    fn has_paper(&self, metric: &Metric) -> bool {
        let column = self.metrics.iter().position(|other| other == metric).unwrap_or(0);
        self.rows.iter().any(|row| row.values[column].paper.is_some())
    }

    /// A Markdown page.
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n", self.table.title());
        for note in &self.notes {
            let _ = writeln!(text, "- {note}");
        }
        let header = self.header();
        let _ = writeln!(text, "\n| {} |", header.join(" | "));
        let rule: Vec<&str> =
            (0..header.len()).map(|column| if column == 0 { "---" } else { "---:" }).collect();
        let _ = writeln!(text, "| {} |", rule.join(" | "));
        for row in self.cells() {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text
    }

    /// One line per model, context size and metric.
    pub fn to_csv(&self) -> String {
        let mut text =
            "pair,model,context,varied,metric,ours,deviation,seeds,paper,difference\n".to_owned();
        for row in &self.rows {
            for (metric, value) in self.metrics.iter().zip(&row.values) {
                let field = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
                let _ = writeln!(
                    text,
                    "{},{},{},\"{}\",{},{},{},{},{},{}",
                    self.pair.name(),
                    row.preset,
                    row.context,
                    row.variant.replace('"', "\"\""),
                    metric.key,
                    field(value.ours),
                    field(value.deviation),
                    value.seeds,
                    field(value.paper),
                    field(value.difference())
                );
            }
        }
        text
    }
}

fn ours(value: &Value, decimals: usize) -> String {
    match (value.ours, value.deviation) {
        (Some(mean), Some(deviation)) => format!("{mean:.decimals$} ± {deviation:.decimals$}"),
        (mean, _) => number(mean, decimals),
    }
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:.decimals$}"))
}

fn signed(value: Option<f64>, decimals: usize) -> String {
    let text = value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:+.decimals$}"));
    // A value that rounds to zero gets no sign.
    let is_zero = text.len() > 1 && text[1..].chars().all(|c| c == '0' || c == '.');
    if is_zero { text[1..].to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use abridge_model::Preset;

    use super::*;
    use crate::reproduce::cell::{Cell, Outcome};
    use crate::reproduce::sweep::Variant;
    use crate::reproduce::table::{Pair, Table};

    #[test]
    fn tables_show_ours_and_the_papers() {
        let (pair, preset) = (Pair::EnDe, Preset::Grouping);
        let cell = Cell { pair, preset, context: 1, seed: 1, variant: 0 };
        let scores = [("bleu", 27.5), ("accuracy", 60.0), ("validation loss", 5.1)];
        let scores = scores.map(|(key, score)| (key.to_owned(), score)).into();
        let outcome = Outcome { scores, ..Outcome::default() };
        let grid = [(Preset::Grouping, 1), (Preset::Selecting, 1)];
        let notes = vec!["scale tiny".to_owned()];
        let outcomes = [(cell, Some(outcome))];
        let plain = [Variant::default()];
        let results = Results::new(Table::EnDe, Pair::EnDe, &grid, &plain, &outcomes, notes);
        let markdown = results.to_markdown();
        let row = "| Shortening - Grouping | 1 | 27.50 | 28.21 | -0.71 | 60.00 | 56.98 | +3.02 | - \
                   | - | 5.100 | - |";
        assert!(markdown.contains(row), "{markdown}");
        assert!(markdown.contains("| Shortening - Selecting | 1 | - | 28.15 | - |"), "{markdown}");
        let csv = results.to_csv();
        assert_eq!([signed(Some(-1e-9), 2), signed(Some(0.01), 2)], ["0.00", "+0.01"]);
        assert!(csv.contains("en-de,selecting,1,\"\",bleu,,,0,28.15,"), "{csv}");
    }
}
