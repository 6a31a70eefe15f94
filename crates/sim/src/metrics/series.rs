//! Use and queue over time, for pictures.

use std::collections::BTreeMap;

use tradewind_model::Time;

use super::{owners, queue, stays};
use crate::result::Run;
use crate::workload::Workload;

/// The state from `at` until the next point's `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesPoint {
    /// When it begins.
    pub at: Time,
    /// Nodes that jobs hold.
    pub used: u64,
    /// Nodes that outages and owners' jobs hold: the owners' own load, maintenance, failures.
    pub closed: u64,
    /// Jobs that wait.
    pub queued: u64,
    /// Nodes that they want.
    pub queued_nodes: u64,
}

/// What changes at one moment.
#[derive(Debug, Clone, Copy, Default)]
struct LevelChange {
    used: i64,
    closed: i64,
    queued: i64,
    queued_nodes: i64,
}

/// The moments at which something changes and the state from each on, from the first submission
/// or outage to the last end of a job. Exact; O(n log n) for n jobs. What begins and ends within
/// one second does not show.
pub fn series(workload: &Workload, run: &Run) -> Vec<SeriesPoint> {
    let mut changes: BTreeMap<Time, LevelChange> = BTreeMap::new();
    let mut last = Time::MIN;
    for stay in stays::all(workload, run) {
        let nodes = i64::from(stay.nodes);
        changes.entry(stay.start).or_default().used += nodes;
        changes.entry(stay.end).or_default().used -= nodes;
        last = last.max(stay.end);
    }
    for waiting in queue::stretches(workload, run) {
        let nodes = i64::from(workload.jobs[waiting.job].processors);
        let from = changes.entry(waiting.from).or_default();
        (from.queued, from.queued_nodes) = (from.queued + 1, from.queued_nodes + nodes);
        let until = changes.entry(waiting.until).or_default();
        (until.queued, until.queued_nodes) = (until.queued - 1, until.queued_nodes - nodes);
        last = last.max(waiting.until);
    }
    for outage in workload.outages.iter().filter(|outage| outage.what.from < last) {
        let nodes = i64::from(outage.what.nodes);
        changes.entry(outage.what.from).or_default().closed += nodes;
        changes.entry(outage.what.until.min(last)).or_default().closed -= nodes;
    }
    for (nodes, start, end) in owners::stays(workload, run).filter(|it| it.1 < last) {
        changes.entry(start).or_default().closed += i64::from(nodes);
        changes.entry(end.min(last)).or_default().closed -= i64::from(nodes);
    }
    points(&changes)
}

fn points(changes: &BTreeMap<Time, LevelChange>) -> Vec<SeriesPoint> {
    let mut state = LevelChange::default();
    let mut points: Vec<SeriesPoint> = Vec::with_capacity(changes.len());
    for (&at, change) in changes {
        state.used += change.used;
        state.closed += change.closed;
        state.queued += change.queued;
        state.queued_nodes += change.queued_nodes;
        let LevelChange { used, closed, queued, queued_nodes } = state;
        let count = |n: i64| u64::try_from(n).unwrap_or_default();
        let (used, closed) = (count(used), count(closed));
        let point = SeriesPoint {
            at,
            used,
            closed,
            queued: count(queued),
            queued_nodes: count(queued_nodes),
        };
        let same = points.last().is_some_and(|before| SeriesPoint { at, ..*before } == point);
        if !same {
            points.push(point);
        }
    }
    points
}
