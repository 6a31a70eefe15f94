//! Conservative backfilling: waiting jobs move closer, looking only at those that can.
//!
//! In a walk each waiting job in queue order moves to the earliest place beside all others. A job
//! that could not move when it was last looked at can do so now only where processors have become
//! free since: in an [`Opening`], made by a job that ended early or by another one that moved
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

use tradewind_model::{Command, Profile, Time};

use super::Backfill;
use super::openings::{Opening, Outline};
use super::queue::Queue;
use super::waiting::{Rank, Waiting};

/// It takes as long to follow an opening up as to look at about so many jobs (measured).
const JOBS_PER_OPENING: usize = 32;

/// What the next walk has to look at.
#[derive(Debug)]
pub(super) struct Moves {
    /// [`JOBS_PER_OPENING`], but in tests.
    pub(super) jobs_per_opening: usize,
    openings: Vec<Opening>,
    /// Jobs without a reservation.
    unplaced: BTreeSet<Rank>,
    /// Buffers.
    all: Vec<Waiting>,
    outline: Outline,
}

impl Default for Moves {
    fn default() -> Moves {
        Moves {
            jobs_per_opening: JOBS_PER_OPENING,
            openings: Vec::new(),
            unplaced: BTreeSet::new(),
            all: Vec::new(),
            outline: Outline::default(),
        }
    }
}

impl Moves {
    /// Processors became free.
    pub(super) fn open(&mut self, from: Time, until: Time) {
        if from < until {
            self.openings.push(Opening::new(from, until, None));
        }
    }

    /// A job has no reservation yet.
    pub(super) fn place(&mut self, rank: Rank) {
        self.unplaced.insert(rank);
    }

    /// No job has a reservation.
    pub(super) fn place_all(&mut self, queue: &Queue) {
        self.openings.clear();
        self.unplaced = queue.iter().map(|waiting| waiting.rank).collect();
    }
}

/// One walk through the queue.
struct Walk {
    openings: Vec<Opening>,
    /// The next candidate of each opening.
    next: BinaryHeap<Reverse<(Rank, usize)>>,
    /// The job that was looked at last.
    seen: Option<Rank>,
    /// Jobs to be looked at whatever opens.
    listed: BTreeSet<Rank>,
    /// What jobs ahead will have to look at in the next walk.
    left: Vec<Opening>,
}

impl Walk {
    /// Finds the opening's first candidate that comes after the job seen last.
    fn seek(&mut self, index: usize, queue: &Queue) {
        let opening = &self.openings[index];
        let limits = |processors| opening.limits(processors);
        let next = queue.next(self.seen, opening.before, limits);
        self.next.extend(next.map(|rank| Reverse((rank, index))));
    }

    /// The first job that comes after the one seen last.
    fn first(&self) -> Option<Rank> {
        let candidate = self.next.peek().map(|Reverse((rank, _))| *rank);
        self.listed.first().copied().into_iter().chain(candidate).min()
    }
}

impl Backfill {
    /// Looks at all jobs that can start or move.
    pub(super) fn move_all(&mut self, profile: &mut Profile, commands: &mut Vec<Command>) {
        let now = profile.origin();
        self.moves.openings.retain(|opening| !opening.is_over(now));
        let worth = (self.moves.openings.len() + 1).saturating_mul(self.moves.jobs_per_opening);
        match self.queue.len() > worth {
            true => self.walk_candidates(profile, commands),
            false => self.walk_all(profile, commands),
        }
    }

    /// Looks at every job.
    fn walk_all(&mut self, profile: &mut Profile, commands: &mut Vec<Command>) {
        self.moves.openings.clear();
        self.moves.unplaced.clear();
        let mut all = std::mem::take(&mut self.moves.all);
        all.extend(self.queue.iter());
        for waiting in all.drain(..) {
            if let Some((from, until)) = self.examine(profile, &waiting, commands) {
                self.moves.openings.push(Opening::new(from, until, Some(waiting.rank)));
            }
        }
        self.moves.all = all;
    }

    /// Looks at jobs that may have come to fit somewhere earlier.
    fn walk_candidates(&mut self, profile: &mut Profile, commands: &mut Vec<Command>) {
        let mut outline = std::mem::take(&mut self.moves.outline);
        let openings = std::mem::take(&mut self.moves.openings);
        let mut listed = std::mem::take(&mut self.moves.unplaced);
        listed.extend(self.queue.due(profile.origin()));
        let (next, left) = (BinaryHeap::new(), Vec::new());
        let mut walk = Walk { openings, next, seen: None, listed, left };
        for index in 0..walk.openings.len() {
            walk.openings[index].measure(profile, &mut outline);
            walk.seek(index, &self.queue);
        }
        while let Some(rank) = walk.first() {
            walk.seen = Some(rank);
            walk.listed.remove(&rank);
            let waiting = self.queue.get(rank);
            let opened = waiting.and_then(|it| self.examine(profile, &it, commands));
            if let Some((from, until)) = opened {
                let mut opening = Opening::new(from, until, None);
                opening.measure(profile, &mut outline);
                walk.openings.push(opening);
                walk.seek(walk.openings.len() - 1, &self.queue);
                walk.left.push(Opening::new(from, until, Some(rank)));
            }
            while let Some(&Reverse((other, index))) = walk.next.peek()
                && other == rank
            {
                walk.next.pop();
                // What it was measured to be is still enough for every candidate. A false one is
                // the sign that others have taken the room since.
                if opened.is_none() {
                    walk.openings[index].measure(profile, &mut outline);
                }
                walk.seek(index, &self.queue);
            }
        }
        self.moves.openings = walk.left;
        self.moves.outline = outline;
    }

    /// Starts the job, moves it or leaves it; returns what opens where it was.
    fn examine(
        &mut self,
        profile: &mut Profile,
        waiting: &Waiting,
        commands: &mut Vec<Command>,
    ) -> Option<(Time, Time)> {
        if waiting.stays(profile) {
            return None;
        }
        let before = waiting.reserved;
        before.into_iter().for_each(|start| waiting.give(profile, start));
        let start = self.place(profile, waiting, commands);
        if start.is_none() {
            self.moves.place(waiting.rank);
        }
        let (from, until) = (before?, before? + waiting.estimate);
        let from = start.map_or(from, |start| from.max(start + waiting.estimate));
        (from < until).then_some((from, until))
    }
}
