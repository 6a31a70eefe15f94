//! A moment of a log, made into a planning problem.
//!
//! What runs at that moment becomes the owners' local tasks, what waits or arrives next the
//! batch. SWF names no processors and knows no money: processors are the lowest free ones, and
//! performances, prices, budgets and deadlines come from the seeded model in [`side`].

mod batch;
mod distributions;
mod history;
mod machine;
mod offers;
mod processors;
mod replayed;
pub mod side;
mod side_file;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use tradewind_model::{Horizon, Slot, SlotList, Snapshot, Span, Time, VoPolicy};

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::duration;
use crate::scenario::Scenario;
use crate::swf::Log;
use history::Moment;
use machine::Machine;
use side::Side;

/// What to take out of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// The moment, within the log's span.
    pub at: At,
    /// The length of the planning interval, from that moment on.
    pub horizon: Span,
    /// For all that the side model draws.
    pub seed: u64,
    /// Which jobs are planned; `None`: arrivals if `arrivals` is given or the log has no wait
    /// times, else those that wait.
    pub batch: Option<Batch>,
    /// How many of the next arrivals; `None`: as [`Arrivals::default`] says.
    pub arrivals: Option<Arrivals>,
    /// The work of a job that requested no time.
    pub missing_request: MissingRequest,
    /// How long running jobs keep their processors.
    pub local_until: LocalUntil,
    /// Processors of the machine; `None`: as the header says.
    pub processors: Option<u32>,
    /// Sites that the machine is split into.
    pub sites: u32,
    /// Performances, prices, budgets and deadlines.
    pub side: Side,
}

impl SnapshotOptions {
    /// The defaults that the command documents.
    pub fn new(at: At, horizon: Span, seed: u64) -> SnapshotOptions {
        SnapshotOptions {
            at,
            horizon,
            seed,
            batch: None,
            arrivals: None,
            missing_request: MissingRequest::default(),
            local_until: LocalUntil::default(),
            processors: None,
            sites: 1,
            side: Side::default(),
        }
    }
}

/// A moment of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// On the log's clock.
    Time(Time),
    /// Half-way between the log's first and last submission.
    Middle,
}

impl FromStr for At {
    type Err = String;
    fn from_str(text: &str) -> Result<At, String> {
        if text == "middle" { Ok(At::Middle) } else { duration::parse_time(text).map(At::Time) }
    }
}

/// Which jobs are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// Those that wait at the moment.
    Waiting,
    /// Those that are submitted next.
    Arrivals,
}

impl FromStr for Batch {
    type Err = String;
    fn from_str(text: &str) -> Result<Batch, String> {
        match text {
            "waiting" => Ok(Batch::Waiting),
            "arrivals" => Ok(Batch::Arrivals),
            _ => Err(format!("`{text}` is neither `waiting` nor `arrivals`")),
        }
    }
}

/// How many arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// The next so many.
    Count(u32),
    /// All within so long after the moment.
    Within(Span),
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals::Count(50)
    }
}

/// A bare number is a count; a length of time has a unit.
impl FromStr for Arrivals {
    type Err = String;
    fn from_str(text: &str) -> Result<Arrivals, String> {
        match text.parse::<u32>() {
            Ok(0) => Err("`0` arrivals make no batch".to_owned()),
            Ok(count) => Ok(Arrivals::Count(count)),
            Err(_) => duration::parse_span(text).map(Arrivals::Within),
        }
    }
}

/// The work of a job that requested no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingRequest {
    /// As long as it ran.
    #[default]
    RunTime,
    /// A fixed time.
    Span(Span),
}

impl FromStr for MissingRequest {
    type Err = String;
    fn from_str(text: &str) -> Result<MissingRequest, String> {
        match text {
            "runtime" => Ok(MissingRequest::RunTime),
            _ => match duration::parse_span(text)? {
                Span(0) => Err("a job without a request needs at least 1 s".to_owned()),
                span => Ok(MissingRequest::Span(span)),
            },
        }
    }
}

/// How long running jobs keep their processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalUntil {
    /// Until they really end.
    #[default]
    End,
    /// Until their requested time ends; until they really end if they requested none or have
    /// already run past it.
    Requested,
}

impl FromStr for LocalUntil {
    type Err = String;
    fn from_str(text: &str) -> Result<LocalUntil, String> {
        match text {
            "end" => Ok(LocalUntil::End),
            "requested" => Ok(LocalUntil::Requested),
            _ => Err(format!("`{text}` is neither `end` nor `requested`")),
        }
    }
}

/// A scenario, and what was assumed in making it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The planning problem; its notes are the assumptions.
    pub scenario: Scenario,
    /// One sentence each, without a final period.
    pub assumptions: Vec<String>,
}

/// The planning problem of `log` at a moment. O(j log j) for j jobs up to that moment, beside
/// the writing of one busy span per occupied processor.
///
/// # Errors
/// The moment is outside the log, the machine's size is unknown, or no job is there to plan.
pub fn take(log: &Log, options: &SnapshotOptions) -> Result<Taken, Diagnostics> {
    let refuse = |message: String, hint: &str| {
        Diagnostics::from(Diagnostic::error(&log.name, message).with_hint(hint))
    };
    let at = moment(log, options).map_err(|(message, hint)| refuse(message, &hint))?;
    let horizon = Horizon { start: at, end: at + options.horizon };
    if options.horizon.0 < 1 || horizon.end > Time::MAX {
        return Err(refuse("the horizon is empty or out of range".to_owned(), duration::FORMS));
    }
    let machine = Machine::of(log, options).map_err(|(message, hint)| refuse(message, &hint))?;
    let moment = history::replay(log, at, machine.processors);
    let batch = batch::choose(log, options, at, &moment, machine.processors);
    if let Some((message, hint)) = batch.emptiness(horizon) {
        return Err(refuse(message, &hint));
    }
    let grid = machine.grid(options).map_err(|(message, hint)| refuse(message, &hint))?;
    let jobs = batch::jobs(log, options, &grid, &batch, at);
    let busy = local_tasks(log, options, &moment, horizon);
    let mut assumptions = machine.assumptions(options);
    moment.assume(log, &mut assumptions);
    batch.assume(options, horizon, &mut assumptions);
    options.side.assume(&jobs, &mut assumptions);
    let slots = SlotList::from_busy(&grid, horizon, &busy);
    let snapshot = Snapshot { horizon, grid, slots, jobs, policy: VoPolicy::default() };
    snapshot.check().map_err(|err| refuse(err.to_string(), "shorten the horizon"))?;
    let title =
        format!("{} at {at} for {} s, seed {}", machine.name, options.horizon, options.seed);
    let notes = assumptions.clone();
    let scenario =
        Scenario { title: Some(title), notes, snapshot, busy: Some(busy), busy_parts: Vec::new() };
    Ok(Taken { scenario, assumptions })
}

/// A message and a hint.
type Refusal = (String, String);

fn moment(log: &Log, options: &SnapshotOptions) -> Result<Time, Refusal> {
    let (first, last) = log.span();
    let at = match options.at {
        At::Time(at) => at,
        At::Middle => {
            let last = log.jobs.last().map_or(first, |job| job.submit);
            first + Span((last - first).0 / 2)
        }
    };
    if at < first || at > last {
        let hint = format!("the log goes from {first} to {last}");
        return Err((format!("the moment {at} is outside the log"), hint));
    }
    Ok(at)
}

/// The busy spans of what runs at the moment, cut to the horizon, in node order.
fn local_tasks(
    log: &Log,
    options: &SnapshotOptions,
    moment: &Moment,
    horizon: Horizon,
) -> Vec<Slot> {
    let mut busy = Vec::new();
    for running in &moment.running {
        let asked = log.jobs[running.job].requested_time.filter(|it| it.0 > 0);
        let requested = asked.map(|span| running.start + span).filter(|end| *end > horizon.start);
        let end = match options.local_until {
            LocalUntil::End => running.end,
            LocalUntil::Requested => requested.unwrap_or(running.end),
        };
        let (start, end) = (horizon.start, end.min(horizon.end));
        for range in &running.processors {
            busy.extend(range.clone().map(|n| Slot {
                start,
                end,
                node: tradewind_model::NodeId(n),
            }));
        }
    }
    busy.sort_by_key(|slot| slot.node);
    busy
}
