//! A job that waits to be handed to a queue.

use tradewind_model::{Demand, JobId, Money, Pool, PoolId, Price, Ratio, Reason, Span, Time};

use super::clearing::Purse;
use super::price;
use super::settings::{Deadline, DispatchSettings};
use super::to_come::ToCome;
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
    /// Where prices change with time: the next cycle in which it could pay some queue if that were
    /// empty.
    pays_at: Time,
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
        to_come: &ToCome<'_>,
        (job, demand): (JobId, &Demand),
        since: Time,
    ) -> Result<UnassignedJob, Reason> {
        let ToCome { pools, settings, .. } = *to_come;
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
        let mut pays_at = Time::INFINITY;
        let latest = |(id, pool): (PoolId, &Pool)| {
            latest(pool, demand, end, |length| {
                let limit = purse.limit(demand.processors, length, pools.ask_factor(id));
                let first = to_come.first_paid(id, length, limit);
                pays_at = pays_at.min(first.unwrap_or(Time::INFINITY));
                first.is_some()
            })
        };
        let latest: Box<[Time]> = pools.iter().map(latest).collect();
        let last = latest.iter().copied().max().unwrap_or(NEVER);
        if last == NEVER {
            return Err(nowhere(to_come, demand));
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
            pays_at,
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

    /// The first cycle that could do something about it if queues were empty: it can pay one, or is to
    /// be refused.
    pub(super) fn next_chance(&mut self, to_come: &ToCome<'_>) -> Time {
        let pays = self.pays_again(to_come).unwrap_or(to_come.cycles.first);
        pays.min(Time(self.last.0.saturating_add(1)))
    }

    /// Why no cycle helps it any more, if that is because it can pay in none.
    pub(super) fn unpaid(&mut self, to_come: &ToCome<'_>, demand: &Demand) -> Option<Reason> {
        self.pays_again(to_come).is_none().then(|| nowhere(to_come, demand))
    }

    /// The first cycle in which it can pay an empty queue.
    fn pays_again(&mut self, to_come: &ToCome<'_>) -> Option<Time> {
        if self.pays_at < to_come.cycles.first {
            let next = |(id, _): (PoolId, &Pool)| {
                let (_, length) = self.in_queue(id.index())?;
                let limit = self.limit(length, to_come.pools.ask_factor(id));
                to_come.first_paid(id, length, limit)
            };
            self.pays_at = to_come.pools.iter().filter_map(next).min()?;
        }
        Some(self.pays_at)
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
fn latest(pool: &Pool, demand: &Demand, end: Time, mut pays: impl FnMut(Span) -> bool) -> Time {
    if pool.nodes < demand.processors || !pool.suits(demand) {
        return NEVER;
    }
    let length = pool.length_of(demand).max(Span(1));
    if pays(length) { end - length } else { NEVER }
}

/// Why no queue takes the job.
fn nowhere(to_come: &ToCome<'_>, demand: &Demand) -> Reason {
    let ToCome { pools, settings, .. } = *to_come;
    let (needed, terms) = (demand.processors, demand.terms());
    let purse = Purse::of(terms, settings);
    let suits = || pools.iter().filter(|(_, pool)| pool.suits(demand));
    let fits = suits().filter(|(_, pool)| pool.nodes >= needed);
    let cost = |(id, pool): (PoolId, &Pool)| {
        let length = pool.length_of(demand).max(Span(1));
        let min = to_come.lowest(id, length).of(needed, length);
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
