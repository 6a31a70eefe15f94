//! Batch-slice-filling (paper 000, section 4): the most important jobs by batch-slicer, the rest
//! by backfilling.
//!
//! At each cycle (see [`cyclic::market`](super::cyclic::market)) the batch is divided: its first
//! jobs, by priority, by cost or by need, are planned by batch-slicer and booked. All other jobs
//! that wait are backfilled (see [`gridfill`]) on what the bookings leave, at once
//! and whenever something ends, until the next cycle divides again those that still wait. A job
//! waits for the first cycle after its submission to learn which of the two it is; one that was
//! chosen and got no window waits for the next cycle.
//!
//! With no first jobs this is backfilling, without any cycle; with all, it is batch-slicer.

use std::collections::BTreeMap;

use tradewind_model::{Command, Event, JobId, Market, Time};

use super::availability::Taken;
use super::cyclic::SliceBy;
use super::cyclic::market::{self, PlanKey, Planner};
use super::grid::GridAvailability;
use super::gridfill::{self, Fill};
use super::inbox::{self, Comes};
use super::{Policy, Promise, UserShare};

/// How many jobs of a batch are planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// A number of jobs.
    Count(u32),
    /// This part of the batch in percent, rounded up. From 100 on no job is backfilled, also of
    /// those that the batch has no room for.
    Percent(u32),
}

impl First {
    fn of(self, batch: usize) -> usize {
        match self {
            First::Count(count) => count as usize,
            First::Percent(percent) => (batch * percent as usize).div_ceil(100),
        }
    }

    fn nobody(self) -> bool {
        matches!(self, First::Count(0) | First::Percent(0))
    }

    fn everybody(self) -> bool {
        matches!(self, First::Percent(100..))
    }
}

/// Who is first; ties by priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// The highest priority, then the earliest submission.
    #[default]
    Priority,
    /// The largest budget, or else cost of the cheapest window.
    Cost,
    /// The highest minimum performance.
    Need,
}

impl By {
    /// Every value, with its name on the command line.
    pub const ALL: [(By, &'static str); 3] =
        [(By::Priority, "priority"), (By::Cost, "cost"), (By::Need, "need")];

    fn slice_by(self) -> SliceBy {
        match self {
            By::Priority => SliceBy::Priority,
            By::Cost => SliceBy::Cost,
            By::Need => SliceBy::Performance,
        }
    }
}

/// How to divide, plan and fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BsfSettings {
    /// How the first jobs are planned, and when.
    pub cycles: market::CycleSettings,
    /// How many are first.
    pub first: First,
    /// Who is first.
    pub by: By,
    /// How the rest is backfilled.
    pub fill: gridfill::GridFillSettings,
}

impl BsfSettings {
    /// First jobs, unless stated otherwise.
    pub const DEFAULT_FIRST: First = First::Count(10);
}

impl Default for BsfSettings {
    /// Ten jobs by priority with batch-slicer, the rest with EASY.
    fn default() -> BsfSettings {
        BsfSettings {
            cycles: market::CycleSettings::batch_slicer(),
            first: Self::DEFAULT_FIRST,
            by: By::default(),
            fill: gridfill::GridFillSettings::default(),
        }
    }
}

/// The policy; see the module's text. A pass costs what a pass of backfilling costs for the rest;
/// a cycle costs a plan of the first jobs besides.
#[derive(Debug)]
pub struct Bsf {
    first: First,
    by: By,
    /// Every job that waits and is not booked waits with it; those of the rest in `fill`, too.
    planner: Planner,
    fill: Fill,
    /// `None` until the first call.
    books: Option<GridAvailability>,
    /// Whether the first call is yet to come, and goes on from another policy.
    resumed: bool,
}

impl Bsf {
    /// A policy that has seen nothing so far.
    pub fn new(settings: BsfSettings) -> Bsf {
        let BsfSettings { cycles, first, by, fill } = settings;
        // What backfilling books between cycles would take every fall-back window.
        let cycles = market::CycleSettings { fallback: 0, ..cycles };
        let (planner, fill) = (Planner::new(cycles), Fill::new(fill));
        Bsf { first, by, planner, fill, books: None, resumed: false }
    }

    fn join(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let resumed = std::mem::take(&mut self.resumed);
        for (job, comes) in inbox::arrivals(market, events) {
            let comes = if resumed { Comes::Again } else { comes };
            let joined = match self.first.nobody() {
                true => self.fill.join(market, (job, comes)),
                false => self.planner.join(market, (job, comes)),
            };
            if let Err(reason) = joined {
                commands.push(Command::Refuse { job, reason });
            }
        }
    }

    /// Divides those who wait, and plans the first of them.
    fn cycle(
        &mut self,
        market: &Market,
        books: &mut GridAvailability,
        commands: &mut Vec<Command>,
    ) {
        self.fill.withdraw(books);
        let batch = self.planner.batch(market, books, commands);
        let count = self.first.of(batch.len());
        let picked = self.planner.pick(market, books, &batch, self.by.slice_by(), count);
        self.planner.cycle(market, books, &picked, commands);
        for job in self.fill.jobs() {
            let first = picked.iter().any(|(_, other)| *other == job);
            if first || !self.planner.has(market, job) {
                self.fill.leave(books, job);
            }
        }
        if batch.is_empty() || self.first.everybody() {
            return;
        }
        let filling = self.fill.jobs();
        let rest = |(_, job): &PlanKey| {
            let first = picked.iter().any(|(_, other)| other == job);
            !first && filling.binary_search(job).is_err()
        };
        for (_, job) in self.planner.waiting().filter(rest) {
            // Who cannot be backfilled waits to be among the first.
            let _ = self.fill.join(market, (job, Comes::Newly));
        }
    }
}

impl Policy for Bsf {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let mut books = self.books.take().unwrap_or_else(|| GridAvailability::of_pools(market));
        let news = books.follow(market, events);
        self.planner.follow(&mut books, news);
        self.fill.follow(news, events);
        let freed = self.planner.obey(market, &mut books, events);
        self.fill.obey(market, &mut books, events);
        self.join(market, events, commands);
        if (news.early || freed) && !self.first.nobody() {
            self.fill.withdraw(&mut books);
            self.planner.replan(market, &mut books);
        }
        if self.planner.is_due(market.now()) {
            self.cycle(market, &mut books, commands);
        }
        self.planner.start_due(market, &mut books, commands);
        let before = commands.len();
        self.fill.decide(market, &mut books, events.is_empty(), commands);
        for command in &commands[before..] {
            if let Command::Start { job, .. } | Command::Refuse { job, .. } = command {
                self.planner.leave(market, *job);
            }
        }
        self.fill.started(market, commands);
        self.planner.started(market, commands);
        let wake =
            self.planner.next_wake().into_iter().chain(self.fill.next_wake(market, &books)).min();
        commands.extend(wake.map(|at| Command::Wake { at }));
        self.books = Some(books);
    }

    fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.resumed = true;
        self.fill.resume(usage);
        self.planner.resume(usage);
    }

    fn standing(&self, now: Time) -> Vec<UserShare> {
        match self.first.nobody() {
            true => self.fill.standing(now),
            false => self.planner.standing(now),
        }
    }

    /// Bookings are kept like batch-slicer's; the rest is promised nothing.
    fn promise(&self) -> Promise {
        match self.first.nobody() {
            true => self.fill.promise(),
            false => self.planner.promise(),
        }
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        match self.first.nobody() {
            true => self.fill.reservation(job),
            false => self.planner.reservation(job),
        }
    }

    fn reserved(&self) -> Vec<(JobId, Taken)> {
        let mut all = self.planner.reserved();
        all.extend(self.fill.reserved());
        all
    }
}
