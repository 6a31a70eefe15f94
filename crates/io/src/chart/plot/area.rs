//! One panel of a plot.

use std::fmt::Write as _;

use super::super::ink::{Ink, Rect, fit, text_width};
use super::super::panel::Panel;
use super::super::theme::{self, DARK, GRID, PAPER, SMALL};
use super::{Mark, PlotAcross, PlotPanel, PlotSeries, PlotValue, colour};
use crate::present::svg::num;
use crate::present::{self, Unit};

/// Points are drawn on a line of at most so many values.
const POINTS_MOST: usize = 60;
/// From this ratio of the greatest to the minimum on, lines and points are drawn over a logarithm,
/// but beyond the other one not all of them are useful.
const FAR: f64 = 100.0;
const FARTHEST: f64 = 1e9;
/// Lines that stay above this part of the greatest value do not begin at zero.
const FLAT: f64 = 0.6;
/// The part of a case's width that its bars take.
const BARS: f64 = 0.7;
/// Room for the numbers of bars beyond their ends, as a part of the height.
const ROOM: f64 = 0.06;

pub(super) struct Area<'a> {
    of: &'a PlotPanel,
    panel: Panel,
    /// Round values upwards.
    ups: Vec<f64>,
    /// The minimum value, where what runs upwards is logarithmic.
    min: Option<f64>,
    /// Said of the axis: what a reader would not expect.
    remark: &'static str,
    /// Across, from the left edge to the right.
    left: f64,
    right: f64,
}

impl<'a> Area<'a> {
    pub(super) fn new(of: &'a PlotPanel, frame: Rect) -> Area<'a> {
        let heights = || of.values().flat_map(ends);
        let max = heights().fold(0.0, f64::max);
        let min = of.spread(heights);
        let floor = of.floor(heights);
        let ups = match min {
            Some(min) => round_powers(min, max),
            None => present::ticks_between(floor, max, 6),
        };
        let ticks = (*ups.first().unwrap_or(&0.0), *ups.last().unwrap_or(&1.0));
        let (low, high) = match min {
            Some(min) => (0.0, present::log2(max / min)),
            None if of.has_bars() => with_room(ticks, (floor, max)),
            None => ticks,
        };
        let remark = match min {
            Some(_) => " (logarithmic)",
            None if low > 0.0 => " (not from zero)",
            None => "",
        };
        let panel = Panel { frame, low, high };
        let (left, right) = match &of.across {
            PlotAcross::Cases(names) => (-0.5, names.len() as f64 - 0.5),
            PlotAcross::Numbers(_) => of.breadth(),
        };
        Area { of, panel, ups, min, remark, left, right }
    }

    pub(super) fn draw(&self, ink: &mut Ink, names: &[&str]) {
        let label = |up: &f64| (self.height(*up), Unit::Ratio.number(*up));
        let labels: Vec<(f64, String)> = self.ups.iter().map(label).collect();
        self.panel.values(ink, &format!("{}{}", self.of.up, self.remark), &labels);
        match &self.of.across {
            PlotAcross::Cases(cases) => self.cases(ink, cases),
            PlotAcross::Numbers(label) => self.numbers(ink, label),
        }
        let shown = |series: &&PlotSeries| {
            series.mark == Mark::Bars && series.values.iter().any(PlotValue::is_finite)
        };
        let bars: Vec<&PlotSeries> = self.of.series.iter().filter(shown).collect();
        for series in &self.of.series {
            let at = names.iter().position(|name| *name == series.name).unwrap_or_default();
            match series.mark {
                Mark::Bars => {
                    let place = bars.iter().position(|other| std::ptr::eq(*other, series));
                    self.bars(ink, series, colour(at), (place.unwrap_or_default(), bars.len()));
                }
                Mark::Line => self.line(ink, series, colour(at)),
                Mark::Points => self.points(ink, series, colour(at)),
            }
        }
        self.panel.ground(ink);
    }

    fn x(&self, x: f64) -> f64 {
        let range = if self.right > self.left { self.right - self.left } else { 1.0 };
        let frame = self.panel.frame;
        frame.x + (x - self.left) / range * frame.width
    }

    /// In the units of the panel.
    fn height(&self, value: f64) -> f64 {
        self.min.map_or(value, |min| present::log2(value / min))
    }

    fn y(&self, value: f64) -> f64 {
        self.panel.y(self.height(value))
    }

    fn bottom(&self) -> f64 {
        self.panel.frame.y + self.panel.frame.height
    }

    fn cases(&self, ink: &mut Ink, cases: &[String]) {
        let room = self.panel.frame.width / cases.len().max(1) as f64 - 6.0;
        for (at, case) in cases.iter().enumerate() {
            let text = fit(case, SMALL.size, room);
            ink.text(self.x(at as f64), self.bottom() + 16.0, theme::middle(SMALL), &text);
        }
    }

    fn numbers(&self, ink: &mut Ink, label: &str) {
        let frame = self.panel.frame;
        let ticks = present::ticks_between(self.left, self.right, 8);
        for tick in ticks.into_iter().filter(|tick| (self.left..=self.right).contains(tick)) {
            let x = self.x(tick);
            ink.line((x, frame.y), (x, self.bottom()), &format!("stroke=\"{GRID}\""));
            let text = Unit::Ratio.number(tick);
            ink.text(x, self.bottom() + 16.0, theme::middle(SMALL), &text);
        }
        let room = text_width(label, SMALL.size).min(frame.width);
        let text = fit(label, SMALL.size, room);
        ink.text(frame.x + frame.width, self.bottom() + 32.0, theme::end(SMALL), &text);
    }

    fn bars(&self, ink: &mut Ink, series: &PlotSeries, fill: &str, (place, of): (usize, usize)) {
        let unit = self.x(1.0) - self.x(0.0);
        let width = unit * BARS / of as f64;
        for value in series.values.iter().filter(|value| value.is_finite()) {
            let x = self.x(value.x) - unit * BARS / 2.0 + place as f64 * width;
            let (zero, end) = (self.panel.y(0.0), self.panel.y(value.y));
            let bar = Rect { x, y: zero.min(end), width: width - 2.0, height: (zero - end).abs() };
            ink.rect_titled(bar, &format!("fill=\"{fill}\""), &said(series, value));
            let centre = x + width / 2.0 - 1.0;
            self.whisker(ink, centre, value);
            let [low, high, _] = ends(value).map(|height| self.panel.y(height));
            let beyond = if value.y < 0.0 { low.max(end) + 13.0 } else { high.min(end) - 5.0 };
            ink.text(centre, beyond, theme::middle(SMALL), &short(value.y, width));
        }
    }

    fn line(&self, ink: &mut Ink, series: &PlotSeries, stroke: &str) {
        let mut path = String::new();
        for value in series.values.iter().filter(|value| value.is_finite()) {
            let step = if path.is_empty() { 'M' } else { 'L' };
            let (x, y) = (num(self.x(value.x)), num(self.y(value.y)));
            let _ = write!(path, "{step}{x} {y}");
        }
        let look = format!(
            "fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.6\" stroke-linejoin=\"round\""
        );
        ink.path_titled(&path, &look, &series.name);
        if series.values.len() <= POINTS_MOST {
            self.points(ink, series, stroke);
        }
    }

    fn points(&self, ink: &mut Ink, series: &PlotSeries, fill: &str) {
        for value in series.values.iter().filter(|value| value.is_finite()) {
            let (x, y) = (self.x(value.x), self.y(value.y));
            self.whisker(ink, x, value);
            // A circle as two arcs.
            let d =
                format!("M{} {}a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0", num(x - 3.2), num(y));
            let look = format!("fill=\"{fill}\" stroke=\"{PAPER}\" stroke-width=\"0.8\"");
            ink.path_titled(&d, &look, &said(series, value));
        }
    }

    fn whisker(&self, ink: &mut Ink, x: f64, value: &PlotValue) {
        if let Some((low, high)) = value.whisker().filter(|(low, high)| low < high) {
            let look = format!("stroke=\"{DARK}\" stroke-width=\"1.1\"");
            let (low, high) = (self.y(low), self.y(high));
            ink.line((x, low), (x, high), &look);
            for y in [low, high] {
                ink.line((x - 3.5, y), (x + 3.5, y), &look);
            }
        }
    }
}

/// The bounds of the interval, and the value.
fn ends(value: &PlotValue) -> [f64; 3] {
    let (low, high) = value.whisker().unwrap_or((value.y, value.y));
    [low, high, value.y]
}

/// `ticks` with room for numbers beyond bars that reach from one of `ends` to the other.
fn with_room((low, high): (f64, f64), (min, max): (f64, f64)) -> (f64, f64) {
    let room = ROOM * (high - low);
    let below = if min < 0.0 { min - room } else { 0.0 };
    (low.min(below), high.max(max + room))
}

/// `value` above a bar of this width: without decimals if they do not fit.
fn short(value: f64, width: f64) -> String {
    let text = Unit::Ratio.number(value);
    let long = text_width(&text, SMALL.size) > width && value.abs() >= 10.0;
    let text = if long { Unit::Ratio.number(value.round()) } else { text };
    fit(&text, SMALL.size, width.max(40.0))
}

impl PlotPanel {
    fn has_bars(&self) -> bool {
        self.series.iter().any(|series| series.mark == Mark::Bars)
    }

    /// Where the axis begins: at zero or below it; but lines that are all far above it would be
    /// one if they shared the panel with it.
    fn floor<I: Iterator<Item = f64>>(&self, heights: impl Fn() -> I) -> f64 {
        let min = heights().fold(f64::INFINITY, f64::min);
        let max = heights().fold(0.0, f64::max);
        let several = heights().any(|height| height != max);
        match several && !self.has_bars() && min > FLAT * max {
            true => min,
            false => min.min(0.0),
        }
    }

    /// The minimum of `heights`, if they are so far apart that only a logarithm shows them all.
    /// Bars begin at zero, which has none.
    fn spread<I: Iterator<Item = f64>>(&self, heights: impl Fn() -> I) -> Option<f64> {
        let min = heights().fold(f64::INFINITY, f64::min);
        let max = heights().fold(0.0, f64::max);
        let fits = min.is_normal() && min > 0.0 && (FAR..FARTHEST).contains(&(max / min));
        (fits && !self.has_bars()).then_some(min)
    }

    /// From the minimum x to the greatest; a lone one above zero is in the middle, from zero on.
    fn breadth(&self) -> (f64, f64) {
        let xs = || self.values().map(|value| value.x);
        let (low, high) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::MIN, f64::max));
        // Numbers near zero show it.
        let low = if low > 0.0 && low < high / 3.0 { 0.0 } else { low };
        match (low < high, low > 0.0 && low.is_finite()) {
            (true, _) => (low, high),
            (false, true) => (0.0, 2.0 * low),
            (false, false) => (low - 0.5, low + 0.5),
        }
    }
}

/// 1, 2 and 5 times the powers of ten within `min` and `max`, or the powers alone if those
/// are many.
fn round_powers(min: f64, max: f64) -> Vec<f64> {
    const MANY: f64 = 1e4;
    let steps: &[f64] = if max / min > MANY { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let mut power = 1.0;
    while power > min {
        power /= 10.0;
    }
    while power * 10.0 <= min {
        power *= 10.0;
    }
    let mut rounds = Vec::new();
    while power <= max {
        let these = steps.iter().map(|step| step * power);
        rounds.extend(these.filter(|round| (min..=max).contains(round)));
        power *= 10.0;
    }
    rounds
}

/// `AMP: 39.01 (38.6 to 39.4)`.
fn said(series: &PlotSeries, value: &PlotValue) -> String {
    let number = |value| Unit::Ratio.number(value);
    let interval = value.whisker().map(|(low, high)| (number(low), number(high)));
    let interval = interval.map(|(low, high)| format!(" ({low} to {high})")).unwrap_or_default();
    format!("{}: {}{interval}", series.name, number(value.y))
}
