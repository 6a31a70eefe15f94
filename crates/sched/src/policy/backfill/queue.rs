//! Everything that waits, in order, with its reservations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use tradewind_model::Time;

use super::space::{Index, QueuedJob};
use super::waiting::Rank;

/// The queue. Every change is logarithmic in its length.
#[derive(Debug, Clone)]
pub(in crate::policy) struct Queue<J: QueuedJob> {
    jobs: BTreeMap<Rank, J>,
    /// Reservations by time.
    starts: BTreeSet<(Time, Rank)>,
    /// Ranks in the order of candidates, if that is not the order of the queue.
    turns: Option<BTreeMap<Rank, Rank>>,
    pub(super) index: J::Index,
}

impl<J: QueuedJob> Default for Queue<J> {
    fn default() -> Queue<J> {
        let index = J::Index::default();
        Queue { jobs: BTreeMap::new(), starts: BTreeSet::new(), turns: None, index }
    }
}

impl<J: QueuedJob> Queue<J> {
    /// A queue whose candidates have an order of their own.
    pub(super) fn with_turns() -> Queue<J> {
        Queue { turns: Some(BTreeMap::new()), ..Queue::default() }
    }

    /// Whether candidates have an order of their own.
    pub(super) fn has_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// Jobs that may start before others, after `after` in their order. In the order of the queue,
    /// or else by turns, without those that have a reservation.
    pub(in crate::policy) fn candidates(&self, after: Option<Rank>) -> impl Iterator<Item = &J> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let by_turns =
            self.turns.iter().flat_map(move |turns| turns.range((start, Bound::Unbounded)));
        let by_turns = by_turns.filter_map(|(_, rank)| self.get(*rank));
        let in_order = self.from(after).filter(|_| self.turns.is_none());
        by_turns.filter(|job| job.reserved_start().is_none()).chain(in_order)
    }

    pub(in crate::policy) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(in crate::policy) fn get(&self, rank: Rank) -> Option<&J> {
        self.jobs.get(&rank)
    }

    /// All waiting jobs, in the order of the queue.
    pub(in crate::policy) fn iter(&self) -> impl Iterator<Item = &J> {
        self.jobs.values()
    }

    /// The same, to change what is neither place nor rank.
    pub(in crate::policy) fn iter_mut(&mut self) -> impl Iterator<Item = &mut J> {
        self.jobs.values_mut()
    }

    /// The first job in the order.
    pub(in crate::policy) fn first(&self) -> Option<Rank> {
        self.jobs.first_key_value().map(|(rank, _)| *rank)
    }

    /// The last job in the order.
    pub(in crate::policy) fn last(&self) -> Option<Rank> {
        self.jobs.last_key_value().map(|(rank, _)| *rank)
    }

    /// The jobs after `after`, in order.
    pub(in crate::policy) fn from(&self, after: Option<Rank>) -> impl Iterator<Item = &J> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.jobs.range((start, Bound::Unbounded)).map(|(_, job)| job)
    }

    /// The first job after `after`.
    pub(in crate::policy) fn after(&self, after: Option<Rank>) -> Option<&J> {
        self.from(after).next()
    }

    /// Adds a job. It may have a reservation.
    pub(in crate::policy) fn insert(&mut self, job: J) {
        self.index.put(&job);
        let rank = job.rank();
        self.starts.extend(job.reserved_start().map(|start| (start, rank)));
        self.turns.iter_mut().for_each(|turns| _ = turns.insert(job.turn(), rank));
        self.jobs.insert(rank, job);
    }

    /// Drops all reservations, and puts every job where `place` says.
    pub(super) fn reorder(&mut self, place: impl Fn(J) -> J) {
        self.give_back(|_| ());
        for job in std::mem::take(&mut self.jobs).into_values() {
            self.index.remove(&job);
            self.turns.iter_mut().for_each(|turns| _ = turns.remove(&job.turn()));
            self.insert(place(job));
        }
    }

    /// Takes the job out, with its reservation.
    pub(in crate::policy) fn remove(&mut self, rank: Rank) -> Option<J> {
        let job = self.jobs.remove(&rank)?;
        self.index.remove(&job);
        self.turns.iter_mut().for_each(|turns| _ = turns.remove(&job.turn()));
        if let Some(start) = job.reserved_start() {
            self.starts.remove(&(start, rank));
        }
        Some(job)
    }

    /// Writes the job's reservation down.
    pub(super) fn reserve(&mut self, rank: Rank, place: Option<J::Place>) {
        let Some(job) = self.jobs.get_mut(&rank) else { return };
        let before = job.reserved_start();
        job.set_reservation(place);
        let after = job.reserved_start();
        self.index.reserved(job);
        if let Some(before) = before {
            self.starts.remove(&(before, rank));
        }
        self.starts.extend(after.map(|start| (start, rank)));
    }

    /// All jobs lose their reservations; `release` gets each before.
    pub(super) fn give_back(&mut self, mut release: impl FnMut(&J)) {
        for (_, rank) in std::mem::take(&mut self.starts) {
            let Some(job) = self.jobs.get_mut(&rank) else { continue };
            release(job);
            job.set_reservation(None);
            if self.turns.is_some() {
                self.index.reserved(job); // candidates are those without a reservation
            }
        }
    }

    /// Lets `examine` change the reservation of each job, in order; jobs for which it returns
    /// `false` leave.
    pub(in crate::policy) fn retain(&mut self, mut examine: impl FnMut(&mut J) -> bool) {
        let Queue { jobs, starts, turns, index } = self;
        jobs.retain(|rank, job| {
            let before = job.reserved_start();
            let stays = examine(job);
            let after = job.reserved_start().filter(|_| stays);
            if before != after {
                before.into_iter().for_each(|start| _ = starts.remove(&(start, *rank)));
                starts.extend(after.map(|start| (start, *rank)));
            }
            match stays {
                true => index.reserved(job),
                false => {
                    index.remove(job);
                    turns.iter_mut().for_each(|turns| _ = turns.remove(&job.turn()));
                }
            }
            stays
        });
    }

    /// Jobs with a reservation, and when it begins.
    pub(super) fn reservations(&self) -> impl Iterator<Item = (Time, &J)> {
        self.starts.iter().filter_map(|&(start, rank)| Some((start, self.get(rank)?)))
    }

    /// When the first reservation begins.
    pub(in crate::policy) fn first_reservation(&self) -> Option<Time> {
        self.starts.first().map(|(start, _)| *start)
    }

    /// Jobs with a reservation at `now` or before.
    pub(super) fn due(&self, now: Time) -> impl Iterator<Item = Rank> + '_ {
        self.starts.iter().take_while(move |(start, _)| *start <= now).map(|(_, rank)| *rank)
    }
}
