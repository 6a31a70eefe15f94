//! A live market carried on in virtual time: forecasts and what-ifs.
//!
//! [`fork`] copies a market as it stands and lets any policy go on from there, by the rules of a
//! replay with [`crate::Semantics::Textbook`]. It decides nothing itself, and the market that it
//! was given stays as it is.

mod ahead;
mod beliefs;
mod compare;
mod drive;
mod totals;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tradewind_model::{Demand, JobId, Market, Money, Place, PoolId, Price, Reason, Span, Time};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::Policy;

use crate::SimError;
use crate::outage::AnnouncedOutage;

pub use compare::{Comparison, OutcomeChange, compare};
pub use totals::Totals;

/// What happens to jobs that run where an owner's load is to begin, or hours that are not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clash {
    /// They begin again, as in replays.
    #[default]
    Interrupts,
    /// They go on, as in a live market: nodes are taken as they become free, before the policy is
    /// asked. An owner's load and what is booked are as long as ever; hours end when they were to
    /// end.
    Waits,
}

/// What is believed of the time ahead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beliefs {
    /// How long jobs run in all, counted like their estimates. A job that is not named here runs
    /// for the estimate. A job that has exceeded its entry is believed to run for its estimate, and
    /// one that has exceeded that, too, for twice as long as believed so far, again and again: what
    /// policies expect of it.
    pub runs: BTreeMap<JobId, Span>,
    /// Jobs that will be submitted.
    pub coming: Vec<Coming>,
    /// Nodes that will be missing beside those of outages that were announced by the fork, and
    /// when that becomes known. With those of the fork they must not be more than there are;
    /// among themselves they are cut: see [`crate::outage::in_order`].
    pub missing: Vec<AnnouncedOutage>,
    /// What a node of a pool will cost, and from when on.
    pub asked: Vec<(Time, PoolId, Price)>,
    /// Which job is displaced. Nodes that break take their jobs with them in any case.
    pub clash: Clash,
}

/// A job that will be submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coming {
    /// When; at once, if that is over.
    pub submit: Time,
    /// What it will ask for.
    pub demand: Demand,
    /// How long it will run, counted like its estimate.
    pub run: Span,
}

/// How far a forecast goes: it stops at whichever comes first.
///
/// What it costs is the policy's own work. With 10,000 waiting jobs on 200 nodes in 8 pools, a look
/// costs `easy` and `css` 0.1 to 0.9 µs, so a whole forecast takes about a minute or less; with a
/// reservation for every job (`depth=all`) each look is a search through time of some 400 µs, but
/// the first pass already says of every job when it is to start. A caller that must answer in time
/// counts it with the `watch` of [`fork`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Nothing that happens later is looked at.
    pub horizon: Span,
    /// Calls of the policy.
    pub passes: u64,
    /// Waiting jobs, summed over the calls of the policy: most policies' work grows with it.
    pub looks: u64,
}

impl Limits {
    /// Ninety days: users plan no further ahead.
    pub const HORIZON: Span = Span(90 * 86_400);
    /// Enough for tens of thousands of jobs.
    pub const PASSES: u64 = 200_000;
    /// A queue of 10,000 jobs that empties job by job is 50 to 90 million looks.
    pub const LOOKS: u64 = 100_000_000;
    /// For policies with a reservation for every job: about two minutes' work with 10,000 of them,
    /// seconds with 2,000.
    pub const LOOKS_WITH_RESERVATIONS: u64 = 300_000;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { horizon: Self::HORIZON, passes: Self::PASSES, looks: Self::LOOKS }
    }
}

/// Why a forecast ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Every job has ended or was refused.
    Done,
    /// Jobs wait, nothing runs or comes, and the policy does nothing.
    Stuck,
    /// All else is beyond [`Limits::horizon`].
    Horizon,
    /// [`Limits::passes`] are used up.
    Passes,
    /// [`Limits::looks`] are used up.
    Looks,
    /// The caller stopped it.
    Watcher,
}

/// How far a forecast has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// In virtual time.
    pub at: Time,
    /// Calls of the policy so far.
    pub passes: u64,
    /// Jobs that wait.
    pub waiting: usize,
}

/// What is expected of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It runs, or ran already at the fork.
    Runs(Runs),
    /// The policy refuses it.
    Refused {
        /// The moment of the refusal.
        at: Time,
        /// The reason.
        reason: Box<Reason>,
    },
    /// It still waits, or is not submitted yet, where the forecast stops.
    Open {
        /// When the policy means to start it, if that is set down by then: see
        /// [`Policy::reservation`].
        reserved: Option<Time>,
    },
}

/// When, where and at what cost a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// Of all its tasks; before the fork, if it ran already.
    pub start: Time,
    /// Of its last task.
    pub end: Time,
    /// Pools and numbers of nodes.
    pub place: Place,
    /// What it has paid in the end.
    pub cost: Money,
}

impl Outcome {
    /// When, where and at what cost it runs, if it does.
    pub fn runs(&self) -> Option<&Runs> {
        match self {
            Outcome::Runs(runs) => Some(runs),
            Outcome::Refused { .. } | Outcome::Open { .. } => None,
        }
    }
}

/// What happens to a market.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The moment of the fork.
    pub from: Time,
    /// The moment at which it stopped. Jobs that run then are followed to their ends, without
    /// another pass or outage.
    pub until: Time,
    /// Why it stopped.
    pub stopped: Stopped,
    /// Calls of the policy.
    pub passes: u64,
    /// Jobs that waited or ran at the fork, and those of [`Beliefs::coming`], which have the ids
    /// that follow, in the order of submission.
    pub jobs: BTreeMap<JobId, Outcome>,
    /// What all of that adds up to.
    pub totals: Totals,
    /// By job that starts within the forecast: its nodes.
    sold: BTreeMap<JobId, Vec<Sold>>,
}

/// Nodes of a pool that a job takes, and what it pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sold {
    /// Which nodes, and for how long.
    pub taken: Taken,
    /// For each, per second.
    pub price: Price,
}

impl Forecast {
    /// The nodes that jobs take which wait at the fork or come later, in the order of their ids:
    /// beside running jobs and outages, this is what a quote must leave alone.
    pub fn taken(&self) -> impl Iterator<Item = Taken> + '_ {
        self.sold().map(|it| it.taken)
    }

    /// The nodes that a job takes which starts within the forecast.
    pub fn taken_by(&self, job: JobId) -> impl Iterator<Item = Taken> + '_ {
        self.sold.get(&job).into_iter().flatten().map(|it| it.taken)
    }

    /// The same, with prices.
    pub fn sold(&self) -> impl Iterator<Item = Sold> + '_ {
        self.sold.values().flatten().copied()
    }
}

/// Goes on from `market` with `policy`, which learns of the past from [`Market::history`]: it has
/// not been asked yet, and [`Policy::resume`] has been called, where that matters.
///
/// Running jobs end when `beliefs` say so, waiting ones run for as long; announced outages begin
/// and end at their times, but see [`Clash`]. An outage that should have begun begins at once, or
/// never, if it should be over by now; nodes that should be back stay away for twice as long as
/// believed so far, again and again: what policies expect. All limits apply; `watch` is asked before
/// each pass and may stop the forecast, too. Deterministic, if `watch` is.
///
/// Copies the market, which is linear in all jobs ever submitted; then O(log n) per event beside
/// the policy's own work.
///
/// # Errors
/// If the policy asks for what cannot be, or a job that comes is wider than the grid.
pub fn fork(
    market: &Market,
    policy: &mut dyn Policy,
    beliefs: &Beliefs,
    limits: Limits,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Forecast, SimError> {
    drive::drive(market, policy, beliefs, limits, watch)
}
