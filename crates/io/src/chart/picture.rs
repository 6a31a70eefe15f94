//! Any picture of a replay, a campaign or a study, as SVG or PNG.

use super::bars::Bars;
use super::compare::Comparison;
use super::curves::Curves;
use super::gantt::GanttOfRun;
use super::lines::Lines;
use super::plot::Plot;
use super::png::{PngError, pixels};
use super::sheet::Pen;
use super::usage::Usage;

/// A picture, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Picture {
    /// Who ran where and when.
    Gantt(GanttOfRun),
    /// What was used, and how many waited.
    Usage(Usage),
    /// How waits or slowdowns are spread.
    Curves(Curves),
    /// What adds up or changes.
    Lines(Lines),
    /// Shares by class.
    Bars(Bars),
    /// Policies side by side.
    Comparison(Comparison),
    /// Bars, lines and points of a study.
    Plot(Plot),
}

impl Picture {
    /// An SVG document, 1,200 pixels wide, for light and dark paper. The same data give the same
    /// bytes.
    pub fn svg(&self) -> String {
        self.draw(&Pen::File)
    }

    /// The same on white, at twice its size, as a PNG.
    ///
    /// # Errors
    /// [`PngError`]: in practice only when a picture is beyond all size.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        pixels(&self.draw(&Pen::Pixels))
    }

    /// An SVG element for a page that has [`super::dark_style`]; `prefix` is unique on the page.
    pub(crate) fn inline(&self, prefix: &str) -> String {
        self.draw(&Pen::Inline(prefix.to_owned()))
    }

    fn draw(&self, pen: &Pen) -> String {
        match self {
            Picture::Gantt(it) => it.draw(pen),
            Picture::Usage(it) => it.draw(pen),
            Picture::Curves(it) => it.draw(pen),
            Picture::Lines(it) => it.draw(pen),
            Picture::Bars(it) => it.draw(pen),
            Picture::Comparison(it) => it.draw(pen),
            Picture::Plot(it) => it.draw(pen),
        }
    }
}
