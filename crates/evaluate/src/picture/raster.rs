//! From SVG to PNG, with a built-in font, because a bare machine has none.

use abridge_corpus::{Error, Result};
use resvg::{tiny_skia, usvg};

/// The name of the built-in font.
const FAMILY: &str = "Abridge Sans";

/// A subset of `DejaVu Sans`; see `font/LICENSE`.
static FONT: &[u8] = include_bytes!("font/AbridgeSans.ttf");

/// The largest side of an image in pixels; larger images are scaled down.
const LARGEST_SIDE: f32 = 16_000.0;

/// Draws a standalone SVG at `scale` pixels per unit.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>> {
    let failed = |why: String| Error::new(format!("cannot draw the picture: {why}"));
    let mut options = usvg::Options { font_family: FAMILY.to_owned(), ..usvg::Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| failed(error.to_string()))?;
    let size = tree.size();
    let scale = scale.min(LARGEST_SIDE / size.width().max(size.height()));
    let (width, height) = ((size.width() * scale).ceil(), (size.height() * scale).ceil());
    let mut pixels = tiny_skia::Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| failed(format!("{width} × {height} pixels is not a valid size")))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Svg, Text};

    /// Dark pixels of a picture, decoded from its PNG.
    fn dark(svg: Svg) -> usize {
        let bytes = png(&svg.standalone("a test"), 1.0).unwrap();
        let pixels = tiny_skia::Pixmap::decode_png(&bytes).unwrap();
        pixels.pixels().iter().filter(|p| p.red() < 100 && p.alpha() > 200).count()
    }

    #[test]
    fn text_is_drawn_without_any_font_on_the_machine() {
        let drawn = |text: &str| {
            let mut svg = Svg::new(200.0, 40.0);
            svg.text(10.0, 30.0, text, &Text::sized(24.0));
            dark(svg)
        };
        assert_eq!(drawn(""), 0);
        assert!(drawn("groß, où, Łódź") > 200);
        assert!(drawn("llll") < drawn("mmmm"));
    }

    #[test]
    fn invalid_svg_is_an_error() {
        assert!(png("<svg", 1.0).unwrap_err().to_string().contains("cannot draw"));
    }
}
