//! The queue beside one profile: jobs that ask for nodes and time only.

use tradewind_model::{Level, Profile, Span, Time};

use super::Depth;
use super::bounds::Bounds;
use super::line::Line;
use super::moves::MoveCandidates;
use super::no_room::NoRoom;
use super::queue::Queue;
use super::shelves::{Limits, Reservations};
use super::space::Space;
use super::waiting::{Rank, Waiting};
use crate::policy::availability::Taken;

/// As long as there were never more jobs than this, it is quicker to look at each.
const SHORT_QUEUE: usize = if cfg!(test) { 2 } else { 32 };

/// The queue of one pool.
pub(in crate::policy) type PoolLine = Line<Profile>;

/// What it remembers.
#[derive(Debug, Clone, Default)]
pub(in crate::policy) struct PoolMemory {
    /// With a reservation for every job: which jobs may move.
    pub(super) moves: MoveCandidates,
    /// The same: where new jobs may go.
    pub(super) bounds: Bounds,
    /// The same: where searches found no room.
    pub(super) no_room: NoRoom,
    /// A buffer.
    running_minima: Vec<Level>,
}

impl Space for Profile {
    type Job = Waiting;
    type Place = Taken;
    type Outcome = Waiting;
    type Memory = PoolMemory;

    fn any_free(&self) -> bool {
        self.free_now() > 0
    }

    fn first_place(&mut self, job: &Waiting, memory: &mut PoolMemory) -> Option<Taken> {
        let known = match job.reserved {
            None => memory.bounds.of((job.processors, job.estimate)),
            Some(_) => self.origin(), // the job itself has just given its place back
        };
        let size = (job.processors, job.estimate);
        let found = memory.no_room.earlier(self, size, (known, Time::INFINITY));
        found.map(|at| job.taken(at))
    }

    fn place_now(&mut self, job: &Waiting) -> Option<Taken> {
        let now = self.origin();
        let fits = self.free_now() >= i64::from(job.processors)
            && self.fits(job.processors, now, job.estimate);
        fits.then(|| job.taken(now))
    }

    fn start_of(place: &Taken) -> Time {
        place.from
    }

    fn started(job: Waiting, _: Taken) -> Waiting {
        job
    }

    fn reserve(&mut self, place: &Taken) {
        self.take(place.share.nodes, place.from, place.until);
    }

    fn release(&mut self, job: &Waiting) {
        if let Some(start) = job.reserved {
            self.give(job.processors, start, start + job.estimate);
        }
    }

    fn keeps(&self, first: &Waiting) -> bool {
        let held = first.reserved.filter(|start| *start > self.origin());
        held.is_some_and(|held| first.earlier(self, held).is_none())
    }

    /// In a long queue by width.
    fn next_that_fits(
        &mut self,
        queue: &mut Queue<Waiting>,
        memory: &mut PoolMemory,
        after: Option<Rank>,
    ) -> Option<(Rank, Taken)> {
        let now = self.origin();
        let found = if queue.len() < SHORT_QUEUE && !queue.is_shelved() {
            let fits = |job: &&Waiting| self.fits(job.processors, now, job.estimate);
            queue.candidates(after).find(fits)?
        } else {
            let unreserved = queue.has_turns();
            queue.shelve(if unreserved { Reservations::Known } else { Reservations::Ignored });
            let running_minima = &mut memory.running_minima;
            running_minima.clear();
            self.running_minima(now, running_minima);
            let limits = |processors| {
                let within = limits(running_minima, processors)?;
                Some(if unreserved { within.unreserved() } else { within })
            };
            let rank = queue.next(after, None, limits)?;
            queue.get(rank)?
        };
        Some((found.rank, found.taken(now)))
    }

    /// All of them.
    fn ahead(queue: &Queue<Waiting>, _: Rank, _: usize) -> usize {
        queue.len()
    }

    fn improve(line: &mut PoolLine, profile: &mut Profile, started: &mut Vec<Waiting>) {
        line.move_all(profile, started);
    }

    fn learn(memory: &mut PoolMemory, place: &Taken, jobs: usize) {
        let Taken { share, from, until, .. } = *place;
        memory.bounds.learn((share.nodes, until - from), from, jobs);
        memory.no_room.is_told_of_openings();
    }

    fn joined(memory: &mut PoolMemory, rank: Rank) {
        memory.moves.place(rank);
    }

    fn left(memory: &mut PoolMemory, job: &Waiting) {
        memory.moves.unplace(job.rank);
        if let Some(start) = job.reserved {
            memory.open(start, start + job.estimate);
        }
    }

    fn forgot(memory: &mut PoolMemory, queue: &mut Queue<Waiting>) {
        memory.moves.place_all(queue);
        memory.bounds.clear();
        memory.no_room.clear();
    }
}

impl PoolMemory {
    /// Searches may find room that was not there before.
    pub(super) fn widen(&mut self, from: Time, until: Time) {
        self.bounds.clear();
        self.no_room.open(from, until);
    }

    /// Processors became free.
    fn open(&mut self, from: Time, until: Time) {
        self.moves.open(from, until);
        self.widen(from, until);
    }
}

impl PoolLine {
    /// The same, looking at jobs that may have come to fit only, however short the queue is.
    #[cfg(test)]
    pub(in crate::policy) fn searching(mut self) -> PoolLine {
        self.memory.moves.jobs_per_search = 0;
        self.memory.bounds.long_queue = 0;
        self.memory.no_room.long = 0;
        self
    }

    /// Gives all reservations back in a copy of the profile.
    pub(in crate::policy) fn lift(&self, copy: &mut Profile) {
        self.queue.reservations().for_each(|(_, waiting)| copy.release(waiting));
    }

    /// With a reservation for every job: whether another pass could move jobs that were looked at
    /// before others moved away.
    pub(in crate::policy) fn is_unfinished(&self) -> bool {
        self.depth == Depth::All && self.memory.moves.are_unfinished()
    }

    /// Processors became free that were taken in the profile.
    pub(in crate::policy) fn note(&mut self, opened: impl Iterator<Item = Taken>) {
        for Taken { from, until, .. } in opened.filter(|_| self.depth == Depth::All) {
            self.memory.open(from, until);
        }
    }
}

/// How long a job of this width may take to fit now; `None` if it cannot fit. `running_minima` is
/// how the lowest level from now on sinks.
fn limits(running_minima: &[Level], processors: u32) -> Option<Limits> {
    let wanted = i64::from(processors);
    let now = running_minima.first().filter(|low| low.free >= wanted)?.at;
    let short = running_minima.iter().find(|low| low.free < wanted);
    Some(Limits::within(short.map_or(Span(i64::MAX), |low| low.at - now)))
}
