//! Waiting jobs by width, to find the next one that fits without looking at the others.
//!
//! One shelf per width; on it jobs lie in the order of their turns, in a tree that knows the minimum estimate
//! and the first and last reservation of each part. Where the limits for a width are exact, a
//! search goes straight to the first job within them: O(log n) per shelf.

use tradewind_model::tree::{Item, Scan, Tree, Visit};
use tradewind_model::{Span, Time};

use super::queue::Queue;
use super::space::{Index, QueuedJob};
use super::waiting::{Rank, Waiting};

/// Which jobs of one width to look for: those with a reservation after `after` and, besides, an
/// estimate of at most `longest` or a reservation at `until` or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) after: Time,
    pub(super) until: Time,
    pub(super) longest: Span,
}

impl Limits {
    /// Jobs that end within `longest`.
    pub(super) fn within(longest: Span) -> Limits {
        Limits { after: Time(i64::MIN), until: Time(i64::MIN), longest }
    }

    /// The same, of jobs without a reservation alone.
    pub(super) fn unreserved(self) -> Limits {
        Limits { after: Time::INFINITY - Span(1), ..self }
    }

    /// Whether there may be such a job among some of which this is known.
    fn allow(&self, sum: &WidthSum) -> bool {
        sum.last > self.after && (sum.shortest <= self.longest || sum.first <= self.until)
    }
}

#[derive(Debug, Clone, Copy)]
struct WidthEntry {
    turn: Rank,
    rank: Rank,
    estimate: Span,
    /// Its reservation; for ever, if it has none.
    held: Time,
}

#[derive(Debug, Clone, Copy)]
struct WidthSum {
    shortest: Span,
    /// The first and the last reservation.
    first: Time,
    last: Time,
}

impl Item for WidthEntry {
    type Key = Rank;
    type Sum = WidthSum;

    fn key(&self) -> Rank {
        self.turn
    }

    fn sum(&self) -> WidthSum {
        WidthSum { shortest: self.estimate, first: self.held, last: self.held }
    }

    fn join(one: WidthSum, two: WidthSum) -> WidthSum {
        WidthSum {
            shortest: one.shortest.min(two.shortest),
            first: one.first.min(two.first),
            last: one.last.max(two.last),
        }
    }
}

const NOTHING: WidthSum =
    WidthSum { shortest: Span::MAX, first: Time::INFINITY, last: Time::INFINITY };

#[derive(Debug, Clone)]
struct Shelf {
    processors: u32,
    sum: WidthSum,
    jobs: Tree<WidthEntry>,
}

/// Whether jobs are looked for by their reservations, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reservations {
    Ignored,
    Known,
}

/// All waiting jobs, by width.
#[derive(Debug, Clone)]
pub(in crate::policy) struct Shelves {
    /// By width, ascending; none is empty.
    shelves: Vec<Shelf>,
    reservations: Reservations,
}

impl Shelves {
    pub(super) fn new(reservations: Reservations) -> Shelves {
        Shelves { shelves: Vec::new(), reservations }
    }

    /// The job's reservation has changed.
    pub(super) fn reserved(&mut self, waiting: &Waiting) {
        if self.reservations == Reservations::Known {
            self.put(waiting);
        }
    }

    /// Puts the job, or what has happened to it, on its shelf.
    pub(super) fn put(&mut self, waiting: &Waiting) {
        let Waiting { rank, processors, estimate, reserved, .. } = *waiting;
        let (turn, held) = (waiting.turn(), reserved.unwrap_or(Time::INFINITY));
        self.edit(processors, turn, Some(WidthEntry { turn, rank, estimate, held }));
    }

    /// Takes the job away.
    pub(super) fn remove(&mut self, waiting: &Waiting) {
        self.edit(waiting.processors, waiting.turn(), None);
    }

    fn edit(&mut self, processors: u32, turn: Rank, entry: Option<WidthEntry>) {
        let at = self.shelves.partition_point(|shelf| shelf.processors < processors);
        if self.shelves.get(at).is_none_or(|shelf| shelf.processors > processors) {
            let (sum, jobs) = (NOTHING, Tree::default());
            self.shelves.insert(at, Shelf { processors, sum, jobs });
        }
        let shelf = &mut self.shelves[at];
        shelf.jobs.edit(turn, |_| entry);
        match shelf.jobs.sum() {
            Some(sum) => shelf.sum = sum,
            None => {
                self.shelves.remove(at);
            }
        }
    }

    /// The first job in the order of turns that comes after `after` and before `before` and is within
    /// the limits of its width. A width without limits ends the search: no wider job is asked for.
    pub(super) fn next(
        &self,
        after: Option<Rank>,
        before: Option<Rank>,
        mut limits: impl FnMut(u32) -> Option<Limits>,
    ) -> Option<Rank> {
        let mut reader = Next { after, before, limits: Limits::within(Span(0)), found: None };
        for shelf in &self.shelves {
            let Some(within) = limits(shelf.processors) else { break };
            reader.limits = within;
            if reader.limits.allow(&shelf.sum) {
                shelf.jobs.scan(&mut reader);
            }
            reader.before = reader.found.map(|found| found.turn).or(before);
        }
        reader.found.map(|found| found.rank)
    }
}

/// `None` while no job is looked for by width.
impl Index<Waiting> for Option<Shelves> {
    fn put(&mut self, job: &Waiting) {
        if let Some(shelves) = self {
            shelves.put(job);
        }
    }

    fn remove(&mut self, job: &Waiting) {
        if let Some(shelves) = self {
            shelves.remove(job);
        }
    }

    fn reserved(&mut self, job: &Waiting) {
        if let Some(shelves) = self {
            shelves.reserved(job);
        }
    }
}

impl Queue<Waiting> {
    /// Puts jobs on shelves from now on, so that they can be looked for by width. O(w log w), if
    /// they are not there already.
    pub(super) fn shelve(&mut self, reservations: Reservations) {
        if self.index.is_none() {
            let mut shelves = Shelves::new(reservations);
            self.iter().for_each(|waiting| shelves.put(waiting));
            self.index = Some(shelves);
        }
    }

    /// Whether jobs can be looked for by width.
    pub(super) fn is_shelved(&self) -> bool {
        self.index.is_some()
    }

    /// Does without shelves until the next time.
    pub(super) fn unshelve(&mut self) {
        self.index = None;
    }

    /// The first job after `after` and before `before` within the limits of its width; see
    /// [`Shelves::next`]. `None` without shelves.
    pub(super) fn next(
        &self,
        after: Option<Rank>,
        before: Option<Rank>,
        limits: impl FnMut(u32) -> Option<Limits>,
    ) -> Option<Rank> {
        self.index.as_ref()?.next(after, before, limits)
    }
}

struct Next {
    after: Option<Rank>,
    before: Option<Rank>,
    limits: Limits,
    found: Option<WidthEntry>,
}

impl Scan<WidthEntry> for Next {
    fn part(&mut self, last: Rank, sum: WidthSum) -> Visit {
        match self.after.is_some_and(|after| last <= after) || !self.limits.allow(&sum) {
            true => Visit::Over,
            false => Visit::Into,
        }
    }

    fn item(&mut self, entry: &WidthEntry) -> Visit {
        if self.before.is_some_and(|before| entry.turn >= before) {
            return Visit::Stop;
        }
        let passed = self.after.is_some_and(|after| entry.turn <= after);
        if passed || !self.limits.allow(&entry.sum()) {
            return Visit::Over;
        }
        self.found = Some(*entry);
        Visit::Stop
    }
}
