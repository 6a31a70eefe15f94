//! Conservative backfilling: waiting jobs move closer, looking only at those that can.
//!
//! In a walk each waiting job in queue order moves to the earliest place beside all others. A job
//! that could not move when it was last looked at can do so now only where processors have become
//! free since: in an [`FreedInterval`], made by a job that ended early or by another one that moved
//! away. So openings are kept until every job has had its turn at them (for jobs ahead of the one
//! that moved that is the next walk), and the walk goes from one job that may have come to fit
//! to the next one.
//!
//! With m openings, c candidates and d widths: O((m + c)(d + k + log w)), k being the steps of the
//! profile within an opening. A candidate that does not move after all costs a search. Early ends
//! in a long queue move many jobs, and no short cut can avoid that; when jobs end as expected,
//! nothing opens and nothing is looked at. In a short queue it is quicker to look at every job:
//! O(w) searches.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use tradewind_model::{Profile, Time};

use super::openings::{FreeOutline, FreedInterval};
use super::pool::PoolLine;
use super::queue::Queue;
use super::shelves::Reservations;
use super::space::Space;
use super::waiting::{Rank, Waiting};

/// To look for a candidate pays only if it spares a look at so many jobs (measured).
const JOBS_PER_SEARCH: usize = 64;

/// Where fewer searches than this would be worth their while, none is begun.
const LEAST_SEARCHES: usize = 4;

/// What the next walk has to look at.
#[derive(Debug, Clone)]
pub(super) struct MoveCandidates {
    /// [`JOBS_PER_SEARCH`], but in tests.
    pub(super) jobs_per_search: usize,
    openings: Vec<FreedInterval>,
    patience: Patience,
    /// Jobs without a reservation.
    unplaced: BTreeSet<Rank>,
    /// Buffers that are kept to avoid allocations.
    all: Vec<Waiting>,
    outline: FreeOutline,
}

impl Default for MoveCandidates {
    fn default() -> MoveCandidates {
        MoveCandidates {
            jobs_per_search: JOBS_PER_SEARCH,
            openings: Vec::new(),
            patience: Patience::default(),
            unplaced: BTreeSet::new(),
            all: Vec::new(),
            outline: FreeOutline::default(),
        }
    }
}

impl MoveCandidates {
    /// Processors became free.
    pub(super) fn open(&mut self, from: Time, until: Time) {
        self.openings.push(FreedInterval::new(from, until, None));
    }

    /// A job has no reservation yet.
    pub(super) fn place(&mut self, rank: Rank) {
        self.unplaced.insert(rank);
    }

    /// A job is gone.
    pub(super) fn unplace(&mut self, rank: Rank) {
        self.unplaced.remove(&rank);
    }

    /// Whether jobs moved away that were looked at after some that could take their places.
    pub(super) fn are_unfinished(&self) -> bool {
        self.openings.iter().any(|opening| opening.before.is_some())
    }

    /// No job has a reservation.
    pub(super) fn place_all(&mut self, queue: &Queue<Waiting>) {
        self.openings.clear();
        self.unplaced = queue.iter().map(|waiting| waiting.rank).collect();
    }
}

/// How far a walk came.
enum WalkExtent {
    All,
    UpTo(Option<Rank>),
}

/// Where walks from candidate to candidate were given up, the next ones are not begun: to put all
/// jobs on shelves for nothing costs more than to look at them. They are tried again after ever
/// more passes.
#[derive(Debug, Clone, Copy, Default)]
struct Patience {
    /// Walks that were given up, one after the other.
    given_up: u32,
    /// Passes without a try.
    left_out: u32,
}

impl Patience {
    const MOST: u32 = 6;

    fn try_again(&mut self) -> bool {
        let due = self.left_out + 1 >= 1 << self.given_up;
        self.left_out = if due { 0 } else { self.left_out + 1 };
        due
    }

    fn learn(&mut self, seen: &WalkExtent) {
        self.given_up = match seen {
            WalkExtent::All => 0,
            WalkExtent::UpTo(_) => (self.given_up + 1).min(Patience::MOST),
        };
    }
}

/// One walk through the queue.
struct QueueWalk<'m> {
    openings: Vec<FreedInterval>,
    /// The next candidate of each opening.
    next: BinaryHeap<Reverse<(Rank, usize)>>,
    /// The last job that was examined.
    seen: Option<Rank>,
    /// Jobs to be looked at whatever opens.
    listed: BTreeSet<Rank>,
    /// How many more searches are worth their while.
    searches: usize,
    outline: &'m mut FreeOutline,
}

impl QueueWalk<'_> {
    /// Finds the opening's first candidate that comes after the job seen last.
    fn seek(&mut self, index: usize, queue: &Queue<Waiting>) {
        self.searches = self.searches.saturating_sub(1);
        let opening = &self.openings[index];
        let limits = |processors| opening.limits(processors);
        let next = queue.next(self.seen, opening.before, limits);
        self.next.extend(next.map(|rank| Reverse((rank, index))));
    }

    fn add(&mut self, mut opening: FreedInterval, profile: &Profile, queue: &Queue<Waiting>) {
        opening.measure(profile, self.outline);
        self.openings.push(opening);
        self.seek(self.openings.len() - 1, queue);
    }

    /// Finds new candidates for openings that had `rank` as their next one. What an opening was
    /// measured to be is enough for every candidate; a false one is the sign that others have
    /// taken the room since.
    fn pass(&mut self, rank: Rank, false_one: bool, profile: &Profile, queue: &Queue<Waiting>) {
        while let Some(&Reverse((other, index))) = self.next.peek()
            && other == rank
        {
            self.next.pop();
            if false_one {
                self.openings[index].measure(profile, self.outline);
            }
            self.seek(index, queue);
        }
    }

    /// The first job that comes after the one seen last.
    fn first(&self) -> Option<Rank> {
        let candidate = self.next.peek().map(|Reverse((rank, _))| *rank);
        self.listed.first().copied().into_iter().chain(candidate).min()
    }
}

impl PoolLine {
    /// Looks at all jobs that can start or move: going from candidate to candidate as long as
    /// that is quicker than to look at every job, and then at every job.
    pub(super) fn move_all(&mut self, profile: &mut Profile, started: &mut Vec<Waiting>) {
        let now = profile.origin();
        let mut openings = std::mem::take(&mut self.memory.moves.openings);
        openings.retain(|opening| !opening.is_over(now));
        let limit =
            self.queue.len().checked_div(self.memory.moves.jobs_per_search).unwrap_or(usize::MAX);
        let worthwhile = openings.len() + LEAST_SEARCHES <= limit;
        let seen = match worthwhile && self.memory.moves.patience.try_again() {
            true => {
                let seen = self.walk_candidates(profile, openings, limit, started);
                self.memory.moves.patience.learn(&seen);
                seen
            }
            false => WalkExtent::UpTo(None),
        };
        if let WalkExtent::UpTo(rank) = seen {
            self.queue.unshelve();
            self.walk_rest(profile, rank, started);
        }
    }

    /// Looks at jobs that may have come to fit somewhere earlier.
    fn walk_candidates(
        &mut self,
        profile: &mut Profile,
        openings: Vec<FreedInterval>,
        searches: usize,
        started: &mut Vec<Waiting>,
    ) -> WalkExtent {
        self.queue.shelve(Reservations::Known);
        let mut outline = std::mem::take(&mut self.memory.moves.outline);
        let mut listed = std::mem::take(&mut self.memory.moves.unplaced);
        listed.extend(self.queue.due(profile.origin()));
        let mut walk = QueueWalk {
            openings: Vec::new(),
            next: BinaryHeap::new(),
            seen: None,
            listed,
            searches,
            outline: &mut outline,
        };
        openings.into_iter().for_each(|opening| walk.add(opening, profile, &self.queue));
        let mut seen = WalkExtent::All;
        while let Some(rank) = walk.first() {
            if walk.searches == 0 {
                seen = WalkExtent::UpTo(walk.seen);
                break;
            }
            walk.seen = Some(rank);
            walk.listed.remove(&rank);
            let waiting = self.queue.get(rank).copied();
            let opened = waiting.and_then(|it| self.examine(profile, &it, started));
            if let Some((from, until)) = opened {
                walk.add(FreedInterval::new(from, until, None), profile, &self.queue);
            }
            walk.pass(rank, opened.is_none(), profile, &self.queue);
        }
        self.memory.moves.outline = outline;
        seen
    }

    /// Looks at every job after `seen`.
    fn walk_rest(&mut self, profile: &mut Profile, seen: Option<Rank>, started: &mut Vec<Waiting>) {
        let mut all = std::mem::take(&mut self.memory.moves.all);
        all.extend(self.queue.from(seen).copied());
        for waiting in all.drain(..) {
            self.memory.moves.unplaced.remove(&waiting.rank);
            self.examine(profile, &waiting, started);
        }
        self.memory.moves.all = all;
    }

    /// Starts the job, moves it or leaves it; returns what opens where it was.
    fn examine(
        &mut self,
        profile: &mut Profile,
        waiting: &Waiting,
        started: &mut Vec<Waiting>,
    ) -> Option<(Time, Time)> {
        let before = waiting.reserved;
        let place = match before {
            Some(held) if held > profile.origin() => {
                let (size, now) = ((waiting.processors, waiting.estimate), profile.origin());
                let earlier = self.memory.no_room.earlier(profile, size, (now, held))?;
                profile.release(waiting);
                Some(waiting.taken(earlier))
            }
            _ => {
                profile.release(waiting);
                let held = before.map(|held| (held, held + waiting.estimate));
                held.into_iter().for_each(|(from, until)| self.memory.widen(from, until));
                profile.first_place(waiting, &mut self.memory)
            }
        };
        let start = place.map(|place| place.from);
        self.settle(profile, (waiting.rank, place), started);
        if start.is_none() {
            self.memory.moves.place(waiting.rank);
        }
        let (from, until) = (before?, before? + waiting.estimate);
        let from = start.map_or(from, |start| from.max(start + waiting.estimate));
        if from >= until {
            return None;
        }
        self.memory.widen(from, until);
        // Jobs ahead of this one have their turn in the next walk.
        self.memory.moves.openings.push(FreedInterval::new(from, until, Some(waiting.rank)));
        Some((from, until))
    }
}
