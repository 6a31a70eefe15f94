//! Where nodes have become free, and which jobs have not been looked at since.
//!
//! A job that has the earliest place that it can have, and the cheapest at that moment, can do
//! better only at starts from which one of its tasks would touch nodes that have become free since
//! it was looked at: with less free than before no start becomes possible, and none cheaper. A
//! walk in queue order looks at such starts alone. What opens as a job moves away is seen by the
//! jobs behind it in the same walk, and by those ahead of it in the next one.

use tradewind_model::Span;

use crate::policy::backfill::Rank;
use crate::policy::grid::{Free, PlacementRequest, PoolOpening, Starts};

/// What became free, by pool.
#[derive(Debug, Clone, Default)]
pub(in crate::policy) struct Openings {
    pools: Vec<Openness>,
    /// The pools of which there is something to see in this walk.
    seen: Vec<usize>,
}

/// Of one pool.
#[derive(Debug, Clone)]
struct Openness {
    /// For every job that this walk has not reached yet.
    ahead: PoolOpening,
    /// For jobs before a rank, as the last walk had passed them; ascending, and each with all that
    /// come after it.
    missed: Vec<(Rank, PoolOpening)>,
    /// How many of them this walk has left behind.
    passed: usize,
    /// For jobs before a rank, as this walk has passed them.
    next: Vec<(Rank, PoolOpening)>,
    /// Whether there is something to see in this walk.
    is_seen: bool,
}

impl Default for Openness {
    fn default() -> Openness {
        let (missed, next) = (Vec::new(), Vec::new());
        Openness { ahead: PoolOpening::NONE, missed, passed: 0, next, is_seen: false }
    }
}

impl Openings {
    /// Takes note of what became free since the last call, for every job of the next walk, or
    /// those that this one has not reached.
    pub(super) fn note(&mut self, free: &mut Free) {
        let count = free.profiles().len() + free.licences().len();
        self.pools.resize_with(count, Openness::default);
        for (pool, opening) in self.pools.iter_mut().zip(free.opened()) {
            pool.ahead = pool.ahead.and(opening);
            pool.is_seen = pool.ahead != PoolOpening::NONE || !pool.missed.is_empty();
        }
        self.seen.clear();
        self.seen.extend((0..count).filter(|at| self.pools[*at].is_seen));
    }

    /// The same as a job moved away or left.
    pub(super) fn note_move(&mut self, free: &mut Free, rank: Rank) {
        for (at, (pool, opening)) in self.pools.iter_mut().zip(free.opened()).enumerate() {
            if opening != PoolOpening::NONE {
                pool.ahead = pool.ahead.and(opening);
                pool.next.push((rank, opening));
                if !std::mem::replace(&mut pool.is_seen, true) {
                    self.seen.push(at);
                }
            }
        }
    }

    /// The walk is over.
    pub(super) fn turn(&mut self) {
        for pool in &mut self.pools {
            (pool.ahead, pool.passed) = (PoolOpening::NONE, 0);
            std::mem::swap(&mut pool.missed, &mut pool.next);
            pool.next.clear();
            let mut after = PoolOpening::NONE;
            for (_, opening) in pool.missed.iter_mut().rev() {
                after = after.and(*opening);
                *opening = after;
            }
        }
    }

    /// Starts at which the job could do better. To be asked in queue order.
    pub(super) fn starts(&mut self, rank: Rank, wish: &PlacementRequest) -> Starts {
        for at in &self.seen {
            let pool = &mut self.pools[*at];
            let behind = |(before, _): &(Rank, PoolOpening)| *before <= rank;
            pool.passed += pool.missed[pool.passed..].iter().take_while(|it| behind(it)).count();
        }
        let mut all = PoolOpening::NONE;
        if self.seen.is_empty() {
            return Starts { from: all.from, until: all.until };
        }
        for (pool, length) in wish.pools().chain(wish.licences()) {
            let pool = &self.pools[pool.index()];
            if !pool.is_seen {
                continue;
            }
            let missed = pool.missed.get(pool.passed).map_or(PoolOpening::NONE, |it| it.1);
            let opening = pool.ahead.and(missed);
            let from = opening.from - length + Span(1);
            all = all.and(PoolOpening { from, until: opening.until });
        }
        Starts { from: all.from, until: all.until }
    }
}
