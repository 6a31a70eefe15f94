//! Where one job could go, pool by pool, and what speaks against each: what people ask of a
//! decision. No policy decides by it.

use tradewind_model::{
    Attribute, Demand, LicenceShare, Market, Money, Performance, Place, Pool, PoolId, Pools, Price,
    Profile, Span, Time,
};

use super::availability::{Capacity, Taken, free_in_each};
use super::grid::{Along, GridAvailability, PoolRoom};

/// What is free in each pool beside running jobs, as long as they expect to run, and outages that
/// are announced. Waiting jobs do not count.
#[derive(Debug)]
pub struct PoolReport {
    profiles: Vec<Profile>,
    /// By licence.
    licences: Vec<Profile>,
}

/// A pool, for all tasks of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeighedPool {
    /// Id of the pool.
    pub pool: PoolId,
    /// What it asked per node and second.
    pub price: Price,
    /// How long the job may take there.
    pub length: Span,
    /// Whether it could have the job.
    pub verdict: Verdict,
}

/// Whether a pool could have a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// From this moment on it has as many nodes, for as long as the job may take.
    From(Time),
    /// It could not.
    Against(Against),
}

/// What speaks against a pool; of several things the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Against {
    /// Its nodes do not have this attribute as it was asked for.
    Attribute(String),
    /// They are slower than was asked for: their performance.
    Slow(Performance),
    /// The job's data cannot be brought to its site, or away from it.
    NoLink,
    /// They cost more than the job may pay: the most per node and second.
    Dear(Price),
    /// It takes no jobs of this size.
    Size,
    /// It has so few nodes in all: the job could only lie there in part.
    Narrow(u32),
    /// All tasks would cost more than the budget, which is this.
    Budget(Money),
    /// It could be over at this moment at the earliest, after the deadline.
    Late(Time),
    /// As many nodes, or licences, are never free together, as far as is known.
    Never,
}

impl PoolReport {
    /// Of the market as it stands. O((r + c)·log n) for r running jobs and c outages.
    pub fn of(market: &Market) -> PoolReport {
        PoolReport { profiles: free_in_each(market), licences: free_licences(market) }
    }

    /// The job takes nodes now.
    pub fn take(&mut self, market: &Market, demand: &Demand, place: &Place) {
        let (now, mut longest) = (market.now(), Span(0));
        for share in place.shares(demand.processors) {
            let length = market.pools().pool(share.pool).length_of(demand);
            self.profiles[share.pool.index()].take(share.nodes, now, now + length);
            longest = longest.max(length);
        }
        for LicenceShare { licence, count } in demand.terms().licences.iter().flat_map(|it| &**it) {
            self.licences[licence.index()].take(*count, now, now + longest);
        }
    }

    /// Whether the nodes are free; what lies before the moment of the market does not count.
    pub fn fits(&self, taken: &Taken) -> bool {
        self.profiles.fits(taken)
    }

    /// All pools, in their order, for a job that could start from now on. Logarithmic in what is
    /// known of each that suits.
    pub fn weigh(&self, market: &Market, demand: &Demand) -> Vec<WeighedPool> {
        let each = market.pools().iter().zip(&self.profiles);
        let pools = market.pools();
        let along = Along::of(pools, demand);
        let licences = along.rooms(&self.licences);
        each.map(|((id, _), profile)| {
            self::weigh(pools, id, (PoolRoom::beside(profile, &licences), &along), demand)
        })
        .collect()
    }
}

/// What is free of each licence of a market as it stands. Nothing where there are none; else as
/// [`PoolReport::of`].
pub(crate) fn free_licences(market: &Market) -> Vec<Profile> {
    match market.pools().licences() {
        [] => Vec::new(),
        _ => GridAvailability::of_market(market).free().licences().to_vec(),
    }
}

/// Its price is that of its first start there, or of now if it has none; it is not waited for a lower
/// one.
fn weigh(
    pools: &Pools,
    id: PoolId,
    (room, along): (PoolRoom<'_>, &Along),
    demand: &Demand,
) -> WeighedPool {
    let pool = pools.pool(id);
    let length = pool.length_of(demand);
    let first = earliest(room, demand, length);
    let start = match first {
        Verdict::From(start) => start,
        Verdict::Against(_) => room.nodes.origin(),
    };
    let price = pools.asked(id, start, length);
    let highest = pools.highest_within(id, start, length);
    let cost = i128::from(price.of(demand.processors, length).0) + along.cost(length);
    let budget = demand.terms().budget.filter(|budget| cost > i128::from(budget.0));
    let against = against(pool, highest, demand).or_else(|| budget.map(Against::Budget));
    let verdict = match against {
        Some(against) => Verdict::Against(against),
        None => first,
    };
    WeighedPool { pool: id, price, length, verdict }
}

fn earliest(room: PoolRoom<'_>, demand: &Demand, length: Span) -> Verdict {
    let terms = demand.terms();
    let origin = room.nodes.origin();
    let from = terms.earliest_start.map_or(origin, |it| it.max(origin));
    match room.earliest_before(demand.processors, length, from, Time::INFINITY) {
        None => Verdict::Against(Against::Never),
        Some(start) => match terms.deadline {
            Some(deadline) if start + length > deadline => {
                Verdict::Against(Against::Late(start + length))
            }
            _ => Verdict::From(start),
        },
    }
}

/// What speaks against the pool, whatever is free in it, but for the budget; `highest` is the highest
/// price of any second of the job.
fn against(pool: &Pool, highest: Price, demand: &Demand) -> Option<Against> {
    let terms = demand.terms();
    let lacks =
        |name: &str, wanted: &Attribute| !Attribute::meets(pool.attributes.get(name), wanted);
    let missing = terms.attributes.iter().find(|(name, wanted)| lacks(name, wanted));
    if let Some((name, _)) = missing {
        return Some(Against::Attribute(name.clone()));
    }
    if terms.min_performance.is_some_and(|min| pool.performance < min) {
        return Some(Against::Slow(pool.performance));
    }
    if terms.data.as_ref().is_some_and(|staging| staging.at(pool.site).is_none()) {
        return Some(Against::NoLink);
    }
    if let Some(max) = terms.max_price.filter(|max| highest > *max) {
        return Some(Against::Dear(max));
    }
    if !pool.suits(demand) {
        return Some(Against::Size);
    }
    (pool.nodes < demand.processors).then_some(Against::Narrow(pool.nodes))
}

#[cfg(test)]
mod tests;
