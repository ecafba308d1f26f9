//! Line charts: learning curves, scores over context sizes, memory.

use super::{Anchor, COLOURS, Svg, Text, text_width};

/// Several curves in one picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// What is shown.
    pub title: String,
    /// The label of the horizontal axis.
    pub x: String,
    /// The label of the vertical axis.
    pub y: String,
    /// The curves.
    pub series: Vec<Series>,
    /// Whether the vertical axis begins at zero.
    pub from_zero: bool,
}

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Whether it is dashed, with rings for dots: published values, as opposed to measured ones.
    pub dashed: bool,
    /// The index of its colour; series of the same kind share one.
    pub colour: usize,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 38.0;
const BOTTOM: f64 = 44.0;
const SIZE: f64 = 12.0;
/// Curves with more points than this are drawn without dots.
const DOTTED: usize = 40;

impl LineChart {
    /// Draws it.
    pub fn draw(&self) -> Svg {
        let legend = legend_rows(&self.series);
        let height = HEIGHT + 20.0 * legend.len() as f64;
        let mut svg = Svg::new(WIDTH, height);
        svg.text(0.0, 16.0, &self.title, &Text::sized(14.0));
        let points = || self.series.iter().flat_map(|series| &series.points);
        let finite = || points().filter(|(x, y)| x.is_finite() && y.is_finite());
        if finite().next().is_none() {
            svg.text(LEFT, HEIGHT / 2.0, "nothing to show yet", &Text::sized(13.0).faint());
            return svg;
        }
        let range = |value: fn(&(f64, f64)) -> f64| {
            let start = (f64::INFINITY, f64::NEG_INFINITY);
            finite().map(value).fold(start, |(low, high), v| (low.min(v), high.max(v)))
        };
        let (x_low, x_high) = widened(range(|p| p.0));
        let (mut y_low, y_high) = widened(range(|p| p.1));
        if self.from_zero {
            y_low = y_low.min(0.0);
        }
        let (y_ticks, mut x_ticks) = (ticks(y_low, y_high, 5), ticks(x_low, x_high, 8));
        // Sentences, tokens and updates are integers.
        if finite().all(|(x, _)| x.fract() == 0.0) {
            x_ticks.retain(|tick| tick.fract() == 0.0);
        }
        let y_low = y_low.min(y_ticks[0]);
        let y_high = y_high.max(y_ticks[y_ticks.len() - 1]);
        let x_of = |x: f64| LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT);
        let bottom = HEIGHT - BOTTOM;
        let y_of = |y: f64| bottom - (y - y_low) / (y_high - y_low) * (bottom - TOP);
        for &tick in &y_ticks {
            let y = y_of(tick);
            svg.line([LEFT, y, WIDTH - RIGHT, y], 0.15);
            let style = Text::sized(SIZE).anchored(Anchor::End).faint();
            svg.text(LEFT - 6.0, y + 4.0, &short(tick), &style);
        }
        for &tick in x_ticks.iter().filter(|tick| (x_low..=x_high).contains(*tick)) {
            let style = Text::sized(SIZE).anchored(Anchor::Middle).faint();
            svg.text(x_of(tick), bottom + 17.0, &short(tick), &style);
        }
        svg.line([LEFT, bottom, WIDTH - RIGHT, bottom], 0.6);
        let middle = Text::sized(SIZE).anchored(Anchor::Middle);
        svg.text(f64::midpoint(LEFT, WIDTH - RIGHT), bottom + 36.0, &self.x, &middle);
        svg.text(14.0, f64::midpoint(TOP, bottom), &self.y, &middle.turned(-90.0));
        for series in &self.series {
            let colour = COLOURS[series.colour % COLOURS.len()];
            let shown = || series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
            let places: Vec<(f64, f64)> = shown().map(|&(x, y)| (x_of(x), y_of(y))).collect();
            svg.curve(&places, colour, series.dashed);
            if places.len() <= DOTTED {
                for (&place, (x, y)) in places.iter().zip(shown()) {
                    let title = format!("{}: {} at {}", series.name, short(*y), short(*x));
                    svg.dot(place, colour, series.dashed, &title);
                }
            }
        }
        draw_legend(&mut svg, &self.series, &legend, HEIGHT + 8.0);
        svg
    }
}

/// The series in each row of the legend.
fn legend_rows(series: &[Series]) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut filled = f64::INFINITY;
    for (index, one) in series.iter().enumerate() {
        let width = text_width(&one.name, SIZE) + 44.0;
        match rows.last_mut() {
            Some(row) if filled + width <= WIDTH - LEFT => {
                row.push(index);
                filled += width;
            }
            _ => {
                rows.push(vec![index]);
                filled = width;
            }
        }
    }
    rows
}

fn draw_legend(svg: &mut Svg, series: &[Series], rows: &[Vec<usize>], top: f64) {
    for (row, members) in rows.iter().enumerate() {
        let y = top + 20.0 * row as f64;
        let mut x = LEFT;
        for &member in members {
            let one = &series[member];
            let colour = COLOURS[one.colour % COLOURS.len()];
            svg.curve(&[(x, y - 4.0), (x + 22.0, y - 4.0)], colour, one.dashed);
            if one.points.len() <= DOTTED {
                svg.dot((x + 11.0, y - 4.0), colour, one.dashed, &one.name);
            }
            svg.text(x + 28.0, y, &one.name, &Text::sized(SIZE));
            x += text_width(&one.name, SIZE) + 44.0;
        }
    }
}

/// A range with some margin, even if all values are equal.
fn widened((low, high): (f64, f64)) -> (f64, f64) {
    if high > low { (low, high) } else { (low - 0.5, high + 0.5) }
}

/// About `count` round numbers that cover a range.
pub(super) fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter();
    let step = step.clone().find(|step| *step >= rough).unwrap_or(10.0 * power);
    let first = (low / step + 1e-9).floor();
    let last = (high / step - 1e-9).ceil();
    (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect()
}

/// A number with as many decimals as it needs.
pub(super) fn short(value: f64) -> String {
    let text = if value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        assert_eq!(
            ticks(0.0, 1.0, 5).iter().map(|t| short(*t)).collect::<Vec<_>>().join(" "),
            "0 0.2 0.4 0.6 0.8 1"
        );
        let ticks = ticks(27.3, 28.9, 5);
        assert!(ticks[0] <= 27.3 && ticks[ticks.len() - 1] >= 28.9);
    }

    #[test]
    fn curves_keep_their_order_and_an_empty_chart_says_so() {
        let series = |name: &str, y: f64| Series {
            name: name.into(),
            points: vec![(1.0, y), (2.0, y)],
            ..Series::default()
        };
        let chart = LineChart {
            title: "BLEU".into(),
            series: vec![series("low", 1.0), series("high", 2.0)],
            ..LineChart::default()
        };
        let drawn = chart.draw().standalone("chart");
        let heights: Vec<f64> = drawn
            .split("cy=\"")
            .skip(1)
            .filter_map(|part| part.split('"').next()?.parse().ok())
            .collect();
        assert!(heights[0] > heights[2], "higher values are drawn higher: {heights:?}");
        let empty = LineChart::default().draw().standalone("chart");
        assert!(empty.contains("nothing to show yet"));
    }
}
