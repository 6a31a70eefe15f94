//! What the queue of backfilling must know of free capacity: where a waiting job fits.

use std::fmt::Debug;

use tradewind_model::Time;

use super::line::Line;
use super::queue::Queue;
use super::waiting::Rank;
use crate::policy::availability::Capacity;

/// A job that waits in a queue.
pub(in crate::policy) trait QueuedJob {
    /// Where and when it can run.
    type Place;
    /// By what jobs of the queue are found.
    type Index: Index<Self>;

    fn rank(&self) -> Rank;

    /// Its place in the order of candidates, for jobs that start before others of the queue.
    fn turn(&self) -> Rank;

    /// When its reservation begins, if it has one.
    fn reserved_start(&self) -> Option<Time>;

    /// Whether it may have one; see [`Line::on_request`].
    fn reserves(&self) -> bool {
        true
    }

    /// Writes its reservation down.
    fn set_reservation(&mut self, place: Option<Self::Place>);

    /// Whether it waits for free nodes. A job that waits for other prices stands in no other's
    /// way.
    fn waits_for_nodes(&self) -> bool {
        true
    }
}

/// An index over the jobs of a queue.
pub(in crate::policy) trait Index<J: ?Sized>: Default + Debug + Clone {
    /// The job has joined the queue.
    fn put(&mut self, job: &J);

    /// The job is about to leave.
    fn remove(&mut self, job: &J);

    /// Its reservation has changed.
    fn reserved(&mut self, job: &J);
}

/// No index: jobs are examined one by one.
impl<J> Index<J> for () {
    fn put(&mut self, _: &J) {}

    fn remove(&mut self, _: &J) {}

    fn reserved(&mut self, _: &J) {}
}

/// Free capacity in which waiting jobs find places.
pub(in crate::policy) trait Space: Capacity + Sized {
    type Job: QueuedJob<Place = Self::Place> + Debug + Clone;
    /// Where and when a job can run.
    type Place;
    /// What a pass reports of a job.
    type Outcome;
    /// What the queue remembers from pass to pass.
    type Memory: Default + Debug + Clone;

    /// Whether any node is free now.
    fn any_free(&self) -> bool;

    /// The earliest place for the job.
    fn first_place(&mut self, job: &Self::Job, memory: &mut Self::Memory) -> Option<Self::Place>;

    /// Its place if it can start now.
    fn place_now(&mut self, job: &Self::Job) -> Option<Self::Place>;

    fn start_of(place: &Self::Place) -> Time;

    /// The job starts there now.
    fn started(job: Self::Job, place: Self::Place) -> Self::Outcome;

    fn reserve(&mut self, place: &Self::Place);

    /// Gives the job's reservation back, if it has one.
    fn release(&mut self, job: &Self::Job);

    /// Whether the first job of the queue, which has the only reservation, would get the same one
    /// again.
    fn keeps(&self, _first: &Self::Job) -> bool {
        false
    }

    /// The first candidate after `after` that can start now, and its place; see
    /// [`Queue::candidates`].
    fn next_that_fits(
        &mut self,
        queue: &mut Queue<Self::Job>,
        memory: &mut Self::Memory,
        after: Option<Rank>,
    ) -> Option<(Rank, Self::Place)>;

    /// How many jobs wait for nodes before this rank in the order, up to `enough`. Jobs of this
    /// rank may be in the queue already.
    fn ahead(queue: &Queue<Self::Job>, rank: Rank, enough: usize) -> usize;

    /// With a reservation for every job: moves each job in order to the earliest place beside all
    /// others.
    fn improve(line: &mut Line<Self>, space: &mut Self, outcomes: &mut Vec<Self::Outcome>);

    /// The same: the job was placed at the earliest place there was, in a queue of so many jobs.
    fn learn(_memory: &mut Self::Memory, _place: &Self::Place, _jobs: usize) {}

    /// The same: a job joined that has no reservation.
    fn joined(_memory: &mut Self::Memory, _rank: Rank) {}

    /// The same: a job left, and has given its reservation back.
    fn left(_memory: &mut Self::Memory, _job: &Self::Job) {}

    /// The same: no job has a reservation any more.
    fn forgot(memory: &mut Self::Memory, queue: &mut Queue<Self::Job>);
}

/// Places jobs one after another, each at the earliest place that those before it leave:
/// conservative backfilling in this order. `note` gets each place.
pub(in crate::policy) fn look_ahead<'j, S: Space>(
    space: &mut S,
    jobs: impl Iterator<Item = &'j S::Job>,
    mut note: impl FnMut(&'j S::Job, Option<S::Place>),
) where
    S::Job: 'j,
{
    let mut nothing_known = S::Memory::default();
    for job in jobs {
        let place = space.first_place(job, &mut nothing_known);
        place.iter().for_each(|place| space.reserve(place));
        note(job, place);
    }
}
