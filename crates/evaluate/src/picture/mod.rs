//! Pictures: grids of weights, charts and pages.
//!
//! A picture is drawn once as [`Svg`]. It can be a file ([`Svg::standalone`]), part of a page,
//! whose colours it takes ([`Svg::inline`]), or a PNG ([`png`]) with a built-in font. [`page`]
//! makes pages that open from disk, in light and dark, without network access.

mod bars;
mod chart;
mod grid;
mod page;
#[cfg(feature = "png")]
mod raster;
mod svg;
mod table;

pub use bars::BarChart;
pub use chart::{LineChart, Series};
pub use grid::Grid;
pub use page::{is_own_page, page};
#[cfg(feature = "png")]
pub use raster::png;
pub use svg::{Anchor, Svg, Text, text_width};
pub use table::html_table;

/// Whether this build can draw PNG, which takes longer to compile than most of abridge.
pub const HAS_PNG: bool = cfg!(feature = "png");

/// Draws a standalone SVG at `scale` pixels per unit.
#[cfg(not(feature = "png"))]
pub fn png(_svg: &str, _scale: f32) -> abridge_corpus::Result<Vec<u8>> {
    let error = abridge_corpus::Error::new("this build cannot draw PNG");
    Err(error.remedy("write SVG, or build with `--features png`"))
}

/// Colours of series, distinguishable on light and dark backgrounds, in the order of use.
pub const COLOURS: [&str; 10] = [
    "#3b82f6", "#e8710a", "#16a34a", "#d946ef", "#dc2626", "#0891b2", "#a16207", "#7c3aed",
    "#64748b", "#db2777",
];

/// The colour of weights: its opacity is the weight.
pub const SHADE: &str = COLOURS[0];
