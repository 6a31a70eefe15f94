//! The one forward pass over the slots that every exact search is.

use std::ops::ControlFlow;

use tradewind_model::{NodeId, Slot};

use super::cheapest::CheapestNodes;
use super::ranking::NodeRanking;

/// No limit on lengths.
pub(super) const ANY_LENGTH: i64 = i64::MAX;

/// The times between which tasks must lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartBounds {
    /// No task starts before.
    pub(super) from: i64,
    /// Every task has ended by then.
    pub(super) until: i64,
}

impl StartBounds {
    /// The first and the last start of a task of `length` in `slot`; `None` if it does not fit.
    #[inline]
    pub(super) fn starts(self, slot: &Slot, length: i64) -> Option<(i64, i64)> {
        let first = slot.start.0.max(self.from);
        let last = slot.end.0.min(self.until) - length;
        (first <= last).then_some((first, last))
    }
}

/// What one search does at each start time on the way. Only starts of slots need a look: between
/// two of them nodes only expire.
pub(super) trait SweepVisitor {
    /// A new start time. Returns the length at and beyond which tasks are useless from here on;
    /// it must never rise.
    fn open(&mut self, _now: i64, _cheapest: &mut CheapestNodes<'_>) -> i64 {
        ANY_LENGTH
    }

    /// All slots that start at `now` are in: looks for a window. Breaks when no later one can be
    /// better.
    fn close(&mut self, now: i64, cheapest: &mut CheapestNodes<'_>) -> ControlFlow<()>;
}

/// Takes the slots in order of start, keeps `cheapest` up to date and asks `judge` once per
/// start time, after the whole group of slots that start then.
pub(super) fn sweep(
    ranking: &NodeRanking,
    slots: &[Slot],
    bracket: StartBounds,
    cheapest: &mut CheapestNodes<'_>,
    judge: &mut impl SweepVisitor,
) {
    let mut now = i64::MIN;
    let mut limit = ANY_LENGTH;
    for slot in slots {
        if slot.end.0 <= bracket.from {
            continue;
        }
        let fit = ranking.fits[slot.node.0 as usize];
        let Some((first, last)) = bracket.starts(slot, fit.length) else {
            continue;
        };
        if first != now {
            if now != i64::MIN && judge.close(now, cheapest).is_break() {
                return;
            }
            now = first;
            cheapest.advance(now);
            limit = judge.open(now, cheapest);
        }
        if fit.length < limit {
            cheapest.insert(fit.rank, last);
        }
    }
    if now != i64::MIN {
        let _ = judge.close(now, cheapest);
    }
}

/// Fills `ranks` with the nodes that are alive at `start`.
pub(super) fn alive_at(
    ranking: &NodeRanking,
    start: i64,
    slots: &[Slot],
    bracket: StartBounds,
    ranks: &mut Vec<u32>,
) {
    ranks.clear();
    let reach = slots.partition_point(|slot| slot.start.0 <= start);
    for slot in slots[..reach].iter().filter(|slot| slot.end.0 > start) {
        let NodeId(node) = slot.node;
        let fit = ranking.fits[node as usize];
        if bracket.starts(slot, fit.length).is_some_and(|(_, last)| start <= last) {
            ranks.push(fit.rank);
        }
    }
}
