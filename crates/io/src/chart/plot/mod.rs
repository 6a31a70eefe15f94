//! Plots of a study: bars over cases, lines and points over numbers, several panels side by side.

mod area;

use super::ink::Rect;
use super::sheet::{self, HEAD, Key, MARGIN, Pen, Swatch, WIDTH};
use super::theme::LINES;
use area::Area;

const HEIGHT: f64 = 300.0;
/// Room for the numbers at the left of a panel.
const LEFT: f64 = 58.0;
const GAP: f64 = 30.0;
/// From the top of a panel to its frame, and from the frame to the next row of panels.
const ABOVE: f64 = 26.0;
const BELOW: f64 = 62.0;

/// A figure of a study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plot {
    /// Above the picture.
    pub title: String,
    /// Below it, in small letters.
    pub subtitle: String,
    /// Two stand side by side. Series of one name have one colour in all of them.
    pub panels: Vec<PlotPanel>,
    /// Below the picture, a sentence each.
    pub notes: Vec<String>,
}

/// One frame of a plot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlotPanel {
    /// What runs upwards, with its unit: `time per job, s`.
    pub up: String,
    /// What runs to the right.
    pub across: PlotAcross,
    /// What is drawn.
    pub series: Vec<PlotSeries>,
}

/// What the bottom of a panel shows.
#[derive(Debug, Clone, PartialEq)]
pub enum PlotAcross {
    /// Cases by name: x is the number of a case, from 0.
    Cases(Vec<String>),
    /// Numbers, under this label.
    Numbers(String),
}

impl Default for PlotAcross {
    fn default() -> PlotAcross {
        PlotAcross::Numbers(String::new())
    }
}

/// Values that belong together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlotSeries {
    /// In the legend; series of one name are one entry.
    pub name: String,
    /// How they are drawn.
    pub mark: Mark,
    /// In the order in which lines go through them; what is not finite is left out.
    pub values: Vec<PlotValue>,
}

/// How values are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// A bar from zero up; bars of several series at one x stand side by side.
    Bars,
    /// A line, with a point at each value where there are few.
    #[default]
    Line,
    /// A point each.
    Points,
}

/// One value of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlotValue {
    /// Value on the horizontal axis.
    pub x: f64,
    /// Value on the vertical axis.
    pub y: f64,
    /// The bounds of its confidence interval, if it has one.
    pub interval: Option<(f64, f64)>,
}

impl PlotValue {
    /// A value without an interval.
    pub fn exact(x: f64, y: f64) -> PlotValue {
        PlotValue { x, y, interval: None }
    }

    fn is_finite(&self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }

    /// The interval, if its bounds are numbers.
    fn whisker(&self) -> Option<(f64, f64)> {
        self.interval.filter(|(low, high)| low.is_finite() && high.is_finite())
    }
}

impl Plot {
    pub(super) fn draw(&self, pen: &Pen) -> String {
        let drawn = |panel: &&PlotPanel| panel.values().next().is_some();
        let panels: Vec<&PlotPanel> = self.panels.iter().filter(drawn).collect();
        if panels.is_empty() {
            return sheet::empty(pen, &self.title, "nothing was measured");
        }
        let mut ink = sheet::open(pen, &self.title, &self.subtitle);
        let names = self.names();
        let keys: Vec<Key> = names.iter().enumerate().map(|(at, name)| key(at, name)).collect();
        let top = if names.len() > 1 { sheet::legend(&mut ink, &keys, HEAD) } else { HEAD };
        let columns = panels.len().min(2) as f64;
        let width = (WIDTH - 2.0 * MARGIN - GAP * (columns - 1.0)) / columns;
        let mut bottom = top;
        for (at, panel) in panels.iter().enumerate() {
            let (row, column) = (at / 2, at % 2);
            let x = MARGIN + column as f64 * (width + GAP) + LEFT;
            let y = top + ABOVE + row as f64 * (ABOVE + HEIGHT + BELOW);
            let frame = Rect { x, y, width: width - LEFT, height: HEIGHT };
            Area::new(panel, frame).draw(&mut ink, &names);
            bottom = y + HEIGHT + BELOW - 20.0;
        }
        let mut notes = self.notes.clone();
        if panels.iter().any(|panel| panel.values().any(|value| value.whisker().is_some())) {
            notes.push("Lines across ends of bars and points are 95 % intervals.".to_owned());
        }
        sheet::close(ink, pen, &self.title, &notes, bottom)
    }

    /// The names of all series, each once.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }
}

impl PlotPanel {
    fn values(&self) -> impl Iterator<Item = &PlotValue> {
        self.series.iter().flat_map(|series| &series.values).filter(|value| value.is_finite())
    }
}

fn key(at: usize, name: &str) -> Key {
    Key { swatch: Swatch::Box(format!("fill=\"{}\"", colour(at))), text: name.to_owned() }
}

fn colour(at: usize) -> &'static str {
    LINES[at % LINES.len()].0
}
