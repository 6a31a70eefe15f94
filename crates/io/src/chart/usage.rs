//! What was used over time, and how many jobs waited.

use tradewind_model::{Horizon, Time};

use super::clock::{self, Clock};
use super::ink::{Ink, Rect};
use super::panel::Panel;
use super::replay::{HoldCause, Replay};
use super::sheet::{self, HEAD, Key, MARGIN, Pen, Swatch, WIDTH};
use super::steps::{self, TimeColumns};
use super::theme::{ALARM_LIGHT, DARK, USED};
use super::{grouped, theme};
use crate::present::{self, Unit};

/// Means over columns are drawn; this many at most.
const COLUMNS: usize = 600;
const LEFT: f64 = 64.0;
const USED_HEIGHT: f64 = 240.0;
const QUEUE_HEIGHT: f64 = 130.0;

/// Utilisation over time with the queue's length below: means over equal columns, exact.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    title: String,
    processors: u64,
    jobs: usize,
    /// `None`: nothing ran.
    drawn: Option<Drawn>,
}

#[derive(Debug, Clone, PartialEq)]
struct Drawn {
    horizon: Horizon,
    columns: TimeColumns,
    /// Shares of the machine, column by column.
    used: Vec<f64>,
    closed: Vec<f64>,
    failed: Vec<f64>,
    /// Number of waiting jobs.
    queue: Vec<f64>,
    /// The mean share used over the whole horizon.
    mean: f64,
    longest: Option<(Time, i64)>,
}

impl Usage {
    /// The picture of `replay`, from the first submission to the last end.
    /// O((jobs + holds) log (jobs + holds)).
    pub fn new(replay: &Replay) -> Usage {
        let drawn = replay.horizon().map(|horizon| Drawn::new(replay, horizon));
        let (processors, jobs) = (replay.processors(), replay.ran().count());
        Usage { title: replay.title.clone(), processors, jobs, drawn }
    }

    pub(super) fn draw(&self, pen: &Pen) -> String {
        let title = format!("Utilisation: {}", self.title);
        let Some(drawn) = &self.drawn else { return sheet::empty(pen, &title, "nothing ran") };
        let subtitle = format!(
            "{} jobs on {} processors in {}",
            grouped(self.jobs),
            grouped(self.processors as usize),
            clock::length(drawn.horizon)
        );
        let mut ink = sheet::open(pen, &title, &subtitle);
        let top = sheet::legend(&mut ink, &drawn.keys(pen), HEAD) + 30.0;
        let width = WIDTH - MARGIN - LEFT;
        let clock = Clock { horizon: drawn.horizon, left: LEFT, width };
        let edges: Vec<f64> =
            (0..=drawn.columns.len()).map(|i| clock.x(drawn.columns.edge(i))).collect();
        let frame = Rect { x: LEFT, y: top, width, height: USED_HEIGHT };
        drawn.used(&mut ink, pen, &clock, &edges, frame);
        let y = top + USED_HEIGHT + 62.0;
        drawn.queue(&mut ink, &clock, &edges, Rect { y, height: QUEUE_HEIGHT, ..frame });
        sheet::close(ink, pen, &title, &drawn.notes(), y + QUEUE_HEIGHT + 22.0)
    }
}

impl Drawn {
    fn new(replay: &Replay, horizon: Horizon) -> Drawn {
        let columns = TimeColumns::new(horizon, COLUMNS);
        let capacity = (replay.processors() as f64).max(1.0);
        let shares = |changes: &[steps::Change]| -> Vec<f64> {
            columns.means(changes).into_iter().map(|mean| mean / capacity).collect()
        };
        let (used, queue) = (replay.used(), replay.queue());
        let area: i128 = columns.areas(&used).iter().sum();
        Drawn {
            horizon,
            columns,
            mean: area as f64 / (capacity * horizon.span().0.max(1) as f64),
            used: shares(&used),
            closed: shares(&replay.held(&[HoldCause::Local, HoldCause::Maintenance])),
            failed: shares(&replay.held(&[HoldCause::Failure])),
            longest: steps::peak(&queue),
            queue: columns.means(&queue),
        }
    }

    fn keys(&self, pen: &Pen) -> Vec<Key> {
        let key = |look: String, text: &str| Key { swatch: Swatch::Box(look), text: text.into() };
        let some = |values: &[f64]| values.iter().any(|&value| value > 0.0);
        let mut keys = vec![key(format!("fill=\"{USED}\""), "used by jobs")];
        if some(&self.closed) {
            keys.push(key(pen.hatched(), "owners' load and maintenance"));
        }
        if some(&self.failed) {
            keys.push(key(format!("fill=\"{ALARM_LIGHT}\""), "failed"));
        }
        let mean = format!("mean use {}", Unit::Share.say(self.mean));
        keys.push(Key { swatch: Swatch::Line(mean_look()), text: mean });
        keys
    }

    fn used(&self, ink: &mut Ink, pen: &Pen, clock: &Clock, edges: &[f64], frame: Rect) {
        let panel = Panel { frame, low: 0.0, high: 1.0 };
        let sum = |lower: &[f64], by: &[f64]| -> Vec<f64> {
            lower.iter().zip(by).map(|(lower, by)| lower + by).collect()
        };
        let none = vec![0.0; self.used.len()];
        let closed = sum(&self.used, &self.closed);
        let failed = sum(&closed, &self.failed);
        let fill = |colour: &str| format!("fill=\"{colour}\"");
        ink.path(&panel.area(edges, &self.used, &none), &fill(USED));
        if closed != self.used {
            ink.path(&panel.area(edges, &closed, &self.used), &pen.hatched());
        }
        if failed != closed {
            ink.path(&panel.area(edges, &failed, &closed), &fill(ALARM_LIGHT));
        }
        let tick = |i: u32| {
            let share = f64::from(i) / 4.0;
            (share, Unit::Share.say(share))
        };
        panel.values(ink, "Share of the processors", &(0..=4).map(tick).collect::<Vec<_>>());
        panel.times(ink, clock);
        let y = panel.y(self.mean);
        ink.line((frame.x, y), (frame.x + frame.width, y), &mean_look());
    }

    fn queue(&self, ink: &mut Ink, clock: &Clock, edges: &[f64], frame: Rect) {
        let max = self.queue.iter().copied().fold(0.0, f64::max);
        let ticks = present::ticks(0.0, max.max(1.0), 4);
        let high = ticks.last().copied().unwrap_or(1.0);
        let panel = Panel { frame, low: 0.0, high };
        let none = vec![0.0; self.queue.len()];
        let look = format!("fill=\"{}\"", theme::OTHERS);
        ink.path(&panel.area(edges, &self.queue, &none), &look);
        let labels: Vec<(f64, String)> =
            ticks.into_iter().map(|value| (value, Unit::Count.say(value))).collect();
        panel.values(ink, "Jobs waiting", &labels);
        panel.times(ink, clock);
    }

    fn notes(&self) -> Vec<String> {
        let column = self.columns.seconds(0) as f64;
        let mut means =
            format!("Each column is a mean over {} or so.", present::span(column.max(1.0)));
        if column <= 1.0 {
            means = "Each column is a second.".to_owned();
        }
        if let Some((at, jobs)) = self.longest.filter(|peak| peak.1 > 0) {
            let jobs = grouped(jobs as usize);
            means.push_str(&format!(" The longest queue: {jobs} jobs at {}.", clock::moment(at)));
        }
        vec![means, "Days and times of day are those of the log's clock, from its 0 on.".to_owned()]
    }
}

fn mean_look() -> String {
    format!("stroke=\"{DARK}\" stroke-width=\"1.2\" stroke-dasharray=\"5 3\"")
}
