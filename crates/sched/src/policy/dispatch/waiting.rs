//! A job that waits to be handed to a queue.

use tradewind_model::{
    Demand, JobId, Money, Pool, PoolId, Pools, Price, Ratio, Reason, Span, Time,
};

use super::clearing::Purse;
use super::price;
use super::pricing;
use super::settings::{Deadline, DispatchSettings};
use super::unit::{self, Valuation};
use super::valuation::{self, BidFactor};

/// A job at the meta-scheduler.
#[derive(Debug, Clone)]
pub(super) struct UnassignedJob {
    pub(super) job: JobId,
    /// Moment since which this holds.
    pub(super) since: Time,
    pub(super) processors: u32,
    /// On the reference node.
    pub(super) estimate: Span,
    /// Zero if no rule asks for it.
    pub(super) value: Money,
    /// Of its bids.
    factor: BidFactor,
    purse: Purse,
    pub(super) deadline: Option<Time>,
    /// When it has to be finished; [`Time::INFINITY`] if it need not be.
    end: Time,
    /// By queue: when it begins there at the latest; [`NEVER`] if it may not go there.
    latest: Box<[Time]>,
    /// The latest of these.
    last: Time,
    /// Its bid and the lowest ask of queues from which the gate alone kept it in its last cycle.
    pub(super) priced_out: Option<(i128, i128)>,
}

/// Before all that happens.
pub(super) const NEVER: Time = Time(i64::MIN);

impl UnassignedJob {
    /// A job that waits since `since`. O(queues).
    ///
    /// # Errors
    /// Why it can never run.
    pub(super) fn new(
        pools: &Pools,
        settings: &DispatchSettings,
        job: JobId,
        demand: &Demand,
        since: Time,
    ) -> Result<UnassignedJob, Reason> {
        let terms = demand.terms();
        let value = match settings.by_value() {
            true => price::value(terms).ok_or(Reason::NoValue)?,
            false => Money::ZERO,
        };
        let end = match settings.deadline {
            Deadline::Check => terms.deadline.unwrap_or(Time::INFINITY),
            Deadline::Ignore => Time::INFINITY,
        };
        let purse = Purse::of(terms, settings);
        let latest = |(id, pool): (PoolId, &Pool)| {
            latest(pool, demand, end, |length| {
                let limit = purse.limit(demand.processors, length, pools.ask_factor(id));
                limit >= pricing::lowest(pool, settings.dynamics())
            })
        };
        let latest: Box<[Time]> = pools.iter().map(latest).collect();
        let last = latest.iter().copied().max().unwrap_or(NEVER);
        if last == NEVER {
            return Err(nowhere(pools, settings, demand));
        }
        let Demand { processors, estimate, .. } = *demand;
        let (deadline, priced_out) = (terms.deadline, None);
        Ok(UnassignedJob {
            job,
            since,
            processors,
            estimate,
            value,
            factor: BidFactor::new(settings.ratio, terms.bid_factor),
            purse,
            deadline,
            end,
            latest,
            last,
            priced_out,
        })
    }

    /// When it begins in the queue at the latest, and how long it takes there; `None` if it may
    /// not go there.
    pub(super) fn in_queue(&self, queue: usize) -> Option<(Time, Span)> {
        let latest = self.latest[queue];
        (latest != NEVER).then(|| (latest, self.end - latest))
    }

    /// When it begins at the latest, in whatever queue.
    pub(super) fn last(&self) -> Time {
        self.last
    }

    /// The most that it can pay per node and second where it takes so long and asks have this factor,
    /// rounded down.
    pub(super) fn limit(&self, length: Span, ask: Ratio) -> Price {
        self.purse.limit(self.processors, length, ask)
    }

    /// Whether it begins in time if it begins at `at`, in one queue at least.
    pub(super) fn in_time(&self, at: Time) -> bool {
        at <= self.last
    }

    /// What it bids now.
    pub(super) fn bid(&self, settings: &DispatchSettings, now: Time) -> i128 {
        let left = self.deadline.map_or(settings.patience, |deadline| deadline - now);
        let waited = now - self.since;
        match settings.valuation {
            Valuation::Paper => valuation::bid(self.value, self.factor, left, waited),
            Valuation::Unit => {
                let size = (self.processors, self.estimate);
                unit::bid(self.value, self.factor, size, (left, waited))
            }
        }
    }

    /// Why it is not worth while to wait any more, if its deadline is out of reach.
    pub(super) fn hopeless(&self, now: Time) -> Option<Reason> {
        let deadline = self.deadline.filter(|_| !self.in_time(now))?;
        let late = Reason::TooLate { earliest: now + (self.end - self.last), deadline };
        Some(self.priced_out.map_or(late, |(bid, ask)| Reason::PricedOut {
            bid: valuation::money(bid),
            ask: valuation::money(ask),
        }))
    }
}

/// `pays`: whether the job could ever pay the queue for so long.
fn latest(pool: &Pool, demand: &Demand, end: Time, pays: impl Fn(Span) -> bool) -> Time {
    if pool.nodes < demand.processors || !pool.suits(demand) {
        return NEVER;
    }
    let length = pool.length_of(demand).max(Span(1));
    if pays(length) { end - length } else { NEVER }
}

/// Why no queue takes the job.
fn nowhere(pools: &Pools, settings: &DispatchSettings, demand: &Demand) -> Reason {
    let (needed, terms) = (demand.processors, demand.terms());
    let purse = Purse::of(terms, settings);
    let suits = || pools.iter().filter(|(_, pool)| pool.suits(demand));
    let fits = suits().filter(|(_, pool)| pool.nodes >= needed);
    let cost = |(id, pool): (PoolId, &Pool)| {
        let length = pool.length_of(demand).max(Span(1));
        let min = pricing::lowest(pool, settings.dynamics()).of(needed, length);
        (min, purse.most(needed, length, pools.ask_factor(id)))
    };
    let Some((cheapest, max)) = fits.map(cost).min() else {
        let widest = suits().map(|(_, pool)| pool.nodes).max().unwrap_or(0);
        return Reason::WiderThanQueues { needed, widest };
    };
    match terms.budget.filter(|budget| *budget < cheapest) {
        Some(budget) => Reason::BudgetShort { cheapest, budget },
        None => Reason::PricedOut { bid: max, ask: cheapest },
    }
}
