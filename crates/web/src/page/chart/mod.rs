//! Charts as SVG, made here: lines and areas stretch with the page, letters do not. Colours come
//! from classes, so that they follow the page's theme; dashes, hatches and names show what colours
//! show.

mod axis;
mod response;
mod time;

use tradewind_io::present::svg::{Svg, escape};

pub(crate) use axis::short;
pub(crate) use response::{Tried, response};
pub(crate) use time::{Frame, Layer, StepLine, areas, lines};

/// A chart with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figure {
    /// Its place in the page's address.
    pub(crate) id: &'static str,
    /// What it shows.
    pub(crate) title: String,
    /// What has to be known to read it.
    pub(crate) note: String,
    /// Marks and what they mean.
    pub(crate) legend: Vec<(String, String)>,
    /// The chart; `None`: there is nothing to draw.
    pub(crate) svg: Option<String>,
    /// What is said then.
    pub(crate) empty: &'static str,
    /// The same as a table.
    pub(crate) table: ChartTable,
}

/// What a chart shows, in words: a moment for each row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ChartTable {
    /// Behind the moment.
    pub(crate) head: Vec<String>,
    /// The newest first.
    pub(crate) rows: Vec<(i64, Vec<String>)>,
}

/// Pixels left of the plot, for what stands at its axis, and above it. The style sheet makes the
/// picture begin at the plot and keeps this room free.
const LEFT: i64 = 64;
const TOP: i64 = 26;
/// The plot's own units: it is stretched.
const WIDE: f64 = 10_000.0;
const HIGH: f64 = 1_000.0;
/// So many lines can be distinguished.
pub(crate) const SHADES: usize = 8;

/// Where a chart begins: for those who do not see it, `title` says what it is.
fn begin(class: &str, height: i64, title: &str) -> Svg {
    let mut svg = Svg::new();
    let title = escape(title);
    let look = format_args!(
        "class=\"{class}\" height=\"{height}\" role=\"img\" tabindex=\"0\" aria-label=\"{title}\""
    );
    svg.open("svg", look);
    svg
}

/// A sample of a line, for legends.
pub(crate) fn line_mark(shade: usize) -> String {
    format!(
        "<svg class=\"mark\" aria-hidden=\"true\"><path class=\"line s{}\" d=\"M0 6H28\"/></svg>",
        shade % SHADES
    )
}

/// A sample of an area.
pub(crate) fn area_mark(kind: &str) -> String {
    let fill = fill(kind);
    format!(
        "<svg class=\"mark\" aria-hidden=\"true\"><rect {fill} width=\"28\" height=\"12\"/></svg>"
    )
}

/// Colour of an area; a hatch, lines over it, brings its own.
fn fill(kind: &str) -> String {
    match kind {
        "owners" | "missing" | "held" => format!("fill=\"url(#hatch-{kind})\""),
        _ => format!("class=\"area {kind}\""),
    }
}

/// Patterns that areas are hatched with; once in a page.
pub(crate) const HATCHES: &str = "<svg class=\"sr\" aria-hidden=\"true\" width=\"1\" height=\"1\"><defs>\
    <pattern id=\"hatch-owners\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\">\
    <rect class=\"area owners\" width=\"7\" height=\"7\"/><path class=\"hatch\" d=\"M-1 8L8 -1\"/></pattern>\
    <pattern id=\"hatch-missing\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\">\
    <rect class=\"area missing\" width=\"7\" height=\"7\"/><path class=\"hatch\" d=\"M0 0L7 7M7 0L0 7\"/></pattern>\
    <pattern id=\"hatch-held\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">\
    <rect class=\"area held\" width=\"5\" height=\"5\"/><circle class=\"dot\" cx=\"2\" cy=\"2\" r=\"1\"/></pattern></defs></svg>";

#[cfg(test)]
mod tests;
