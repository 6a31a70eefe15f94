//! Jobs that wait in a row beside a profile, the first of them (or all) with reservations.
//!
//! The rule of the module above, without a market: the owner of the line passes it what became
//! free, and writes down which jobs started.

use tradewind_model::{JobId, Level, Profile, Span, Time};

use super::Depth;
use super::bounds::Bounds;
use super::moves::Moves;
use super::queue::Queue;
use super::shelves::{Limits, Reservations};
use super::waiting::{Rank, Waiting};
use crate::policy::availability::Taken;

/// As long as there were never more jobs than this, it is quicker to look at each.
const SHORT_QUEUE: usize = if cfg!(test) { 2 } else { 32 };

/// The waiting jobs of one pool, and what their reservations need. Reservations are taken in the
/// profile that is given with each call; jobs that start take their place there, too, leave the
/// line and are added to `started`.
#[derive(Debug, Clone)]
pub(in crate::policy) struct Line {
    depth: Depth,
    pub(super) queue: Queue,
    /// With a reservation for every job: who may move.
    pub(super) moves: Moves,
    /// The same: where new jobs may go.
    pub(super) bounds: Bounds,
    /// Buffer that is kept to avoid allocations.
    running_minima: Vec<Level>,
}

impl Line {
    /// No job waits.
    pub(in crate::policy) fn new(depth: Depth) -> Line {
        let (moves, bounds) = (Moves::default(), Bounds::default());
        Line { depth, queue: Queue::default(), moves, bounds, running_minima: Vec::new() }
    }

    /// The same, looking at jobs that may have come to fit only, however short the line is.
    #[cfg(test)]
    pub(in crate::policy) fn searching(mut self) -> Line {
        self.moves.jobs_per_search = 0;
        self.bounds.long_queue = 0;
        self
    }

    /// When the first reservation begins.
    pub(in crate::policy) fn first_reservation(&self) -> Option<Time> {
        self.queue.first_reservation()
    }

    /// The job as it waits. O(w).
    pub(in crate::policy) fn find(&self, job: JobId) -> Option<&Waiting> {
        self.queue.find(job)
    }

    /// The job of this rank as it waits.
    pub(in crate::policy) fn get(&self, rank: Rank) -> Option<Waiting> {
        self.queue.get(rank)
    }

    /// Jobs that wait, in order.
    pub(in crate::policy) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.queue.iter()
    }

    /// The first in the order.
    pub(in crate::policy) fn first(&self) -> Option<Rank> {
        self.queue.first()
    }

    /// Gives all reservations back in a copy of the profile.
    pub(in crate::policy) fn lift(&self, copy: &mut Profile) {
        for (start, waiting) in self.queue.reservations() {
            waiting.give(copy, start);
        }
    }

    /// The last in the order.
    pub(in crate::policy) fn last(&self) -> Option<Rank> {
        self.queue.last()
    }

    /// Jobs that wait.
    pub(in crate::policy) fn len(&self) -> usize {
        self.queue.len()
    }

    /// A job leaves, and gives its reservation back.
    pub(in crate::policy) fn remove(
        &mut self,
        profile: &mut Profile,
        rank: Rank,
    ) -> Option<Waiting> {
        let waiting = self.queue.get(rank)?;
        self.queue.remove(rank);
        self.moves.unplace(rank);
        if let Some(start) = waiting.reserved {
            waiting.give(profile, start);
            self.opened(start, start + waiting.estimate);
        }
        Some(waiting)
    }

    /// Processors became free that were taken in the profile.
    pub(in crate::policy) fn note(&mut self, opened: impl Iterator<Item = Taken>) {
        opened.for_each(|Taken { from, until, .. }| self.opened(from, until));
    }

    fn opened(&mut self, from: Time, until: Time) {
        if self.depth == Depth::All {
            self.moves.open(from, until);
            self.bounds.clear();
        }
    }

    /// The profile was made again, without reservations.
    pub(in crate::policy) fn forget(&mut self) {
        while self.queue.pop_reservation().is_some() {}
        if self.depth == Depth::All {
            self.moves.place_all(&self.queue);
            self.bounds.clear();
        }
    }

    /// Drops all reservations, and puts every job where `place` says. The profile has to be made
    /// again.
    pub(in crate::policy) fn reorder(&mut self, place: impl Fn(Waiting) -> Waiting) {
        self.queue.reorder(place);
    }

    /// Adds a job that [`Line::pass`] looks at.
    pub(in crate::policy) fn insert(&mut self, waiting: Waiting) {
        self.queue.insert(waiting);
        if self.depth == Depth::All {
            self.moves.place(waiting.rank);
        }
    }

    /// Looks at all jobs that may start, or whose reservations may change.
    pub(in crate::policy) fn pass(&mut self, profile: &mut Profile, started: &mut Vec<Waiting>) {
        match self.depth {
            Depth::First(count) => self.walk(profile, count as usize, started),
            Depth::All => self.move_all(profile, started),
        }
    }

    fn start(&mut self, profile: &mut Profile, waiting: &Waiting, started: &mut Vec<Waiting>) {
        waiting.take(profile, profile.origin());
        self.queue.remove(waiting.rank);
        started.push(*waiting);
    }

    /// Starts the job now or else gives it a reservation; returns when it starts.
    pub(super) fn place(
        &mut self,
        profile: &mut Profile,
        waiting: &Waiting,
        started: &mut Vec<Waiting>,
    ) -> Option<Time> {
        let known = match waiting.reserved {
            None => self.bounds.of(waiting),
            Some(_) => profile.origin(), // the job itself has just given its place back
        };
        let start = waiting.earliest(profile, known);
        self.settle(profile, waiting, start, started);
        start
    }

    /// Starts the job, if that is now, or else writes its reservation down.
    pub(super) fn settle(
        &mut self,
        profile: &mut Profile,
        waiting: &Waiting,
        start: Option<Time>,
        started: &mut Vec<Waiting>,
    ) {
        match start {
            Some(at) if at == profile.origin() => self.start(profile, waiting, started),
            Some(at) => {
                waiting.take(profile, at);
                self.queue.reserve(waiting.rank, start);
                if self.depth == Depth::All {
                    self.bounds.learn(waiting, at, self.queue.len());
                }
            }
            None => self.queue.reserve(waiting.rank, None),
        }
    }

    /// Looks at the whole queue, with reservations for the first `count` waiting jobs.
    fn walk(&mut self, profile: &mut Profile, count: usize, started: &mut Vec<Waiting>) {
        let mut after = if count == 1 { self.settled_head(profile) } else { None };
        let mut kept = usize::from(after.is_some());
        if after.is_none() {
            while let Some(waiting) = self.queue.pop_reservation() {
                waiting.reserved.into_iter().for_each(|start| waiting.give(profile, start));
            }
        }
        while kept < count {
            let Some(waiting) = self.queue.after(after) else { return };
            after = Some(waiting.rank);
            let start = self.place(profile, &waiting, started);
            kept += usize::from(start != Some(profile.origin()));
        }
        match count {
            0 => self.start_heads(profile, started),
            _ => self.fill(profile, after, started),
        }
    }

    /// Starts the first jobs as long as they fit.
    fn start_heads(&mut self, profile: &mut Profile, started: &mut Vec<Waiting>) {
        while profile.free_now() > 0
            && let Some(head) = self.queue.after(None).filter(|head| head.fits(profile))
        {
            self.start(profile, &head, started);
        }
    }

    /// Starts every job after `after` that fits beside all reservations, in order.
    pub(in crate::policy) fn fill(
        &mut self,
        profile: &mut Profile,
        mut after: Option<Rank>,
        started: &mut Vec<Waiting>,
    ) {
        while profile.free_now() > 0
            && let Some(waiting) = self.next_that_fits(after, profile)
        {
            after = Some(waiting.rank);
            self.start(profile, &waiting, started);
        }
    }

    /// The first job after `after` that fits now.
    fn next_that_fits(&mut self, after: Option<Rank>, profile: &Profile) -> Option<Waiting> {
        if self.queue.len() < SHORT_QUEUE && !self.queue.is_shelved() {
            return self.queue.from(after).find(|waiting| waiting.fits(profile));
        }
        self.queue.shelve(Reservations::Ignored);
        self.queue.next_that_fits(after, profile, &mut self.running_minima)
    }

    /// Starts a job that waits, if it fits beside all reservations.
    pub(in crate::policy) fn try_start(
        &mut self,
        profile: &mut Profile,
        rank: Rank,
        started: &mut Vec<Waiting>,
    ) {
        if let Some(waiting) = self.queue.get(rank).filter(|waiting| waiting.fits(profile)) {
            self.start(profile, &waiting, started);
        }
    }

    /// The head of the queue, if it has the only reservation and would get the same one again.
    fn settled_head(&self, profile: &Profile) -> Option<Rank> {
        let head = self.queue.after(None)?;
        let held = head.reserved.filter(|start| *start > profile.origin())?;
        head.earlier(profile, held).is_none().then_some(head.rank)
    }

    /// Adds a job that comes after all others (with a reservation for every job: anywhere) and
    /// looks at it alone. Nothing may have become free since the last pass.
    pub(in crate::policy) fn try_one(
        &mut self,
        profile: &mut Profile,
        waiting: Waiting,
        started: &mut Vec<Waiting>,
    ) {
        let before = self.queue.len();
        let reserves = match self.depth {
            Depth::All => true,
            Depth::First(depth) => {
                let may_start = depth > 0 || before == 0;
                let room = profile.free_now() >= i64::from(waiting.processors);
                if may_start && room && waiting.fits(profile) {
                    waiting.take(profile, profile.origin());
                    return started.push(waiting);
                }
                before < depth as usize
            }
        };
        self.queue.insert(waiting);
        if reserves {
            self.place(profile, &waiting, started);
        }
    }
}

/// How long a job of this width may take to fit now; `None` if it cannot fit. `running_minima` is how the
/// least level from now on sinks.
fn limits(running_minima: &[Level], processors: u32) -> Option<Limits> {
    let wanted = i64::from(processors);
    let now = running_minima.first().filter(|low| low.free >= wanted)?.at;
    let short = running_minima.iter().find(|low| low.free < wanted);
    Some(Limits::within(short.map_or(Span(i64::MAX), |low| low.at - now)))
}

impl Queue {
    /// The first job after `after` that fits now. There must be shelves; `running_minima` is a buffer.
    pub(in crate::policy) fn next_that_fits(
        &self,
        after: Option<Rank>,
        profile: &Profile,
        running_minima: &mut Vec<Level>,
    ) -> Option<Waiting> {
        running_minima.clear();
        profile.running_minima(profile.origin(), running_minima);
        let rank = self.next(after, None, |processors| limits(running_minima, processors))?;
        self.get(rank)
    }
}
