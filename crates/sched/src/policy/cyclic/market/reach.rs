//! Which pools a batch can reach: a plan on these alone is the plan on all.
//!
//! A plan takes at most one node for each task of each alternative. So where that many nodes are
//! free at a job's first start, as many of them as it has tasks are left whenever it searches, and
//! it can have a window there and then. What that window costs, or how long it takes, bounds the
//! nodes of the best one; and no node is in a window that exceeds the budget together with the
//! cheapest nodes. Pools beyond these bounds change no search.

use tradewind_model::{
    Criterion, Demand, Horizon, Limit, Pool, PoolId, Pools, Profile, Spread, Time,
};

use super::CycleSettings;
use crate::policy::cyclic::{Offers, SearchBy, SliceBy, SubBatches};
use crate::policy::grid::{PoolOffer, Tariff};
use crate::window::{Algorithm, Variant};

/// What a plan looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight<'a> {
    pub(super) pools: &'a Pools,
    pub(super) tariff: &'a Tariff,
    pub(super) profiles: &'a [Profile],
    pub(super) horizon: Horizon,
    /// Nodes that the batch takes at most, with all alternatives.
    pub(super) taken: u64,
}

/// Whether plans under these settings ask for nothing but windows: also the mean of all nodes
/// counts where limits are shared among sub-batches, or jobs are cut by what they are worth.
pub(super) fn is_bounded(settings: &CycleSettings) -> bool {
    let (cyclic, vo) = (&settings.cyclic, &settings.vo);
    let at_once = cyclic.sub_batches == SubBatches::Count(1)
        || cyclic.offers == Offers::Overlapping && vo.criteria.is_empty();
    let unlimited = vo.criteria.is_empty()
        && !matches!(vo.time_limit, Limit::At(_))
        && !matches!(vo.budget_limit, Limit::At(_));
    let alike = matches!(&cyclic.search, SearchBy::Job | SearchBy::All(Algorithm::Best(_)));
    cyclic.variant == Variant::Exact
        && cyclic.offers != Offers::OnTheFly
        && cyclic.max_alternatives.is_some()
        && cyclic.slice_by != SliceBy::Cost
        && alike
        && (at_once || unlimited)
}

/// By pool, whether a job of the batch can reach it; `end` is when each must be over. `None`: all
/// must be looked at.
pub(super) fn reached<'a>(
    sight: Sight<'a>,
    settings: &CycleSettings,
    batch: impl Iterator<Item = (&'a Demand, Time)>,
) -> Option<Vec<bool>> {
    let mut reached = vec![false; sight.pools.as_slice().len()];
    for (demand, end) in batch {
        let terms = demand.terms();
        let plain = terms.spread == Spread::Grid && terms.licences.is_none();
        if !plain || demand.is_moldable() {
            return None;
        }
        let criterion = match &settings.cyclic.search {
            SearchBy::All(algorithm) => match algorithm {
                Algorithm::Best(criterion) => criterion,
                _ => return None,
            },
            _ => &demand.terms().criterion,
        };
        let end = demand.terms().deadline.map_or(end, |deadline| deadline.min(end));
        let job = JobSight { sight, demand, end: end.min(sight.horizon.end) };
        let found = match criterion {
            Criterion::Start => job.at_once().or_else(|| job.within_budget())?,
            Criterion::Cost => job.cheapest().or_else(|| job.within_budget())?,
            Criterion::Runtime | Criterion::Finish => {
                job.fastest().or_else(|| job.within_budget())?
            }
            Criterion::ProcessorTime | Criterion::Sum(_) => return None,
        };
        found.iter().for_each(|pool| reached[pool.index()] = true);
    }
    Some(reached)
}

/// What a job of the batch looks at.
struct JobSight<'a> {
    sight: Sight<'a>,
    demand: &'a Demand,
    /// By when it must be over.
    end: Time,
}

impl JobSight<'_> {
    fn offers(&self) -> impl Iterator<Item = PoolOffer> {
        let terms = self.demand.terms();
        // As the window search judges nodes: admission is none of its business.
        let suits = move |_: PoolId, pool: &Pool| {
            let admission = tradewind_model::Admission::NONE;
            terms.max_price.is_none_or(|max| pool.price <= max)
                && match pool.admission == admission {
                    true => pool.suits(self.demand),
                    false => Pool { admission, ..pool.clone() }.suits(self.demand),
                }
        };
        self.sight.tariff.cheapest(self.demand, suits)
    }

    /// Nodes that are free from the job's first start on for as long as a task takes.
    fn free(&self, offer: &PoolOffer) -> u64 {
        let start = self.sight.horizon.start;
        let start = self.demand.terms().earliest_start.map_or(start, |it| it.max(start));
        if start + offer.length > self.end {
            return 0;
        }
        let free = self.sight.profiles[offer.pool.index()].min(start, offer.length);
        free.clamp(0, i64::from(offer.nodes)) as u64
    }

    /// Whether so many nodes at this cost, or for less, keep to the budget.
    fn affords(&self, cost: i64) -> bool {
        let all = i128::from(self.demand.processors) * i128::from(cost);
        self.demand.terms().budget.is_none_or(|budget| all <= i128::from(budget.0))
    }

    /// The first windows, if all are at the first start: only what is free then counts.
    fn at_once(&self) -> Option<Vec<PoolId>> {
        let (mut found, mut left) = (Vec::new(), self.sight.taken);
        for offer in self.offers() {
            let free = self.free(&offer);
            if free == 0 {
                continue;
            }
            found.push(offer.pool);
            left = left.saturating_sub(free);
            if left == 0 {
                return self.affords(offer.cost).then_some(found);
            }
        }
        None
    }

    /// The cheapest windows: the last node that may be needed at the first start, as often as
    /// there are tasks, is enough for all.
    fn cheapest(&self) -> Option<Vec<PoolId>> {
        let mut left = self.sight.taken;
        let enough = |offer: &PoolOffer| {
            left = left.saturating_sub(self.free(offer));
            left == 0
        };
        let last = self.offers().find(enough)?.cost;
        self.affords(last).then(|| {
            let all = i128::from(self.demand.processors) * i128::from(last);
            self.costing_with_others(all)
        })
    }

    /// Whatever is in a window that the budget admits.
    fn within_budget(&self) -> Option<Vec<PoolId>> {
        let budget = i128::from(self.demand.terms().budget?.0);
        Some(self.costing_with_others(budget))
    }

    /// Pools of which a node, with the cheapest others, costs as much at most.
    fn costing_with_others(&self, all: i128) -> Vec<PoolId> {
        let others = i128::from(self.demand.processors.saturating_sub(1));
        let mut offers = self.offers().peekable();
        let least = offers.peek().map_or(0, |offer| i128::from(offer.cost));
        let most = all - others * least;
        offers.take_while(|offer| i128::from(offer.cost) <= most).map(|it| it.pool).collect()
    }

    /// The shortest and the first to be over: nothing takes longer than what is free at the first
    /// start, if that keeps to the budget.
    fn fastest(&self) -> Option<Vec<PoolId>> {
        let mut offers: Vec<PoolOffer> = self.offers().collect();
        offers.sort_by_key(|offer| offer.length);
        let (mut left, mut dearest) = (self.sight.taken, 0);
        let enough = |offer: &&PoolOffer| {
            let free = self.free(offer);
            dearest = if free > 0 { offer.cost.max(dearest) } else { dearest };
            left = left.saturating_sub(free);
            left == 0
        };
        let longest = offers.iter().find(enough)?.length;
        let within = offers.iter().take_while(|offer| offer.length <= longest);
        self.affords(dearest).then(|| within.map(|offer| offer.pool).collect())
    }
}
