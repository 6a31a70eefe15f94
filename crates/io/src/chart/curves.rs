//! How waits and slowdowns are spread: the share of jobs at or below each value, a line per policy.

use std::fmt::Write as _;

use super::distribution::Distribution;
use super::ink::{Ink, Rect, text_width};
use super::panel::Panel;
use super::sheet::{self, HEAD, Key, MARGIN, Pen, Swatch, WIDTH};
use super::theme::{self, BOLD, DASHES, EDGE, GRID, LINES, SMALL};
use crate::present::grouped;
use crate::present::svg::num;
use crate::present::{self, Unit};

/// Lines beyond this number cannot be distinguished.
const LINES_MOST: usize = 16;
const LEFT: f64 = 64.0;
const HEIGHT: f64 = 380.0;
/// Room for the values that a logarithm has no place for.
const ZERO: f64 = 46.0;

/// Cumulative shares on a logarithmic axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curves {
    /// Above the picture.
    pub title: String,
    /// What is spread.
    pub measure: Spread,
    /// One line each, in this order.
    pub curves: Vec<Curve>,
}

/// One curve, with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    /// The policy, in the legend.
    pub name: String,
    /// Its values, in the unit of [`Curves::measure`].
    pub values: Distribution,
}

/// What is spread, and in which whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Waits in seconds.
    Wait,
    /// Turnaround times in seconds.
    Turnaround,
    /// Bounded slowdowns in thousandths.
    BoundedSlowdown,
}

impl Spread {
    fn axis(self) -> &'static str {
        match self {
            Spread::Wait => "wait (logarithmic)",
            Spread::Turnaround => "turnaround (logarithmic)",
            Spread::BoundedSlowdown => "bounded slowdown (logarithmic)",
        }
    }

    /// The value at the left end of the logarithm.
    fn min(self) -> i64 {
        match self {
            Spread::Wait | Spread::Turnaround => 1,
            Spread::BoundedSlowdown => 1_000,
        }
    }

    /// Values with a tick, up to the longest wait.
    fn ticks(self) -> Vec<(i64, String)> {
        const TIMES: [(i64, &str); 14] = [
            (1, "1 s"),
            (10, "10 s"),
            (60, "1 min"),
            (600, "10 min"),
            (3_600, "1 h"),
            (21_600, "6 h"),
            (86_400, "1 d"),
            (604_800, "1 week"),
            (30 * 86_400, "30 d"),
            (365 * 86_400, "1 year"),
            (3_650 * 86_400, "10 years"),
            (36_500 * 86_400, "100 years"),
            (365_000 * 86_400, "1,000 years"),
            (3_650_000 * 86_400, "10,000 years"),
        ];
        match self {
            Spread::Wait | Spread::Turnaround => {
                TIMES.into_iter().map(|(value, label)| (value, label.to_owned())).collect()
            }
            Spread::BoundedSlowdown => (0..15)
                .map(|power| 10_i64.pow(power))
                .map(|value| (value * 1_000, grouped(value as usize)))
                .collect(),
        }
    }

    fn say(self, value: i64) -> String {
        match self {
            Spread::Wait | Spread::Turnaround => present::span(value as f64),
            Spread::BoundedSlowdown => Unit::Ratio.say(value as f64 / 1_000.0),
        }
    }
}

impl Curves {
    pub(super) fn draw(&self, pen: &Pen) -> String {
        let shown: Vec<(usize, &Curve)> = self
            .curves
            .iter()
            .enumerate()
            .filter(|(_, curve)| !curve.values.is_empty())
            .take(LINES_MOST)
            .collect();
        if shown.is_empty() {
            return sheet::empty(pen, &self.title, "nothing ran");
        }
        let jobs = || shown.iter().map(|(_, curve)| curve.values.len());
        let (min, max) = (jobs().min().unwrap_or(0), jobs().max().unwrap_or(0));
        let count = match min == max {
            true => grouped(max as usize),
            false => format!("{} to {}", grouped(min as usize), grouped(max as usize)),
        };
        let subtitle = format!("share of jobs at or below each value; {count} jobs");
        let mut ink = sheet::open(pen, &self.title, &subtitle);
        let keys: Vec<Key> = shown.iter().map(|(index, curve)| self.key(*index, curve)).collect();
        let top = sheet::legend(&mut ink, &keys, HEAD) + 30.0;
        let frame = Rect { x: LEFT, y: top, width: WIDTH - MARGIN - LEFT, height: HEIGHT };
        let axis = LogAxis::new(self.measure, &shown, frame);
        let panel = Panel { frame, low: 0.0, high: 1.0 };
        axis.draw(&mut ink, &panel);
        for (index, curve) in shown.iter().rev() {
            let title = format!("{}: {}", curve.name, self.facts(curve));
            ink.path_titled(&axis.line(&panel, &curve.values), &look(*index, "2"), &title);
        }
        sheet::close(ink, pen, &self.title, &self.notes(shown.len()), top + HEIGHT + 40.0)
    }

    fn key(&self, index: usize, curve: &Curve) -> Key {
        let text = format!("{}: {}", curve.name, self.facts(curve));
        Key { swatch: Swatch::Line(look(index, "2.5")), text }
    }

    /// `half within 4 min, 95 % within 2 h`.
    fn facts(&self, curve: &Curve) -> String {
        let within = |share| match (curve.values.quantile(share), self.measure) {
            (None, _) => "–".to_owned(),
            (Some(0), Spread::Wait) => "at once".to_owned(),
            (Some(value), Spread::BoundedSlowdown) => format!("up to {}", self.measure.say(value)),
            (Some(value), _) => format!("within {}", self.measure.say(value)),
        };
        format!("half {}, 95 % {}", within(0.5), within(0.95))
    }

    fn notes(&self, shown: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if self.measure == Spread::Wait {
            notes.push("At the left edge: jobs that did not wait at all.".to_owned());
        }
        let nothing = self.curves.iter().filter(|curve| curve.values.is_empty()).count();
        if nothing > 0 {
            notes.push(format!("{} of {} policies ran nothing.", nothing, self.curves.len()));
        }
        let hidden = self.curves.len() - nothing - shown;
        if hidden > 0 {
            notes.push(format!("{hidden} more policies are not drawn; the table has them."));
        }
        notes
    }
}

/// A line's colour and dashes.
pub(super) fn look(index: usize, width: &str) -> String {
    let colour = LINES[index % LINES.len()].0;
    // Neighbours differ in both; a pair of both comes again only after 32 lines.
    let dash = DASHES[(index + index / LINES.len()) % DASHES.len()];
    let dash =
        if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
    format!(
        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}"
    )
}

/// A logarithmic axis with a place for zero at its left.
struct LogAxis {
    measure: Spread,
    frame: Rect,
    max: f64,
    zero: f64,
}

impl LogAxis {
    fn new(measure: Spread, shown: &[(usize, &Curve)], frame: Rect) -> LogAxis {
        let max = shown.iter().map(|(_, curve)| curve.values.max()).max().unwrap_or(0);
        let min = measure.min();
        let zero = if measure == Spread::BoundedSlowdown { 0.0 } else { ZERO };
        // At least one decade, and a little room after the last value.
        LogAxis { measure, frame, max: (max.max(min * 10) as f64) * 1.1, zero }
    }

    fn x(&self, value: i64) -> f64 {
        let min = self.measure.min();
        let left = self.frame.x + self.zero;
        if value < min {
            return self.frame.x;
        }
        let range = present::log2(self.max / min as f64);
        let share = present::log2(value as f64 / min as f64) / range;
        left + share.clamp(0.0, 1.0) * (self.frame.width - self.zero)
    }

    fn draw(&self, ink: &mut Ink, panel: &Panel) {
        let share = |i: u32| {
            let share = f64::from(i) / 4.0;
            (share, Unit::Share.say(share))
        };
        panel.values(ink, "Share of the jobs", &(0..=4).map(share).collect::<Vec<_>>());
        let bottom = self.frame.y + self.frame.height;
        let mut free_from = f64::MIN;
        let mut label = |ink: &mut Ink, x: f64, text: &str| {
            let half = text_width(text, SMALL.size) / 2.0;
            let x = x.min(self.frame.x + self.frame.width - half);
            if x - half < free_from {
                return;
            }
            free_from = x + half + 8.0;
            ink.text(x, bottom + 16.0, theme::middle(SMALL), text);
        };
        if self.zero > 0.0 {
            label(ink, self.frame.x, "0");
        }
        for (value, text) in self.measure.ticks().iter().filter(|t| t.0 as f64 <= self.max) {
            let x = self.x(*value);
            ink.line((x, self.frame.y), (x, bottom), &format!("stroke=\"{GRID}\""));
            label(ink, x, text);
        }
        panel.ground(ink);
        ink.line(
            (self.frame.x, self.frame.y),
            (self.frame.x, bottom),
            &format!("stroke=\"{EDGE}\""),
        );
        let right = self.frame.x + self.frame.width;
        ink.text(right, bottom + 34.0, theme::end(BOLD), self.measure.axis());
    }

    /// From the share of the minimum values on, a step up at each threshold.
    fn line(&self, panel: &Panel, values: &Distribution) -> String {
        let mut height = 0.0;
        let mut path = String::new();
        for (value, share) in values.steps() {
            let x = self.x(value);
            if path.is_empty() {
                let _ = write!(path, "M{} {}", num(self.frame.x), num(panel.y(0.0)));
            }
            let _ = write!(path, "H{}V{}", num(x), num(panel.y(share)));
            height = share;
        }
        let _ = write!(path, "V{}H{}", num(panel.y(height)), num(self.frame.x + self.frame.width));
        path
    }
}
