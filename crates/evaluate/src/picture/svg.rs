//! A small SVG writer.

use std::fmt::Write;

/// A picture under construction.
#[derive(Clone, Debug)]
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Which point of a text is at its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// The left end.
    #[default]
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// The height of a line.
    pub size: f64,
    /// Which point is at its position.
    pub anchor: Anchor,
    /// The rotation around that position, in degrees.
    pub turned: f64,
    /// The opacity, from 0 to 1.
    pub strength: f64,
}

impl Text {
    /// Plain text of a size.
    pub fn sized(size: f64) -> Self {
        Self { size, anchor: Anchor::Start, turned: 0.0, strength: 1.0 }
    }

    /// The same with another anchor.
    #[must_use]
    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same, rotated around its position.
    #[must_use]
    pub fn turned(self, turned: f64) -> Self {
        Self { turned, ..self }
    }

    /// The same, fainter.
    #[must_use]
    pub fn faint(self) -> Self {
        Self { strength: 0.65, ..self }
    }
}

/// The approximate width of a text, for layout.
pub fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | '\'' | ':' | ';' | '|' | '!' | ' ' => 0.36,
        'm' | 'w' | 'M' | 'W' => 0.95,
        c if c.is_uppercase() => 0.72,
        _ => 0.62,
    };
    size * text.chars().map(width).sum::<f64>()
}

impl Svg {
    /// An empty picture.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// The height.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// The width.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// A filled rectangle.
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], fill: &str, opacity: f64) {
        self.write(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{fill}\" fill-opacity=\"{opacity:.3}\"/>"
        ));
    }

    /// A straight line in the colour of text.
    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], opacity: f64) {
        self.write(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
             stroke=\"currentColor\" stroke-opacity=\"{opacity}\"/>"
        ));
    }

    /// A curve through points.
    pub fn curve(&mut self, points: &[(f64, f64)], colour: &str, dashed: bool) {
        let mut list = String::new();
        for (x, y) in points {
            let _ = write!(list, "{x:.1},{y:.1} ");
        }
        let dash = if dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        self.write(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-linejoin=\"round\"{dash}/>",
            list.trim_end()
        ));
    }

    /// A dot or, if `hollow`, a ring, with a tooltip.
    pub fn dot(&mut self, (x, y): (f64, f64), colour: &str, hollow: bool, title: &str) {
        // A ring has a transparent fill, so that its middle also shows the tooltip.
        let inside = if hollow { 0.0 } else { 1.0 };
        self.write(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\" fill-opacity=\"{inside}\" \
             stroke=\"{colour}\" stroke-width=\"1.5\"><title>{}</title></circle>",
            escape(title)
        ));
    }

    /// A line of text.
    pub fn text(&mut self, x: f64, y: f64, text: &str, style: &Text) {
        let anchor = match style.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let turn = if style.turned == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({} {x:.1} {y:.1})\"", style.turned)
        };
        self.write(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\" text-anchor=\"{anchor}\" \
             fill=\"currentColor\" fill-opacity=\"{}\"{turn}>{}</text>",
            style.size,
            style.strength,
            escape(text)
        ));
    }

    /// Another picture, at a position.
    pub fn place(&mut self, x: f64, y: f64, other: &Self) {
        self.write(format_args!("<g transform=\"translate({x:.1} {y:.1})\">{}</g>", other.body));
    }

    /// Stacks pictures vertically.
    pub fn stacked(pictures: &[Self], gap: f64) -> Self {
        let width = pictures.iter().map(Self::width).fold(1.0, f64::max);
        let height = pictures.iter().map(|picture| picture.height + gap).sum::<f64>() - gap;
        let mut all = Self::new(width, height.max(1.0));
        let mut y = 0.0;
        for picture in pictures {
            all.place(0.0, y, picture);
            y += picture.height + gap;
        }
        all
    }

    /// A separate file: dark on white.
    pub fn standalone(&self, label: &str) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" color=\"#1f2328\" \
             role=\"img\"><title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n",
            escape(label)
        )
    }

    /// Part of a page: it takes the page's colours, and its width if that is smaller.
    pub fn inline(&self, label: &str) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg viewBox=\"0 0 {width:.0} {height:.0}\" style=\"width:{width:.0}px;\
             max-width:100%;height:auto\" font-family=\"inherit\" role=\"img\" \
             aria-label=\"{}\">\n{body}</svg>\n",
            escape(label)
        )
    }

    fn write(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// Escapes text for XML and HTML; control characters, which XML forbids, become visible.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_stays_text() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text(0.0, 0.0, "<script>alert(\"x\")</script>\u{0}&", &Text::sized(10.0));
        let drawn = svg.standalone("a \"label\" <b>");
        assert!(!drawn.contains("<script>") && !drawn.contains("<b>"));
        assert!(drawn.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;\u{fffd}&amp;"));
    }

    #[test]
    fn stacked_pictures_do_not_overlap() {
        let all = Svg::stacked(&[Svg::new(30.0, 10.0), Svg::new(50.0, 20.0)], 5.0);
        assert!((all.width() - 50.0).abs() < 1e-9 && (all.height() - 35.0).abs() < 1e-9);
        assert!(all.standalone("").contains("translate(0.0 15.0)"));
    }
}
