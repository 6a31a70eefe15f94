//! Everything that waits, in order, with its reservations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use tradewind_model::{JobId, Time};

use super::shelves::{Limits, Reservations, Shelves};
use super::waiting::{Rank, Waiting};

/// The queue. Every change is logarithmic in its length.
#[derive(Debug, Clone, Default)]
pub(in crate::policy) struct Queue {
    jobs: BTreeMap<Rank, Waiting>,
    /// Reservations by time.
    starts: BTreeSet<(Time, Rank)>,
    /// By width; `None` while no search by width is needed.
    shelves: Option<Shelves>,
}

impl Queue {
    /// Puts jobs on shelves from now on, so that they can be looked for by width. O(w log w), if
    /// they are not there already.
    pub(in crate::policy) fn shelve(&mut self, reservations: Reservations) {
        if self.shelves.is_none() {
            let mut shelves = Shelves::new(reservations);
            self.jobs.values().for_each(|waiting| shelves.put(waiting));
            self.shelves = Some(shelves);
        }
    }

    /// Whether jobs can be looked for by width.
    pub(super) fn is_shelved(&self) -> bool {
        self.shelves.is_some()
    }

    /// Does without shelves until the next time.
    pub(super) fn unshelve(&mut self) {
        self.shelves = None;
    }

    pub(in crate::policy) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(in crate::policy) fn get(&self, rank: Rank) -> Option<Waiting> {
        self.jobs.get(&rank).copied()
    }

    /// All waiting jobs, in the order of the queue.
    pub(in crate::policy) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.jobs.values()
    }

    pub(super) fn find(&self, job: JobId) -> Option<&Waiting> {
        self.jobs.values().find(|waiting| waiting.rank.job == job)
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
    pub(super) fn from(&self, after: Option<Rank>) -> impl Iterator<Item = Waiting> + '_ {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.jobs.range((start, Bound::Unbounded)).map(|(_, waiting)| *waiting)
    }

    /// The first job after `after`.
    pub(in crate::policy) fn after(&self, after: Option<Rank>) -> Option<Waiting> {
        self.from(after).next()
    }

    /// The first job after `after` and before `before` within the limits of its width; see
    /// [`Shelves::next`]. `None` without shelves.
    pub(super) fn next(
        &self,
        after: Option<Rank>,
        before: Option<Rank>,
        limits: impl FnMut(u32) -> Option<Limits>,
    ) -> Option<Rank> {
        self.shelves.as_ref()?.next(after, before, limits)
    }

    /// Adds a job that has no reservation.
    pub(in crate::policy) fn insert(&mut self, waiting: Waiting) {
        if let Some(shelves) = &mut self.shelves {
            shelves.put(&waiting);
        }
        self.jobs.insert(waiting.rank, waiting);
    }

    /// Drops all reservations, and puts every job where `place` says.
    pub(super) fn reorder(&mut self, place: impl Fn(Waiting) -> Waiting) {
        while self.pop_reservation().is_some() {}
        for waiting in std::mem::take(&mut self.jobs).into_values() {
            if let Some(shelves) = &mut self.shelves {
                shelves.remove(&waiting);
            }
            self.insert(place(waiting));
        }
    }

    /// Takes the job out, with its reservation.
    pub(in crate::policy) fn remove(&mut self, rank: Rank) {
        let Some(waiting) = self.jobs.remove(&rank) else { return };
        if let Some(shelves) = &mut self.shelves {
            shelves.remove(&waiting);
        }
        if let Some(start) = waiting.reserved {
            self.starts.remove(&(start, rank));
        }
    }

    /// Writes the job's reservation down.
    pub(super) fn reserve(&mut self, rank: Rank, start: Option<Time>) {
        let Some(waiting) = self.jobs.get_mut(&rank) else { return };
        if let Some(before) = waiting.reserved {
            self.starts.remove(&(before, rank));
        }
        waiting.reserved = start;
        self.starts.extend(start.map(|start| (start, rank)));
        if let Some(shelves) = &mut self.shelves {
            shelves.reserved(waiting);
        }
    }

    /// Forgets the first reservation; returns the job as it was.
    pub(super) fn pop_reservation(&mut self) -> Option<Waiting> {
        let (_, rank) = self.starts.pop_first()?;
        let waiting = self.jobs.get_mut(&rank)?;
        let before = *waiting;
        waiting.reserved = None;
        Some(before)
    }

    /// Jobs with a reservation, and when it begins.
    pub(super) fn reservations(&self) -> impl Iterator<Item = (Time, Waiting)> + '_ {
        self.starts.iter().filter_map(|&(start, rank)| Some((start, self.get(rank)?)))
    }

    /// When the first reservation begins.
    pub(super) fn first_reservation(&self) -> Option<Time> {
        self.starts.first().map(|(start, _)| *start)
    }

    /// Jobs with a reservation at `now` or before.
    pub(super) fn due(&self, now: Time) -> impl Iterator<Item = Rank> + '_ {
        self.starts.iter().take_while(move |(start, _)| *start <= now).map(|(_, rank)| *rank)
    }
}
