//! The cyclic schemes in a market: a plan every so often, for the jobs that wait then.
//!
//! Every period, counted from the first submission, the first jobs of the queue (by priority or by
//! fair share, then by submission) are planned as a batch on what is free within the horizon beside
//! running jobs, outages and what earlier cycles planned. The chosen windows are booked and
//! start at their times; jobs that got none wait for the next cycle.
//!
//! - Nodes of a pool are alike, so the plan may name them as it likes. The market
//!   reads how many of each pool.
//! - A running job is expected to end by its estimate; when it exceeds that, it is expected to
//!   take twice as long as believed so far. What is booked and does not fit any more beside it, or
//!   beside an outage that was announced, is given up: the job waits for the next cycle.
//! - Jobs that could not run even if everything were free are refused, when they are submitted
//!   or at the first cycle at which time has made it so.
//! - When prices change, what is booked stays, unless its job cannot pay for it any more: that one
//!   waits for the next cycle. A job that can pay for nothing waits until prices change again or
//!   its deadline is out of reach.
//! - A job that agreed with a queue gets the earliest window there, before the rest of its batch.
//! - With [`CycleSettings::fallback`], jobs that are booked or run have fall-back windows on other sites,
//!   which are not reserved. A job that loses its window or its nodes takes the one of them that
//!   ends first of those that are still free, in the same pass.
//! - If a cycle places nothing though nothing runs, is booked or is missing, the first job of the
//!   batch is refused with the reason that the plan gave: no later cycle could do better.

mod planner;
mod reach;
mod rho;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tradewind_model::{Command, Event, JobId, Market, Place, Span, Time, VoPolicy};

use super::{Cyclic, Offers, SubBatches};
use crate::policy::availability::Taken;
use crate::policy::grid::{Booking, GridAvailability};
use crate::policy::inbox::{self, Comes};
use crate::policy::{Policy, Promise, UserShare};

pub(in crate::policy) use planner::{PlanKey, Planner, Renewal};
pub use rho::RhoRule;

/// When cycles take place, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleSettings {
    /// How each cycle plans.
    pub cyclic: Cyclic,
    /// What the virtual organisation wants of each plan. Limits are per cycle.
    pub vo: VoPolicy,
    /// From one cycle to the next.
    pub period: Span,
    /// How far each cycle looks ahead; `None` is [`CycleSettings::PERIODS_AHEAD`] periods.
    pub horizon: Option<Span>,
    /// What may extend the horizon.
    pub stretch: Stretch,
    /// What happens when a job ends early.
    pub replan: Replan,
    /// The most jobs of one cycle, at least 1.
    pub batch: u32,
    /// Who is planned first.
    pub turn: PlanOrder,
    /// Fall-back windows per job, at most; see [`Cycles::fallbacks`]. 0: a job that loses its
    /// window or its nodes waits for the next cycle. [`Bsf`](crate::policy::bsf::Bsf) has none.
    pub fallback: u32,
    /// ρ of some cycles, beside that of [`CycleSettings::vo`]: the first rule that holds.
    pub rho: Vec<RhoRule>,
}

/// Who is planned first; ties go to the job that was submitted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlanOrder {
    /// The highest priority.
    #[default]
    Priority,
    /// The user who has used least, whatever the priority; see
    /// [`Order::FairShare`](crate::policy::Order::FairShare).
    FairShare(Span),
}

impl CycleSettings {
    /// Period of the cycle by default: ten minutes.
    pub const DEFAULT_PERIOD: Span = Span(600);
    /// The horizon in periods, unless stated otherwise.
    pub const PERIODS_AHEAD: i64 = 4;
    /// Jobs of one cycle, unless stated otherwise.
    pub const DEFAULT_BATCH: u32 = 50;
    /// Alternatives per job, unless stated otherwise: a replay has thousands of cycles.
    pub const DEFAULT_MAX_ALTERNATIVES: u32 = 10;
    /// Waiting jobs that a cycle looks at to find those for its batch: the first ones.
    pub const MAX_LOOKED_AT: usize = 1_000;
    /// Looks per choice of whole-batch, unless stated otherwise: as many cycles.
    pub const DEFAULT_CHOICE_LIMIT: u64 = 100_000;
    /// Sub-batches of batch-slicer, unless stated otherwise (paper 000, figure 7).
    pub const DEFAULT_SUB_BATCHES: u32 = 5;

    /// CSS: the batch as a whole.
    pub fn css() -> CycleSettings {
        let cyclic =
            Cyclic { max_alternatives: Some(Self::DEFAULT_MAX_ALTERNATIVES), ..Cyclic::default() };
        CycleSettings {
            cyclic,
            vo: VoPolicy::default(),
            period: Self::DEFAULT_PERIOD,
            horizon: None,
            stretch: Stretch::default(),
            replan: Replan::default(),
            batch: Self::DEFAULT_BATCH,
            turn: PlanOrder::default(),
            fallback: 0,
            rho: Vec::new(),
        }
    }

    /// Batch-slicer: the batch in parts.
    pub fn batch_slicer() -> CycleSettings {
        let mut settings = CycleSettings::css();
        settings.cyclic.sub_batches = SubBatches::Count(Self::DEFAULT_SUB_BATCHES);
        settings
    }

    /// Whole-batch: windows of different jobs may overlap, and the choice keeps them apart.
    pub fn whole_batch() -> CycleSettings {
        let mut settings = CycleSettings::css();
        settings.cyclic.offers = Offers::Overlapping;
        settings.cyclic.choice_limit = Self::DEFAULT_CHOICE_LIMIT;
        settings
    }

    /// On the fly: windows are searched at prices of slots and chosen in the same rounds.
    pub fn on_the_fly() -> CycleSettings {
        let mut settings = CycleSettings::whole_batch();
        settings.cyclic.offers = Offers::OnTheFly;
        settings
    }

    /// How far each cycle looks ahead, before it is stretched.
    pub fn look_ahead(&self) -> Span {
        let period = self.period.max(Span(1));
        self.horizon.unwrap_or(Span(period.0.saturating_mul(Self::PERIODS_AHEAD)))
    }
}

/// What may extend the horizon of a cycle.
///
/// A kept booking is as good as the estimates that it was made with, and those are mostly far too
/// long: nodes that come back early wait for whatever was booked on them. So the less a cycle
/// books ahead, the better: on the log SDSC SP2 the mean wait under [`Stretch::Longest`] is
/// several times that under [`Stretch::Own`]. What both give up is a promise to wide jobs: they
/// start when a cycle finds all their nodes free soon enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stretch {
    /// Nothing: windows end within the horizon. A job that is longer than it on too many nodes
    /// is refused.
    Fixed,
    /// Each job's own length: its window begins within the horizon, or later where it is on
    /// faster nodes and so ends no later than on the slowest.
    #[default]
    Own,
    /// The longest waiting job: the horizon is as long as its longest task, if that is longer.
    Longest,
}

impl Stretch {
    /// Every value, with its name on the command line.
    pub const ALL: [(Stretch, &'static str); 3] =
        [(Stretch::Fixed, "fixed"), (Stretch::Own, "own"), (Stretch::Longest, "longest")];
}

/// What happens when a job ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replan {
    /// What it leaves is for the next cycle. What is booked stays.
    #[default]
    NextCycle,
    /// What is booked and has not started is planned again at once, and stays as it was if the new
    /// plan would place fewer jobs.
    OnRelease,
}

impl Replan {
    /// Every value, with its name on the command line.
    pub const ALL: [(Replan, &'static str); 2] =
        [(Replan::NextCycle, "next-cycle"), (Replan::OnRelease, "on-release")];
}

/// The policy; see the module's text.
///
/// Between cycles a pass costs next to nothing. A cycle costs a pass over the queue and a
/// [`plan`](super::plan) of at most [`CycleSettings::batch`] jobs on all nodes; none takes place while
/// no job waits for one.
#[derive(Debug)]
pub struct Cycles {
    planner: Planner,
    /// `None` until the first call.
    books: Option<GridAvailability>,
    /// Whether the first call is yet to come, and goes on from another policy.
    resumed: bool,
}

impl Cycles {
    /// A policy that has seen nothing so far.
    pub fn new(settings: CycleSettings) -> Cycles {
        Cycles { planner: Planner::new(settings), books: None, resumed: false }
    }

    /// The window in which a waiting job is to start.
    pub fn booked(&self, job: JobId) -> Option<BookedWindow> {
        self.planner.booked(job).map(BookedWindow::of)
    }

    /// The fall-back windows of a job that is booked or runs, in the order in which they were
    /// found: the earliest on sites other than the job's, then the earliest on the sites that are
    /// left. Where no site is left, they may share sites with each other, but no nodes at a time.
    /// They keep the job's budget and deadline, and collide with nothing that runs, is booked or
    /// is missing; those of different jobs may collide.
    ///
    /// One whose start has passed is meant from the present on, if it is still free.
    pub fn fallbacks(&self, job: JobId) -> impl Iterator<Item = BookedWindow> + '_ {
        self.planner.fallbacks(job).iter().map(BookedWindow::of)
    }
}

/// When and where a job is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookedWindow {
    /// Common start of all tasks.
    pub start: Time,
    /// The expected end of the last of them.
    pub end: Time,
    /// Pools and numbers of nodes.
    pub place: Place,
}

impl BookedWindow {
    fn of(booking: &Booking) -> BookedWindow {
        BookedWindow { start: booking.start, end: booking.end(), place: booking.place() }
    }
}

impl Policy for Cycles {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        let mut books = self.books.take().unwrap_or_else(|| GridAvailability::of_pools(market));
        let news = books.follow(market, events);
        self.planner.follow(&mut books, news);
        let freed = self.planner.obey(market, &mut books, events);
        let resumed = std::mem::take(&mut self.resumed);
        for (job, comes) in inbox::arrivals(market, events) {
            let comes = if resumed { Comes::Again } else { comes };
            if let Err(reason) = self.planner.join(market, (job, comes)) {
                commands.push(Command::Refuse { job, reason });
            }
        }
        if news.early || freed {
            self.planner.replan(market, &mut books);
        }
        let mut renewal = Renewal::Invalid;
        if self.planner.is_due(market.now()) {
            let batch = self.planner.batch(market, &mut books, commands);
            self.planner.cycle(market, &mut books, &batch, commands);
            renewal = Renewal::All;
        }
        self.planner.fall_back(market, &mut books, events, renewal);
        self.planner.start_due(market, &mut books, commands);
        self.planner.started(market, commands);
        commands.extend(self.planner.next_wake().map(|at| Command::Wake { at }));
        self.books = Some(books);
    }

    fn resume(&mut self, usage: &BTreeMap<i64, u64>) {
        self.resumed = true;
        self.planner.resume(usage);
    }

    fn standing(&self, now: Time) -> Vec<UserShare> {
        self.planner.standing(now)
    }

    fn promise(&self) -> Promise {
        self.planner.promise()
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.planner.reservation(job)
    }

    fn reserved(&self) -> Vec<(JobId, Taken)> {
        self.planner.reserved()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.planner.counts()
    }
}
