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
                "Our results and those of " i { "Sequence Shortening for Context-Aware Machine \
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

    /// All plots, stacked, for use outside the page; `None` for a table without plots.
    pub fn to_svg(&self) -> Option<String> {
        let charts: Vec<Svg> = self.charts().iter().map(LineChart::draw).collect();
        let stacked = (!charts.is_empty()).then(|| Svg::stacked(&charts, 24.0));
        stacked.map(|picture| picture.standalone(self.table.title()))
    }

    fn charts(&self) -> Vec<LineChart> {
        match self.table {
            // The rows of a sweep do not form curves over context sizes.
            _ if self.is_varied() => Vec::new(),
            Table::Parameters => Vec::new(),
            Table::AntecedentDistance => vec![self.by_distance()],
            _ => {
                let is_drawn = |metric: &usize| !TRAINING.contains(&self.metrics[*metric]);
                let drawn = (0..self.metrics.len()).filter(is_drawn);
                drawn.flat_map(|metric| self.over_context(metric)).collect()
            }
        }
    }

    /// A metric over context sizes: ours in solid lines, the paper's dashed. If the two are so far
    /// apart that differences between models would not be visible, each gets its own plot.
    fn over_context(&self, metric: usize) -> Vec<LineChart> {
        let name = self.metrics[metric].name;
        let chart = |title: &str, series: Vec<Series>| LineChart {
            title: format!("{name} over context size{title}"),
            x: "context size".into(),
            y: name.into(),
            series,
            from_zero: self.table == Table::Memory,
        };
        let series = self.series(|row| vec![(row.context as f64, row.values[metric])]);
        let (paper, ours): (Vec<Series>, Vec<Series>) =
            series.iter().cloned().partition(|series| series.dashed);
        if paper.is_empty() {
            vec![chart("", ours)]
        } else if are_apart(&ours, &paper) {
            vec![chart(", measured here", ours), chart(", in the paper", paper)]
        } else {
            vec![chart("; the paper's is dashed", series)]
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
            // A published curve without one of ours is not a comparison.
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

/// Whether the value ranges of the two kinds of curves do not overlap.
fn are_apart(ours: &[Series], paper: &[Series]) -> bool {
    let range = |series: &[Series]| {
        let values = series.iter().flat_map(|series| &series.points).map(|(_, y)| *y);
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        values.fold(start, |(low, high), y| (low.min(y), high.max(y)))
    };
    let ((our_low, our_high), (low, high)) = (range(ours), range(paper));
    our_high < low || high < our_low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_curves_share_a_plot() {
        let series =
            |points: &[(f64, f64)]| vec![Series { points: points.to_vec(), ..Series::default() }];
        let paper = series(&[(0.0, 28.1), (1.0, 28.3)]);
        assert!(are_apart(&series(&[(0.0, 12.5), (1.0, 13.0)]), &paper));
        assert!(are_apart(&series(&[(0.0, 28.4)]), &paper));
        assert!(!are_apart(&series(&[(0.0, 28.0), (1.0, 28.2)]), &paper));
        assert!(!are_apart(&series(&[(0.0, 28.2)]), &paper));
    }
}
