//! The queue beside many pools: jobs that ask for prices, deadlines and performances, too.

use tradewind_model::{JobId, Reason, Span, Time};

use super::openings::Openings;
use super::waiting::PoolsJob;
use crate::policy::availability::Capacity;
use crate::policy::backfill::{Line, Queue, QueuedJob, Rank, Space};
use crate::policy::grid::{Booking, Free, Starts};

/// What happens to a job in a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) enum Outcome {
    /// It starts now.
    Starts(Booking),
    /// It can never run.
    Refused(Reason),
}

impl Space for Free {
    type Job = PoolsJob;
    type Place = Booking;
    type Outcome = (Rank, Outcome);
    type Memory = Openings;

    fn any_free(&self) -> bool {
        self.profiles().iter().any(|profile| profile.free_now() > 0)
    }

    fn first_place(&mut self, job: &PoolsJob, _: &mut Openings) -> Option<Booking> {
        let now = self.now();
        job.wish.earliest(self, now)
    }

    fn place_now(&mut self, job: &PoolsJob) -> Option<Booking> {
        let now = self.now();
        job.wish.now(self, now)
    }

    fn start_of(place: &Booking) -> Time {
        place.start
    }

    fn started(job: PoolsJob, place: Booking) -> (Rank, Outcome) {
        (job.rank, Outcome::Starts(place))
    }

    fn reserve(&mut self, place: &Booking) {
        place.taken().for_each(|taken| self.take(taken));
    }

    fn release(&mut self, job: &PoolsJob) {
        job.reserved.iter().flat_map(Booking::taken).for_each(|taken| self.give(taken));
    }

    /// One by one.
    fn next_that_fits(
        &mut self,
        queue: &mut Queue<PoolsJob>,
        _: &mut Openings,
        after: Option<Rank>,
    ) -> Option<(Rank, Booking)> {
        queue.candidates(after).find_map(|job| Some((job.rank, self.place_now(job)?)))
    }

    fn ahead(queue: &Queue<PoolsJob>, rank: Rank, enough: usize) -> usize {
        let before = queue.iter().take_while(|job| job.rank < rank);
        before.filter(|job| job.waits_for_nodes()).take(enough).count()
    }

    /// Looks at every job, and at those starts alone that nodes became free for since its last
    /// look.
    fn improve(line: &mut Line<Free>, free: &mut Free, outcomes: &mut Vec<(Rank, Outcome)>) {
        let now = free.now();
        let Line { queue, memory, .. } = line;
        memory.note(free);
        queue.retain(|waiting| {
            if let Some(reason) = waiting.wish.too_late(now) {
                free.release(waiting);
                memory.note_move(free, waiting.rank);
                outcomes.push((waiting.rank, Outcome::Refused(reason)));
                return false;
            }
            settle(waiting, free, memory);
            let started = waiting.reserved.as_ref().filter(|booking| booking.start == now);
            let outcome = started.map(|booking| Outcome::Starts(booking.clone()));
            let stays = outcome.is_none();
            outcomes.extend(outcome.map(|outcome| (waiting.rank, outcome)));
            stays
        });
        memory.turn();
    }

    fn forgot(_: &mut Openings, queue: &mut Queue<PoolsJob>) {
        queue.iter_mut().for_each(|waiting| waiting.settled = false);
    }
}

/// Moves the job to the earliest place beside all others. If it was there when it was looked at
/// last, starts at which nothing has become free since are passed over.
fn settle(waiting: &mut PoolsJob, free: &mut Free, openings: &mut Openings) {
    let now = free.now();
    let due = waiting.reserved_start().is_some_and(|start| start <= now);
    let mut starts = Starts::from(now);
    let kept = waiting.settled && !due;
    if kept {
        let better = openings.starts(waiting.rank, &waiting.wish);
        let until = waiting.reserved_start().map_or(Time::INFINITY, |start| start + Span(1));
        let (from, all) = (better.from.max(now), better.until);
        starts = match waiting.wish.is_moldable() && from < all {
            // A later start in another shape may be better: all places are compared again.
            true => starts,
            false => Starts { from, until: all.min(until) },
        };
    }
    if starts.from >= starts.until {
        return;
    }
    let before = waiting.reserved.take();
    before.iter().flat_map(Booking::taken).for_each(|taken| free.lift(taken));
    let found = waiting.wish.earliest_among(free, starts, before.as_ref());
    let found = found.or_else(|| before.clone().filter(|_| kept));
    found.iter().for_each(|booking| free.reserve(booking));
    if found != before {
        before.iter().flat_map(Booking::taken).for_each(|taken| free.open(taken));
        openings.note_move(free, waiting.rank);
    }
    waiting.set_reservation(found);
}

/// Jobs of the queue that can never run any more leave it.
pub(super) fn refuse(line: &mut Line<Free>, free: &mut Free, out: &mut Vec<(Rank, Outcome)>) {
    let now = free.now();
    line.queue.retain(|waiting| {
        let Some(reason) = waiting.wish.too_late(now) else { return true };
        free.release(waiting);
        out.push((waiting.rank, Outcome::Refused(reason)));
        false
    });
}

/// The waiting job of this number. O(w).
pub(super) fn rank_of(line: &Line<Free>, job: JobId) -> Option<Rank> {
    line.find(job).map(|waiting| waiting.rank)
}
