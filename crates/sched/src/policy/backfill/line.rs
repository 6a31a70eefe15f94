//! The queue of backfilling: jobs that wait in order, the first of them (or all) with
//! reservations.
//!
//! The rule of the module above, without a market, for any [`Space`] in which jobs find places.
//! The owner of the queue reports what became free, and writes down which jobs started.

use tradewind_model::{JobId, Time};

use super::Depth;
use super::queue::Queue;
use super::space::{QueuedJob, Space};
use super::waiting::Rank;

/// Waiting jobs, and what their reservations need. Reservations are taken in the space that is
/// given with each call; jobs that start take their place there, too, leave the queue and are
/// added to `outcomes`.
#[derive(Debug, Clone)]
pub(in crate::policy) struct Line<S: Space> {
    pub(super) depth: Depth,
    /// Whether there may be jobs that have no reservation when their turn comes.
    is_on_request: bool,
    pub(in crate::policy) queue: Queue<S::Job>,
    pub(in crate::policy) memory: S::Memory,
}

impl<S: Space> Line<S> {
    /// No job waits.
    pub(in crate::policy) fn new(depth: Depth) -> Line<S> {
        let (queue, memory) = (Queue::default(), S::Memory::default());
        Line { depth, is_on_request: false, queue, memory }
    }

    /// From now on jobs have reservations only if they ask for them ([`QueuedJob::reserves`]): the
    /// first of these, as many as the depth says. The others start in their turn if they fit then,
    /// and hold nothing back. With a reservation for every job, or for none, nothing changes; then
    /// [`Line::try_one`] must not be used.
    pub(in crate::policy) fn on_request(&mut self) {
        self.is_on_request = true;
    }

    /// The same; jobs that start before others of the queue do so in the order of their turns. With
    /// a reservation for every job there are none.
    pub(in crate::policy) fn with_turns(depth: Depth) -> Line<S> {
        Line { queue: Queue::with_turns(), ..Line::new(depth) }
    }

    /// When the first reservation begins.
    pub(in crate::policy) fn first_reservation(&self) -> Option<Time> {
        self.queue.first_reservation()
    }

    /// The job as it waits. O(w).
    pub(in crate::policy) fn find(&self, job: JobId) -> Option<&S::Job> {
        self.queue.iter().find(|waiting| waiting.rank().job == job)
    }

    /// The job of this rank as it waits.
    pub(in crate::policy) fn get(&self, rank: Rank) -> Option<&S::Job> {
        self.queue.get(rank)
    }

    /// Jobs that wait, in order.
    pub(in crate::policy) fn iter(&self) -> impl Iterator<Item = &S::Job> {
        self.queue.iter()
    }

    /// The first in the order.
    pub(in crate::policy) fn first(&self) -> Option<Rank> {
        self.queue.first()
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
    pub(in crate::policy) fn remove(&mut self, space: &mut S, rank: Rank) -> Option<S::Job> {
        let job = self.queue.remove(rank)?;
        space.release(&job);
        if self.depth == Depth::All {
            S::left(&mut self.memory, &job);
        }
        Some(job)
    }

    /// The space was made again, without reservations.
    pub(in crate::policy) fn forget(&mut self) {
        self.queue.give_back(|_| ());
        if self.depth == Depth::All {
            S::forgot(&mut self.memory, &mut self.queue);
        }
    }

    /// All jobs give their reservations back.
    pub(in crate::policy) fn withdraw(&mut self, space: &mut S) {
        self.queue.give_back(|job| space.release(job));
        if self.depth == Depth::All {
            S::forgot(&mut self.memory, &mut self.queue);
        }
    }

    /// Drops all reservations, and puts every job where `place` says. The space has to be made
    /// again.
    pub(in crate::policy) fn reorder(&mut self, place: impl Fn(S::Job) -> S::Job) {
        self.queue.reorder(place);
    }

    /// Adds a job that [`Line::pass`] looks at.
    pub(in crate::policy) fn insert(&mut self, job: S::Job) {
        if self.depth == Depth::All {
            S::joined(&mut self.memory, job.rank());
        }
        self.queue.insert(job);
    }

    /// Looks at all jobs that may start, or whose reservations may change.
    pub(in crate::policy) fn pass(&mut self, space: &mut S, outcomes: &mut Vec<S::Outcome>) {
        match self.depth {
            Depth::First(count) if self.is_on_request && count > 0 => {
                self.walk_on_request(space, count as usize, outcomes);
            }
            Depth::First(count) => self.walk(space, count as usize, outcomes),
            Depth::All => S::improve(self, space, outcomes),
        }
    }

    fn start(&mut self, space: &mut S, (rank, place): (Rank, S::Place), out: &mut Vec<S::Outcome>) {
        space.reserve(&place);
        out.extend(self.queue.remove(rank).map(|job| S::started(job, place)));
    }

    /// Starts the job, if that is now, or else writes its reservation down. Whether it started.
    pub(super) fn settle(
        &mut self,
        space: &mut S,
        (rank, place): (Rank, Option<S::Place>),
        outcomes: &mut Vec<S::Outcome>,
    ) -> bool {
        match place {
            Some(place) if S::start_of(&place) == space.now() => {
                self.start(space, (rank, place), outcomes);
                return true;
            }
            Some(place) => {
                space.reserve(&place);
                if self.depth == Depth::All {
                    S::learn(&mut self.memory, &place, self.queue.len());
                }
                self.queue.reserve(rank, Some(place));
            }
            None => self.queue.reserve(rank, None),
        }
        false
    }

    /// Looks at the whole queue, with reservations for the first `count` waiting jobs.
    fn walk(&mut self, space: &mut S, count: usize, outcomes: &mut Vec<S::Outcome>) {
        let mut after = match count {
            1 => self.queue.after(None).filter(|head| space.keeps(head)).map(QueuedJob::rank),
            _ => None,
        };
        let mut kept = usize::from(after.is_some());
        if after.is_none() {
            self.withdraw(space);
        }
        while kept < count {
            let Some(job) = self.queue.after(after) else { return };
            let (rank, counts) = (job.rank(), job.waits_for_nodes());
            let place = space.first_place(job, &mut self.memory);
            after = Some(rank);
            let starts = self.settle(space, (rank, place), outcomes);
            kept += usize::from(!starts && counts);
        }
        match count {
            0 => self.start_heads(space, outcomes),
            _ => self.fill(space, after, outcomes),
        }
    }

    /// The same, with reservations for the first `count` jobs that ask for them.
    fn walk_on_request(&mut self, space: &mut S, count: usize, outcomes: &mut Vec<S::Outcome>) {
        self.withdraw(space);
        let asking = self.queue.iter().filter(|job| job.reserves() && job.waits_for_nodes());
        let asking: Vec<Rank> = asking.map(QueuedJob::rank).collect();
        let (mut after, mut kept) = (None, 0);
        for rank in asking {
            if kept == count {
                break;
            }
            self.fill_until(space, (after, Some(rank)), outcomes);
            let place =
                self.queue.get(rank).and_then(|job| space.first_place(job, &mut self.memory));
            kept += usize::from(!self.settle(space, (rank, place), outcomes));
            after = Some(rank);
        }
        self.fill_until(space, (after, None), outcomes);
    }

    /// Starts every job between two places in the order that fits beside all reservations.
    fn fill_until(
        &mut self,
        space: &mut S,
        (mut after, until): (Option<Rank>, Option<Rank>),
        outcomes: &mut Vec<S::Outcome>,
    ) {
        while space.any_free()
            && let Some((rank, place)) =
                space.next_that_fits(&mut self.queue, &mut self.memory, after)
            && until.is_none_or(|until| rank < until)
        {
            self.start(space, (rank, place), outcomes);
            after = Some(rank);
        }
    }

    /// Starts the first jobs as long as they fit.
    fn start_heads(&mut self, space: &mut S, outcomes: &mut Vec<S::Outcome>) {
        while let Some(start) = self.head_that_fits(space) {
            self.start(space, start, outcomes);
        }
    }

    fn head_that_fits(&self, space: &mut S) -> Option<(Rank, S::Place)> {
        let head = self.queue.iter().find(|job| job.waits_for_nodes())?;
        let place = if space.any_free() { space.place_now(head) } else { None };
        Some((head.rank(), place?))
    }

    /// Starts every job after `after` that fits beside all reservations, in the order of candidates.
    pub(in crate::policy) fn fill(
        &mut self,
        space: &mut S,
        mut after: Option<Rank>,
        outcomes: &mut Vec<S::Outcome>,
    ) {
        if self.queue.has_turns() {
            after = None;
        }
        while space.any_free()
            && let Some((rank, place)) =
                space.next_that_fits(&mut self.queue, &mut self.memory, after)
        {
            after = self.queue.get(rank).map(QueuedJob::turn);
            self.start(space, (rank, place), outcomes);
        }
    }

    /// Starts a job that waits, if it fits beside all reservations.
    pub(in crate::policy) fn try_start(
        &mut self,
        space: &mut S,
        rank: Rank,
        outcomes: &mut Vec<S::Outcome>,
    ) {
        if let Some(place) = self.queue.get(rank).and_then(|job| space.place_now(job)) {
            self.start(space, (rank, place), outcomes);
        }
    }

    /// Adds a job that comes after all others (with a reservation for every job: anywhere) and
    /// looks at it alone. Nothing may have become free since the last pass.
    pub(in crate::policy) fn try_one(
        &mut self,
        space: &mut S,
        job: S::Job,
        outcomes: &mut Vec<S::Outcome>,
    ) {
        let rank = job.rank();
        let reserves = match self.depth {
            Depth::All => true,
            Depth::First(depth) => {
                let ahead = S::ahead(&self.queue, rank, (depth as usize).max(1));
                let may_start = (depth > 0 || ahead == 0) && space.any_free();
                if may_start && let Some(place) = space.place_now(&job) {
                    space.reserve(&place);
                    return outcomes.push(S::started(job, place));
                }
                ahead < depth as usize
            }
        };
        let place = if reserves { space.first_place(&job, &mut self.memory) } else { None };
        self.queue.insert(job);
        if reserves {
            self.settle(space, (rank, place), outcomes);
        }
    }
}
