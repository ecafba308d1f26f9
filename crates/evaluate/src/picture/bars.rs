//! Grouped bar charts: shares of several systems by class.

use super::chart::{short, ticks};
use super::{Anchor, COLOURS, Svg, Text, text_width};

/// Groups of bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// What is shown.
    pub title: String,
    /// Names of the groups, along the horizontal axis.
    pub groups: Vec<String>,
    /// Systems: a name, and one optional value per group.
    pub systems: Vec<(String, Vec<Option<f64>>)>,
    /// The unit after a value.
    pub unit: String,
    /// A value marked by a line, with its name, such as chance.
    pub mark: Option<(f64, String)>,
}

const WIDTH: f64 = 640.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 270.0;
const SIZE: f64 = 12.0;

impl BarChart {
    /// Draws it.
    pub fn draw(&self) -> Svg {
        let mut svg = Svg::new(WIDTH, BOTTOM + 56.0);
        svg.text(0.0, 16.0, &self.title, &Text::sized(14.0));
        let values = self.systems.iter().flat_map(|(_, values)| values.iter().flatten());
        let highest = values.copied().fold(0.0, f64::max).max(1e-9);
        let ticks = ticks(0.0, highest, 5);
        let top_value = ticks[ticks.len() - 1];
        let y_of = |value: f64| BOTTOM - value / top_value * (BOTTOM - TOP);
        for &tick in &ticks {
            let y = y_of(tick);
            svg.line([LEFT, y, WIDTH, y], 0.15);
            let style = Text::sized(SIZE).anchored(Anchor::End).faint();
            svg.text(LEFT - 6.0, y + 4.0, &format!("{}{}", short(tick), self.unit), &style);
        }
        let slot = (WIDTH - LEFT) / self.groups.len().max(1) as f64;
        let bar = (slot * 0.8 / self.systems.len().max(1) as f64).min(60.0);
        let middle = Text::sized(SIZE).anchored(Anchor::Middle);
        for (group, name) in self.groups.iter().enumerate() {
            let centre = LEFT + slot * (group as f64 + 0.5);
            svg.text(centre, BOTTOM + 17.0, name, &middle);
            let first = centre - bar * self.systems.len() as f64 / 2.0;
            for (system, (_, values)) in self.systems.iter().enumerate() {
                let Some(value) = values.get(group).copied().flatten() else { continue };
                let (x, y) = (first + bar * system as f64, y_of(value));
                svg.rect([x + 1.0, y, bar - 2.0, BOTTOM - y], colour(system), 1.0);
                svg.text(x + bar / 2.0, y - 4.0, &format!("{value:.0}"), &middle);
            }
        }
        if let Some((value, name)) = &self.mark {
            let y = y_of(*value);
            svg.line([LEFT, y, WIDTH, y], 0.7);
            svg.line([WIDTH - 110.0, BOTTOM + 40.0, WIDTH - 80.0, BOTTOM + 40.0], 0.7);
            svg.text(WIDTH - 74.0, BOTTOM + 44.0, name, &Text::sized(SIZE));
        }
        svg.line([LEFT, BOTTOM, WIDTH, BOTTOM], 0.6);
        let mut x = LEFT;
        for (system, (name, _)) in self.systems.iter().enumerate() {
            svg.rect([x, BOTTOM + 34.0, 12.0, 12.0], colour(system), 1.0);
            svg.text(x + 18.0, BOTTOM + 44.0, name, &Text::sized(SIZE));
            x += text_width(name, SIZE) + 40.0;
        }
        svg
    }
}

/// The first system is the baseline: grey.
fn colour(system: usize) -> &'static str {
    if system == 0 { "#94a3b8" } else { COLOURS[system - 1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_has_no_bar() {
        let chart = BarChart {
            groups: vec!["0".into(), "1".into()],
            systems: vec![
                ("a".into(), vec![Some(50.0), None]),
                ("b".into(), vec![Some(25.0), Some(100.0)]),
            ],
            ..BarChart::default()
        };
        let drawn = chart.draw().standalone("bars");
        // Three bars and two squares of the legend.
        assert_eq!(drawn.matches("fill-opacity=\"1.000\"").count(), 5);
    }
}
