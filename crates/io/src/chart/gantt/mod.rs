//! Who ran where and when: a Gantt chart of a replay.
//!
//! A log of a year on thousands of processors has more rectangles than a picture can show: by
//! default a week is drawn, and where rectangles would be too many or too thin to see, a grid of
//! cells takes their place, each in the colour of the job that held most of it.

mod cells;
mod draw;
mod exact;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tradewind_model::{Horizon, Time};

use super::replay::{HoldCause, Replay, ReplayPool, RunFate};
use crate::present::grouped;

/// What a Gantt chart shows of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GanttOptions {
    /// The time axis; `None`: [`Replay::busiest_week`].
    pub window: Option<Horizon>,
    /// What colours say.
    pub colours: Colours,
}

/// What the colours of jobs say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colours {
    /// Whose a job is: the eight users with most processor time in the window have a colour each.
    /// If the log names no users, as [`Colours::Job`].
    #[default]
    User,
    /// Nothing but that neighbours differ.
    Job,
}

/// A Gantt chart of a replay: what is in its window, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GanttOfRun {
    title: String,
    pools: Vec<ReplayPool>,
    /// `None`: nothing ran.
    window: Option<Horizon>,
    is_whole: bool,
    is_busiest: bool,
    bars: Vec<GanttBar>,
    /// The users with a colour, by number, with their processor time in the window in percent;
    /// empty if colours distinguish neighbours only.
    users: Vec<(i64, u32)>,
    facts: Facts,
}

/// What the words around the picture say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Facts {
    jobs_in_window: usize,
    jobs: usize,
    /// In the window, without known processors.
    unplaced: usize,
}

/// One job or hold in the window.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GanttBar {
    paint: Paint,
    start: Time,
    /// The first and last of each range, and the end; cut to the window.
    parts: Vec<(u32, u32, Time)>,
    /// How the job ended, if it did so in the window.
    fate: Option<RunFate>,
    name: String,
    title: String,
}

/// How a bar is painted, in drawing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Paint {
    /// Local load and maintenance.
    Closed,
    /// Nodes that have failed.
    Failed,
    /// A job of a user without a colour.
    Other,
    /// A job in this colour.
    Fill(usize),
    /// A reservation, drawn as an outline.
    Reserved,
}

/// Users with a colour of their own.
const USERS: usize = super::theme::FILLS.len();

impl GanttOfRun {
    /// The chart of `replay`. O(jobs log jobs + holds).
    pub fn new(replay: &Replay, options: GanttOptions) -> GanttOfRun {
        let window = options.window.or_else(|| replay.busiest_week()).filter(|w| w.start < w.end);
        let mut chart = GanttOfRun {
            title: format!("Who ran where: {}", replay.title),
            pools: replay.pools.clone(),
            window: window.filter(|_| !replay.jobs.is_empty()),
            is_whole: false,
            is_busiest: options.window.is_none(),
            bars: Vec::new(),
            users: Vec::new(),
            facts: Facts { jobs: replay.ran().count(), ..Facts::default() },
        };
        let Some(window) = chart.window else { return chart };
        chart.is_whole =
            replay.jobs.iter().all(|job| window.start <= job.start && job.end <= window.end);
        if options.colours == Colours::User {
            chart.users = top_users(replay, window);
        }
        chart.take_holds(replay, window);
        chart.take_jobs(replay, window);
        chart.bars.sort_by_key(|bar| (bar.paint, bar.start));
        chart
    }

    fn take_jobs(&mut self, replay: &Replay, window: Horizon) {
        for (index, job) in replay.jobs.iter().enumerate() {
            if job.end <= window.start || job.start >= window.end || job.start == job.end {
                continue;
            }
            self.facts.jobs_in_window += usize::from(job.fate != RunFate::Interrupted);
            self.facts.unplaced += usize::from(job.processors.is_empty());
            let place = |user| self.users.iter().position(|known| Some(known.0) == user);
            let paint = match (self.users.is_empty(), place(job.user)) {
                (true, _) => Paint::Fill(index % USERS),
                (false, Some(colour)) => Paint::Fill(colour),
                (false, None) => Paint::Other,
            };
            let parts = job.processors.iter().map(|p| (p.first, p.last, p.until));
            let title = [
                Some(format!("job {}", job.name)),
                job.user.map(|user| format!("user {user}")),
                Some(format!("{} processors", grouped(job.width as usize))),
                Some(crate::present::span((job.end - job.start).0 as f64)),
                Some(format!("waited {}", crate::present::span((job.start - job.submit).0 as f64))),
                (job.fate != RunFate::Completed).then(|| fate_word(job.fate).to_owned()),
            ];
            self.bars.extend(
                GanttBar {
                    paint,
                    start: job.start.max(window.start),
                    parts: clip(parts, job.start, window),
                    fate: (job.end <= window.end).then_some(job.fate),
                    name: job.name.clone(),
                    title: title.into_iter().flatten().collect::<Vec<_>>().join(", "),
                }
                .some(),
            );
        }
    }

    fn take_holds(&mut self, replay: &Replay, window: Horizon) {
        for hold in &replay.holds {
            let parts = hold.processors.iter().map(|&(first, last)| (first, last, hold.until));
            let paint = match hold.cause {
                HoldCause::Local | HoldCause::Maintenance => Paint::Closed,
                HoldCause::Failure => Paint::Failed,
                HoldCause::Reserved => Paint::Reserved,
            };
            self.bars.extend(
                GanttBar {
                    paint,
                    start: hold.from.max(window.start),
                    parts: clip(parts, hold.from, window),
                    fate: None,
                    name: String::new(),
                    title: hold.label.clone(),
                }
                .some(),
            );
        }
    }
}

impl GanttBar {
    /// Itself, if anything of it is in the window.
    fn some(self) -> Option<GanttBar> {
        (!self.parts.is_empty()).then_some(self)
    }
}

/// The parts that are in the window, neighbouring ranges with one end joined.
fn clip(
    parts: impl Iterator<Item = (u32, u32, Time)>,
    start: Time,
    window: Horizon,
) -> Vec<(u32, u32, Time)> {
    let start = start.max(window.start);
    let mut clipped: Vec<(u32, u32, Time)> = Vec::new();
    for (first, last, until) in parts {
        let until = until.min(window.end);
        if start >= until || first > last {
            continue;
        }
        match clipped.last_mut() {
            Some(before) if before.2 == until && before.1.checked_add(1) == Some(first) => {
                before.1 = last;
            }
            _ => clipped.push((first, last, until)),
        }
    }
    clipped
}

/// The users with most processor time in the window, most first, with their share of it in percent.
fn top_users(replay: &Replay, window: Horizon) -> Vec<(i64, u32)> {
    let mut areas: BTreeMap<i64, i128> = BTreeMap::new();
    let mut total = 0;
    for job in &replay.jobs {
        let span = (job.end.min(window.end) - job.start.max(window.start)).0.max(0);
        let area = i128::from(span) * i128::from(job.width);
        total += area;
        if let Some(user) = job.user.filter(|_| area > 0) {
            *areas.entry(user).or_default() += area;
        }
    }
    let mut users: Vec<(i64, i128)> = areas.into_iter().collect();
    users.sort_by_key(|&(user, area)| (std::cmp::Reverse(area), user));
    users.truncate(USERS);
    users.into_iter().map(|(user, area)| (user, (area * 100 / total.max(1)) as u32)).collect()
}

fn fate_word(fate: RunFate) -> &'static str {
    match fate {
        RunFate::Completed => "completed",
        RunFate::Killed => "killed at its request",
        RunFate::Interrupted => "interrupted",
    }
}
