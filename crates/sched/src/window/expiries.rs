//! When the members of a set expire.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Up to so many members a plain list is faster than a heap.
const FEW: usize = 24;

/// The last starts of members. A list that is searched from end to end for narrow jobs, which
/// most are; a heap for wide ones, where O(log) matters.
#[derive(Debug, Default)]
pub(super) struct Expiries {
    is_few: bool,
    /// (last start, rank) of each member, in no order.
    few: Vec<(i64, u32)>,
    /// The same of members and of former ones.
    many: BinaryHeap<Reverse<(i64, u32)>>,
    /// No member expires before; may be too early.
    soonest: i64,
}

impl Expiries {
    /// Makes it empty, for sets of up to `members`.
    pub(super) fn reset(&mut self, members: usize) {
        self.is_few = members <= FEW;
        self.few.clear();
        self.many.clear();
        self.soonest = i64::MAX;
    }

    /// A node becomes a member.
    pub(super) fn add(&mut self, last_start: i64, rank: u32) {
        self.soonest = self.soonest.min(last_start);
        if self.is_few {
            self.few.push((last_start, rank));
        } else {
            self.many.push(Reverse((last_start, rank)));
        }
    }

    /// A member ceases to be one before its time.
    pub(super) fn forget(&mut self, rank: u32) {
        // The heap keeps it until its time has come; `pop` says so.
        if let Some(at) = self.few.iter().position(|it| it.1 == rank) {
            self.few.swap_remove(at);
        }
    }

    /// Whether a member may have expired at `now`.
    #[inline]
    pub(super) fn due(&self, now: i64) -> bool {
        self.soonest < now
    }

    /// Removes one whose last start is before `now`. Of many members it may be a former one.
    pub(super) fn pop(&mut self, now: i64) -> Option<u32> {
        if !self.is_few {
            let &Reverse((last_start, rank)) = self.many.peek()?;
            self.soonest = last_start;
            return (last_start < now).then(|| {
                self.many.pop();
                rank
            });
        }
        let Some(at) = self.few.iter().position(|it| it.0 < now) else {
            self.soonest = self.few.iter().map(|it| it.0).min().unwrap_or(i64::MAX);
            return None;
        };
        Some(self.few.swap_remove(at).1)
    }
}
