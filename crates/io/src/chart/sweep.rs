//! Numbers over a number: a panel per measure, a line per thing that is measured.

use std::fmt::Write as _;

use super::curves::look;
use super::ink::{Ink, Rect, num};
use super::panel::Panel;
use super::scale::{self, Scale, Unit};
use super::sheet::{self, HEAD, Key, MARGIN, Pen, Swatch, WIDTH};
use super::theme::{self, BOLD, GRID, LINES, SMALL};

/// Lines beyond this number cannot be told apart.
const LINES_MOST: usize = 16;
const LEFT: f64 = 78.0;
const HEIGHT: f64 = 260.0;
const GAP: f64 = 44.0;
const FOOT: f64 = 44.0;
/// From this ratio of the largest to the least value on, the axis is logarithmic.
const WIDE: f64 = 50.0;
/// Of the largest value: nobody looks for less on a logarithmic axis.
const DEEPEST: f64 = 1e-9;
/// Points are marked if they are no more.
const MARKS_MOST: usize = 60;

/// Measures over a common number, such as a rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Above the picture.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// What stands on the horizontal axis.
    pub over: String,
    /// One per line, in every panel.
    pub names: Vec<String>,
    /// From the top.
    pub panels: Vec<SweepPanel>,
    /// Below the picture: what is not in it.
    pub notes: Vec<String>,
}

/// One measure.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPanel {
    /// What is measured.
    pub name: String,
    /// What its values count.
    pub unit: Unit,
    /// Per name its points, by ascending abscissa; those that are not finite are left out.
    pub lines: Vec<Vec<(f64, f64)>>,
}

impl Sweep {
    pub(super) fn draw(&self, pen: &Pen) -> String {
        let points = || self.panels.iter().flat_map(SweepPanel::points);
        let (low, high) = range(points().map(|point| point.0));
        if low > high {
            return sheet::empty(pen, &self.title, "nothing to draw");
        }
        let mut ink = sheet::open(pen, &self.title, &self.subtitle);
        let names = self.names.iter().take(LINES_MOST).enumerate();
        let key = |(index, name): (usize, &String)| Key {
            swatch: Swatch::Line(look(index, "2.5")),
            text: name.clone(),
        };
        let mut y = sheet::legend(&mut ink, &names.map(key).collect::<Vec<_>>(), HEAD) + 30.0;
        for panel in &self.panels {
            let frame = Rect { x: LEFT, y, width: WIDTH - MARGIN - LEFT, height: HEIGHT };
            let across = Across { low, high, frame };
            across.draw(&mut ink);
            panel.draw(&mut ink, &across, &self.names);
            y += HEIGHT + GAP;
        }
        let right = WIDTH - MARGIN;
        ink.text(right, y - GAP + FOOT - 10.0, theme::end(BOLD), &self.over);
        sheet::close(ink, pen, &self.title, &self.notes, y - GAP + FOOT)
    }
}

impl SweepPanel {
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.lines.iter().take(LINES_MOST).flatten().copied();
        all.filter(|point| point.0.is_finite() && point.1.is_finite())
    }

    fn draw(&self, ink: &mut Ink, across: &Across, names: &[String]) {
        let up = Up::new(self, across.frame);
        up.draw(ink, self);
        for (index, line) in self.lines.iter().enumerate().take(LINES_MOST).rev() {
            let mut path = String::new();
            let colour = LINES[index % LINES.len()].0;
            for (x, y) in line.iter().filter(|point| point.0.is_finite()) {
                // What has no place ends the stroke.
                let Some(y) = up.y(*y) else {
                    path.push(' ');
                    continue;
                };
                let pen = if path.is_empty() || path.ends_with(' ') { 'M' } else { 'L' };
                let x = across.x(*x);
                let _ = write!(path, "{pen}{} {}", num(x), num(y));
                if line.len() <= MARKS_MOST {
                    let mark = Rect { x: x - 2.5, y: y - 2.5, width: 5.0, height: 5.0 };
                    ink.rect(mark, &format!("fill=\"{colour}\""));
                }
            }
            let name = names.get(index).map_or("", String::as_str);
            ink.path_titled(path.trim_end(), &look(index, "2"), name);
        }
    }
}

/// The horizontal axis.
struct Across {
    low: f64,
    high: f64,
    frame: Rect,
}

impl Across {
    fn x(&self, value: f64) -> f64 {
        let range = self.high - self.low;
        let share = if range > 0.0 { (value - self.low) / range } else { 0.5 };
        self.frame.x + share * self.frame.width
    }

    fn draw(&self, ink: &mut Ink) {
        let slack = (self.high - self.low) * 1e-9;
        let inside = |tick: &f64| *tick >= self.low - slack && *tick <= self.high + slack;
        let bottom = self.frame.y + self.frame.height;
        for tick in scale::ticks(self.low, self.high, 24).into_iter().filter(inside) {
            let x = self.x(tick);
            ink.line((x, self.frame.y), (x, bottom), &format!("stroke=\"{GRID}\""));
            ink.text(x, bottom + 16.0, theme::middle(SMALL), &Unit::Ratio.number(tick));
        }
    }
}

/// The vertical axis of one panel.
struct Up {
    panel: Panel,
    /// The least value, where the axis is logarithmic.
    logarithmic: Option<f64>,
    scale: Scale,
}

impl Up {
    fn new(of: &SweepPanel, frame: Rect) -> Up {
        let (low, high) = range(of.points().map(|point| point.1));
        let above = of.points().map(|point| point.1).filter(|value| *value > 0.0);
        let least = range(above).0.max(high * DEEPEST);
        let wide = low >= 0.0 && least < high && high / least >= WIDE;
        // Over several powers of ten no unit but the smallest is right.
        let scale = Scale::new(of.unit, if wide { 1.0 } else { high });
        let logarithmic = wide.then_some(least);
        let (low, high) = match logarithmic {
            Some(least) => (0.0, scale::log2(high / least)),
            None => {
                let ticks = scale::ticks(low / scale.size, high / scale.size, 5);
                let end = |tick: Option<&f64>| tick.map_or(0.0, |tick| tick * scale.size);
                (end(ticks.first()), end(ticks.last()))
            }
        };
        Up { panel: Panel { frame, low, high }, logarithmic, scale }
    }

    /// Where a value is; nothing for those without a place.
    fn y(&self, value: f64) -> Option<f64> {
        match self.logarithmic {
            _ if !value.is_finite() => None,
            None => Some(self.panel.y(value)),
            Some(least) if value >= least => Some(self.panel.y(scale::log2(value / least))),
            Some(_) => None,
        }
    }

    fn draw(&self, ink: &mut Ink, of: &SweepPanel) {
        let unit = self.scale.label;
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        let name = match self.logarithmic {
            Some(_) => format!("{}{unit} (logarithmic)", of.name),
            None => format!("{}{unit}", of.name),
        };
        let labels: Vec<(f64, String)> = match self.logarithmic {
            None => {
                let size = self.scale.size;
                let ticks = scale::ticks(self.panel.low / size, self.panel.high / size, 5);
                ticks
                    .into_iter()
                    .map(|tick| (tick * size, self.scale.number(tick * size)))
                    .collect()
            }
            Some(least) => powers(least, self.panel.high)
                .map(|value| (scale::log2(value / least), self.scale.number(value)))
                .collect(),
        };
        self.panel.values(ink, &name, &labels);
        self.panel.ground(ink);
    }
}

/// 1, 2 and 5 times the powers of ten (the powers alone if those are many) from `least` on, up to
/// `doublings` of it.
fn powers(least: f64, doublings: f64) -> impl Iterator<Item = f64> {
    let steps: &[f64] = if doublings > 14.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let mut power = 1.0;
    while power > least {
        power /= 10.0;
    }
    while power * 10.0 <= least {
        power *= 10.0;
    }
    let tens = (0..40).scan(power, |power, _| {
        let this = *power;
        *power *= 10.0;
        Some(this)
    });
    let all = tens.flat_map(move |ten| steps.iter().map(move |step| ten * step));
    all.filter(move |value| *value >= least && scale::log2(value / least) <= doublings + 1e-9)
}

/// The least and the largest; the wrong way round if there are none.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}
