//! What adds up or changes along time or along a count: a line per policy.

use std::fmt::Write as _;

use tradewind_model::{Horizon, Time};

use super::clock::Clock;
use super::curves::look;
use super::ink::{Ink, Rect, text_width};
use super::panel::Panel;
use super::sheet::{self, HEAD, Key, MARGIN, Pen, Swatch, WIDTH};
use super::theme::{self, BOLD, GRID, SMALL};
use super::trace::Trace;
use crate::present::svg::num;
use crate::present::{self, Unit};

/// Lines beyond this number cannot be distinguished.
const LINES_MOST: usize = 16;
const LEFT: f64 = 64.0;
const HEIGHT: f64 = 380.0;

/// Lines in one frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// Above the picture.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// What runs to the right.
    pub across: Across,
    /// What runs upwards, in words.
    pub name: String,
    /// What its values count.
    pub unit: Unit,
    /// One line each, in this order.
    pub lines: Vec<Line>,
    /// Below the picture, a sentence each.
    pub notes: Vec<String>,
}

/// What runs to the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Across {
    /// The log's clock.
    Time,
    /// A count of these things, from 0 on.
    Count(String),
}

/// One line, with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The policy, in the legend.
    pub name: String,
    /// What the legend says of it.
    pub facts: String,
    /// Where it goes.
    pub trace: Trace,
}

impl Lines {
    pub(super) fn draw(&self, pen: &Pen) -> String {
        let some = self.lines.iter().enumerate().filter(|(_, line)| !line.trace.is_empty());
        let shown: Vec<(usize, &Line)> = some.take(LINES_MOST).collect();
        if shown.is_empty() {
            return sheet::empty(pen, &self.title, "nothing ran");
        }
        let mut ink = sheet::open(pen, &self.title, &self.subtitle);
        let key = |(index, line): &(usize, &Line)| Key {
            swatch: Swatch::Line(look(*index, "2.5")),
            text: line.says(),
        };
        let keys: Vec<Key> = shown.iter().map(key).collect();
        let top = sheet::legend(&mut ink, &keys, HEAD) + 30.0;
        let frame = Rect { x: LEFT, y: top, width: WIDTH - MARGIN - LEFT, height: HEIGHT };
        let panel = self.panel(&mut ink, frame, &shown);
        let ends = shown.iter().filter_map(|(_, line)| line.trace.ends());
        let (first, last) =
            ends.fold((i64::MAX, i64::MIN), |all, ends| (all.0.min(ends.0), all.1.max(ends.1)));
        let clock = self.axis(&mut ink, &panel, first, last);
        for (index, line) in shown.iter().rev() {
            ink.path_titled(&path(&panel, &clock, &line.trace), &look(*index, "2"), &line.says());
        }
        let mut notes = self.notes.clone();
        let hidden = self.lines.iter().filter(|line| !line.trace.is_empty()).count() - shown.len();
        if hidden > 0 {
            notes.push(format!("{hidden} more policies are not drawn; the table has them."));
        }
        sheet::close(ink, pen, &self.title, &notes, top + HEIGHT + 40.0)
    }

    /// The frame with its values, from 0 or below up to the greatest.
    fn panel(&self, ink: &mut Ink, frame: Rect, shown: &[(usize, &Line)]) -> Panel {
        let values = || shown.iter().flat_map(|(_, line)| line.trace.points()).map(|it| it.1);
        let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        let ticks = present::ticks(low, high, 5);
        let panel = Panel { frame, low: ticks[0], high: ticks[ticks.len() - 1] };
        let labels: Vec<(f64, String)> =
            ticks.into_iter().map(|value| (value, self.unit.say(value))).collect();
        panel.values(ink, &self.name, &labels);
        panel
    }

    /// The axis to the right, which is a clock also where it counts.
    fn axis(&self, ink: &mut Ink, panel: &Panel, first: i64, last: i64) -> Clock {
        let Rect { x, y, width, height } = panel.frame;
        let clock = |start: i64, end: i64| Clock {
            horizon: Horizon { start: Time(start), end: Time(end) },
            left: x,
            width,
        };
        let Across::Count(things) = &self.across else {
            let clock = clock(first, last);
            panel.times(ink, &clock);
            return clock;
        };
        let clock = clock(0, last.max(1));
        let bottom = y + height;
        for tick in present::ticks(0.0, last.max(1) as f64, 10) {
            let label = Unit::Count.say(tick);
            let at = clock.x(Time(tick as i64));
            if tick <= last as f64 {
                ink.line((at, y), (at, bottom), &format!("stroke=\"{GRID}\""));
                let at = at.min(x + width - text_width(&label, SMALL.size) / 2.0);
                ink.text(at, bottom + 16.0, theme::middle(SMALL), &label);
            }
        }
        panel.ground(ink);
        ink.text(x + width, bottom + 34.0, theme::end(BOLD), things);
        clock
    }
}

impl Line {
    fn says(&self) -> String {
        match self.facts.is_empty() {
            true => self.name.clone(),
            false => format!("{}: {}", self.name, self.facts),
        }
    }
}

fn path(panel: &Panel, clock: &Clock, trace: &Trace) -> String {
    let mut path = String::new();
    for (index, (at, value)) in trace.points().iter().enumerate() {
        let lead = if index == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{lead}{} {}", num(clock.x(Time(*at))), num(panel.y(*value)));
    }
    path
}
