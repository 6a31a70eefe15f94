//! Everything that waits, in order, with its reservations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use tradewind_model::{JobId, Time};

use super::shelves::{Limits, Shelves};
use super::waiting::{Rank, Waiting};

/// The queue. Every change is logarithmic in its length.
#[derive(Debug, Default)]
pub(super) struct Queue {
    jobs: BTreeMap<Rank, Waiting>,
    /// Reservations by time.
    starts: BTreeSet<(Time, Rank)>,
    /// By width, without reservations if nobody asks for them.
    shelves: Option<Shelves>,
    /// Who is looked for by width.
    sought: Sought,
}

/// Whom a policy looks for among jobs of one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Sought {
    /// Nobody.
    #[default]
    Nobody,
    /// Jobs by their estimates.
    ByEstimate,
    /// Jobs by their estimates and reservations.
    ByReservation,
}

impl Queue {
    pub(super) fn new(sought: Sought) -> Queue {
        let shelves = (sought != Sought::Nobody).then(Shelves::default);
        Queue { shelves, sought, ..Queue::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn get(&self, rank: Rank) -> Option<Waiting> {
        self.jobs.get(&rank).copied()
    }

    /// In order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.jobs.values()
    }

    pub(super) fn find(&self, job: JobId) -> Option<&Waiting> {
        self.jobs.values().find(|waiting| waiting.rank.job == job)
    }

    /// The first job after `after`.
    pub(super) fn after(&self, after: Option<Rank>) -> Option<Waiting> {
        match after {
            None => self.jobs.first_key_value().map(|(_, waiting)| *waiting),
            Some(rank) => {
                let mut rest = self.jobs.range((Bound::Excluded(rank), Bound::Unbounded));
                rest.next().map(|(_, waiting)| *waiting)
            }
        }
    }

    /// The first job after `after` and before `before` within the limits of its width; see
    /// [`Shelves::next`].
    pub(super) fn next(
        &self,
        after: Option<Rank>,
        before: Option<Rank>,
        limits: impl FnMut(u32) -> Option<Limits>,
    ) -> Option<Rank> {
        self.shelves.as_ref()?.next(after, before, limits)
    }

    /// Adds a job that has no reservation.
    pub(super) fn insert(&mut self, waiting: Waiting) {
        if let Some(shelves) = &mut self.shelves {
            shelves.put(&waiting);
        }
        self.jobs.insert(waiting.rank, waiting);
    }

    /// Takes the job out, with its reservation.
    pub(super) fn remove(&mut self, rank: Rank) {
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
        if let Some(shelves) = &mut self.shelves
            && self.sought == Sought::ByReservation
        {
            shelves.put(waiting);
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

    /// When the first reservation begins.
    pub(super) fn first_reservation(&self) -> Option<Time> {
        self.starts.first().map(|(start, _)| *start)
    }

    /// Jobs with a reservation at `now` or before.
    pub(super) fn due(&self, now: Time) -> impl Iterator<Item = Rank> + '_ {
        self.starts.iter().take_while(move |(start, _)| *start <= now).map(|(_, rank)| *rank)
    }
}
