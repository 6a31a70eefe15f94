//! The SVG as pixels.

#[cfg(feature = "pictures")]
use resvg::{tiny_skia, usvg};

use super::ink::Lettering;
use super::{Chart, svg};

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PngError {
    /// The drawing could not be read back.
    #[error("failed to read the drawing: {0}")]
    Drawing(String),
    /// More pixels than a picture can have.
    #[error("the picture would be {width} × {height} pixels")]
    TooLarge {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The program was built without PNG.
    #[error(
        "this program was built without PNG: ask for SVG, or build it with `cargo build --release`"
    )]
    Absent,
    /// The pixels could not be written.
    #[error("failed to encode the picture: {0}")]
    Encoding(String),
}

/// Whether the program can write PNG: not if it was built without the feature `pictures`.
pub const HAS_PNG: bool = cfg!(feature = "pictures");

/// Pixels per unit of the SVG, for sharp text on dense screens.
#[cfg(feature = "pictures")]
const SCALE: f32 = 2.0;

/// `chart` as a PNG: the same picture as [`super::svg`], at twice its size. Letters are drawn as
/// strokes, so no font is needed; characters beyond ASCII in names become boxes.
///
/// # Errors
/// [`PngError`]: in practice only when a picture is beyond all size.
pub fn png(chart: &Chart) -> Result<Vec<u8>, PngError> {
    pixels(&svg::draw(chart, Lettering::Strokes))
}

/// A drawing without text, as a PNG.
#[cfg(not(feature = "pictures"))]
pub(super) fn pixels(_: &str) -> Result<Vec<u8>, PngError> {
    Err(PngError::Absent)
}

/// A drawing without text, as a PNG.
#[cfg(feature = "pictures")]
pub(super) fn pixels(drawing: &str) -> Result<Vec<u8>, PngError> {
    let tree = usvg::Tree::from_str(drawing, &usvg::Options::default())
        .map_err(|error| PngError::Drawing(error.to_string()))?;
    let size = tree.size();
    let width = (size.width() * SCALE).ceil() as u32;
    let height = (size.height() * SCALE).ceil() as u32;
    let mut pixels =
        tiny_skia::Pixmap::new(width, height).ok_or(PngError::TooLarge { width, height })?;
    let scale = tiny_skia::Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}
