//! One panel of a plot.

use std::fmt::Write as _;

use super::super::ink::{Ink, Rect, fit, num, text_width};
use super::super::panel::Panel;
use super::super::scale::{self, Unit};
use super::super::theme::{self, DARK, GRID, PAPER, SMALL};
use super::{Mark, PlotAcross, PlotPanel, PlotSeries, PlotValue, colour};

/// Points are drawn on a line of at most so many values.
const POINTS_MOST: usize = 60;
/// From this ratio of the greatest to the least on, lines and points are drawn over a logarithm,
/// but beyond the other one nobody can want them all.
const FAR: f64 = 100.0;
const FARTHEST: f64 = 1e9;
/// The part of a case's width that its bars take.
const BARS: f64 = 0.7;

pub(super) struct Area<'a> {
    of: &'a PlotPanel,
    panel: Panel,
    /// Round values upwards.
    ups: Vec<f64>,
    /// The least value, where what runs upwards is logarithmic.
    least: Option<f64>,
    /// Across, from the left edge to the right.
    left: f64,
    right: f64,
}

impl<'a> Area<'a> {
    pub(super) fn new(of: &'a PlotPanel, frame: Rect) -> Area<'a> {
        let ends = |value: &PlotValue| {
            let (low, high) = value.whisker().unwrap_or((value.y, value.y));
            [low, high, value.y]
        };
        let heights = || of.values().flat_map(ends);
        let least = of.spread(heights);
        let high = heights().fold(0.0, f64::max);
        let ups = match least {
            Some(least) => round_powers(least, high),
            None => scale::ticks(heights().fold(0.0, f64::min), high, 6),
        };
        let (low, high) = match least {
            Some(least) => (0.0, scale::log2(high / least)),
            None => (*ups.first().unwrap_or(&0.0), *ups.last().unwrap_or(&1.0)),
        };
        let panel = Panel { frame, low, high };
        let (left, right) = match &of.across {
            PlotAcross::Cases(names) => (-0.5, names.len() as f64 - 0.5),
            PlotAcross::Numbers(_) => of.breadth(),
        };
        Area { of, panel, ups, least, left, right }
    }

    pub(super) fn draw(&self, ink: &mut Ink, names: &[&str]) {
        let label = |up: &f64| (self.height(*up), Unit::Ratio.number(*up));
        let labels: Vec<(f64, String)> = self.ups.iter().map(label).collect();
        match self.least {
            Some(_) => self.panel.values(ink, &format!("{} (logarithmic)", self.of.up), &labels),
            None => self.panel.values(ink, &self.of.up, &labels),
        }
        match &self.of.across {
            PlotAcross::Cases(cases) => self.cases(ink, cases),
            PlotAcross::Numbers(label) => self.numbers(ink, label),
        }
        let bars = self.of.series.iter().filter(|series| series.mark == Mark::Bars);
        let bars: Vec<&PlotSeries> = bars.collect();
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
        self.least.map_or(value, |least| scale::log2(value / least))
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
        let ticks = scale::ticks(self.left, self.right, 8);
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
            let top = value.whisker().map_or(end, |(_, high)| self.panel.y(high)).min(end);
            let text = fit(&Unit::Ratio.number(value.y), SMALL.size, width.max(40.0));
            ink.text(centre, top - 5.0, theme::middle(SMALL), &text);
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

impl PlotPanel {
    /// The least of `heights`, if they are so far apart that only a logarithm shows them all. Bars
    /// begin at zero, which has none.
    fn spread<I: Iterator<Item = f64>>(&self, heights: impl Fn() -> I) -> Option<f64> {
        let bars = self.series.iter().any(|series| series.mark == Mark::Bars);
        let least = heights().fold(f64::INFINITY, f64::min);
        let most = heights().fold(0.0, f64::max);
        let fits = least.is_normal() && least > 0.0 && (FAR..FARTHEST).contains(&(most / least));
        (fits && !bars).then_some(least)
    }

    /// From the least x to the greatest; a lone one above zero is in the middle, from zero on.
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

/// 1, 2 and 5 times the powers of ten within `least` and `most`, or the powers alone if those
/// are many.
fn round_powers(least: f64, most: f64) -> Vec<f64> {
    const MANY: f64 = 1e4;
    let steps: &[f64] = if most / least > MANY { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let mut power = 1.0;
    while power > least {
        power /= 10.0;
    }
    while power * 10.0 <= least {
        power *= 10.0;
    }
    let mut rounds = Vec::new();
    while power <= most {
        let these = steps.iter().map(|step| step * power);
        rounds.extend(these.filter(|round| (least..=most).contains(round)));
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
