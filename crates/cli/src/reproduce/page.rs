//! Results as a page with the paper's plots.

use abridge_evaluate::picture::{LineChart, Series, Svg, html_table, page};
use abridge_model::Preset;
use maud::{PreEscaped, html};

use super::results::{Results, Row, Value};
use super::table::{TRAINING, Table};

impl Results {
    /// A page that opens from disk.
    pub fn to_page(&self) -> String {
        let body = html! {
            p {
                "Ours beside the figures of " i { "Sequence Shortening for Context-Aware Machine \
                Translation" } " (Findings of EACL 2024), which come from one run with one seed."
            }
            ul { @for note in &self.notes { li { (note) } } }
            @for chart in self.charts() {
                figure { (PreEscaped(chart.draw().inline(&chart.title))) }
            }
            (html_table(1, &self.header(), &self.cells()))
        };
        page(self.table.title(), body, None)
    }

    /// All plots below each other, for a text that is not a page; none for a table without plots.
    pub fn to_svg(&self) -> Option<String> {
        let charts: Vec<Svg> = self.charts().iter().map(LineChart::draw).collect();
        let stacked = (!charts.is_empty()).then(|| Svg::stacked(&charts, 24.0));
        stacked.map(|picture| picture.standalone(self.table.title()))
    }

    fn charts(&self) -> Vec<LineChart> {
        match self.table {
            Table::Parameters => Vec::new(),
            Table::AntecedentDistance => vec![self.by_distance()],
            _ => {
                let is_drawn = |metric: &usize| !TRAINING.contains(&self.metrics[*metric]);
                let drawn = (0..self.metrics.len()).filter(is_drawn);
                drawn.map(|metric| self.over_context(metric)).collect()
            }
        }
    }

    /// A metric over context sizes: ours in full lines, the paper's dashed.
    fn over_context(&self, metric: usize) -> LineChart {
        let name = self.metrics[metric].name;
        let has_paper = self.rows.iter().any(|row| row.values[metric].paper.is_some());
        let published = if has_paper { "; the paper's is dashed" } else { "" };
        LineChart {
            title: format!("{name} over context size{published}"),
            x: "context size".into(),
            y: name.into(),
            series: self.series(|row| vec![(row.context as f64, row.values[metric])]),
            from_zero: self.table == Table::Memory,
        }
    }

    /// Accuracy by antecedent distance, at the largest context size that each model has.
    fn by_distance(&self) -> LineChart {
        let largest = |preset: Preset| {
            let known = self.rows.iter().filter(|row| row.preset == preset);
            known.filter(|row| row.values.iter().any(|v| v.ours.is_some())).map(|r| r.context).max()
        };
        LineChart {
            title: "accuracy by antecedent distance, at the largest context size; the paper's is \
                    dashed"
                .into(),
            x: "sentences between pronoun and noun (4: more than 3)".into(),
            y: "accuracy %".into(),
            series: self.series(|row| {
                if largest(row.preset) != Some(row.context) {
                    return Vec::new();
                }
                row.values.iter().enumerate().map(|(place, v)| (place as f64, *v)).collect()
            }),
            from_zero: false,
        }
    }

    fn series(&self, points: impl Fn(&Row) -> Vec<(f64, Value)>) -> Vec<Series> {
        let mut all = Vec::new();
        for (colour, preset) in Preset::ALL.into_iter().enumerate() {
            let own = self.rows.iter().filter(|row| row.preset == preset);
            let points: Vec<(f64, Value)> = own.flat_map(&points).collect();
            let of = |value: fn(&Value) -> Option<f64>| -> Vec<(f64, f64)> {
                points.iter().filter_map(|(x, v)| Some((*x, value(v)?))).collect()
            };
            let ours = of(|value| value.ours);
            // A published curve without one of ours would be the paper's plot, not a comparison.
            if ours.is_empty() {
                continue;
            }
            let paper = of(|value| value.paper);
            all.push(Series { name: preset.name().into(), points: ours, dashed: false, colour });
            if !paper.is_empty() {
                let name = format!("{preset}, paper");
                all.push(Series { name, points: paper, dashed: true, colour });
            }
        }
        all
    }
}
