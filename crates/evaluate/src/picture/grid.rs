//! A grid of weights: rows against columns, shaded.

use std::fmt::Write;

use super::{Anchor, SHADE, Svg, Text, text_width};

/// Weights between 0 and 1, with the names of their rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// What is shown.
    pub title: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One list per row with one weight per column.
    pub weights: Vec<Vec<f32>>,
    /// Columns before which a line is drawn: where a new sentence begins.
    pub breaks: Vec<usize>,
}

const SIZE: f64 = 12.0;
const CELL: f64 = 18.0;
const WIDE_CELL: f64 = 24.0;
/// Shades for a terminal without colours, from 0 to 1.
const BLOCKS: [&str; 5] = ["··", "░░", "▒▒", "▓▓", "██"];

/// From a dark to a bright blue, in the 256 colours that every terminal has.
const RAMP: [u8; 6] = [17, 18, 19, 26, 33, 45];

impl Grid {
    /// Draws it.
    pub fn draw(&self) -> Svg {
        let longest =
            |names: &[String]| names.iter().map(|name| text_width(name, SIZE)).fold(0.0, f64::max);
        // Short names are upright above wide cells; long ones are slanted above narrow ones.
        let lean = longest(&self.columns) > WIDE_CELL;
        let cell = if lean { CELL } else { WIDE_CELL };
        let left = longest(&self.rows) + 10.0;
        let head = if lean { longest(&self.columns) * 0.82 + 14.0 } else { 18.0 };
        let title = if self.title.is_empty() { 0.0 } else { 24.0 };
        let top = title + head;
        let grid = cell * self.columns.len() as f64;
        let overhang = if lean { longest(&self.columns) * 0.6 } else { 8.0 };
        let width = (left + grid + overhang).max(text_width(&self.title, 13.0) + 8.0);
        let height = top + CELL * self.rows.len() as f64 + 6.0;
        let mut svg = Svg::new(width, height);
        svg.text(0.0, 15.0, &self.title, &Text::sized(13.0));
        for (column, name) in self.columns.iter().enumerate() {
            let x = left + cell * (column as f64 + 0.5);
            if lean {
                svg.text(x, top - 4.0, name, &Text::sized(SIZE).turned(-55.0));
            } else {
                svg.text(x, top - 5.0, name, &Text::sized(SIZE).anchored(Anchor::Middle));
            }
        }
        for (row, (name, weights)) in self.rows.iter().zip(&self.weights).enumerate() {
            let y = top + CELL * row as f64;
            svg.text(left - 6.0, y + 13.0, name, &Text::sized(SIZE).anchored(Anchor::End));
            for (column, &weight) in weights.iter().enumerate() {
                let place = [left + cell * column as f64 + 1.0, y + 1.0, cell - 2.0, CELL - 2.0];
                svg.rect(place, "currentColor", 0.06);
                if weight > 0.0 {
                    svg.rect(place, SHADE, f64::from(weight.min(1.0)));
                }
            }
        }
        for &column in &self.breaks {
            let x = left + cell * column as f64;
            svg.line([x, top - 2.0, x, height - 4.0], 0.5);
        }
        svg
    }

    /// The grid as lines of text: coloured blocks, or blocks of different densities.
    pub fn to_terminal(&self, colours: bool) -> String {
        let left = self.rows.iter().map(|name| columns_of(name)).max().unwrap_or(0);
        let mut text = String::new();
        let _ = write!(text, "{:left$} ", "");
        for name in &self.columns {
            let _ = write!(text, "{name:>2} ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        for (name, weights) in self.rows.iter().zip(&self.weights) {
            let pad = left - columns_of(name);
            let _ = write!(text, "{name}{:pad$} ", "");
            for &weight in weights {
                text.push_str(&block(weight, colours));
                text.push(' ');
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }
}

fn block(weight: f32, colours: bool) -> String {
    let weight = weight.clamp(0.0, 1.0);
    if !colours {
        // Everything above zero is visible.
        return BLOCKS[(weight * 4.0).ceil() as usize].to_owned();
    }
    if weight == 0.0 {
        return "\u{1b}[2m··\u{1b}[0m".to_owned();
    }
    let step = ((weight * RAMP.len() as f32).ceil() as usize).clamp(1, RAMP.len()) - 1;
    format!("\u{1b}[48;5;{}m  \u{1b}[0m", RAMP[step])
}

/// The width of a word in terminal columns: wide scripts take two per letter.
fn columns_of(word: &str) -> usize {
    word.chars()
        .map(|c| match c as u32 {
            0x0300..=0x036f | 0x200b..=0x200f => 0,
            0x1100..=0x115f
            | 0x2e80..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0x1f300..=0x1faff
            | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid {
            title: "a <title>".into(),
            rows: vec!["the".into(), "猫".into()],
            columns: vec!["1".into(), "2".into()],
            weights: vec![vec![0.0, 1.0], vec![0.4, 0.6]],
            breaks: vec![1],
        }
    }

    #[test]
    fn a_terminal_without_colours_shows_densities_in_columns() {
        assert_eq!(grid().to_terminal(false), "     1  2\nthe ·· ██\n猫  ▒▒ ▓▓\n");
    }

    #[test]
    fn a_terminal_with_colours_shows_blocks() {
        let text = grid().to_terminal(true);
        assert!(text.contains("\u{1b}[48;5;45m  \u{1b}[0m"), "{text:?}");
        assert_eq!(text.matches("[48;5;").count(), 3);
    }

    #[test]
    fn shades_are_the_weights() {
        let drawn = grid().draw().standalone("grid");
        for opacity in ["1.000", "0.400", "0.600"] {
            let shade = format!("fill=\"{SHADE}\" fill-opacity=\"{opacity}\"");
            assert_eq!(drawn.matches(&shade).count(), 1, "{opacity}");
        }
        assert!(drawn.contains("a &lt;title&gt;"));
    }
}
