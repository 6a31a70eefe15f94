//! Whether a waiting job waits for lower prices.

use std::sync::Arc;

use tradewind_daemon::live::state::{Job, State};
use tradewind_model::{Demand, Pool, PoolId, Terms};

use crate::documents::Credits;

/// The word for a job that waits for lower prices.
pub(super) const REASON: &str = "PriceLimit";

/// What of its limits keeps the job from a start now, though all nodes were free: nodes that suit it
/// otherwise cost too much. Linear in the pools, times a logarithm.
pub(super) fn in_the_way(state: &State, job: &Job) -> Option<String> {
    let (market, id) = (&state.market, job.id()?);
    let demand = market.demand(id)?;
    let Terms { budget, max_price, .. } = *demand.terms();
    budget.or(max_price.map(|it| tradewind_model::Money(it.0)))?;
    let any = Terms { budget: None, max_price: None, ..demand.terms().clone() };
    let any = Demand { terms: Some(Arc::new(any)), ..demand.clone() };
    let now = market.now();
    let offer = |(pool, it): (PoolId, &Pool)| {
        let length = it.length_of(demand);
        let each = market.asked(id, pool, (now, length)).of(1, length);
        let highest = market.pools().highest_within(pool, now, length);
        (each, max_price.is_none_or(|cap| highest <= cap), it.nodes)
    };
    let suitable = market.pools().iter().filter(|(_, pool)| pool.suits(&any));
    let mut offers: Vec<_> = suitable.map(offer).collect();
    offers.sort_unstable();
    let nodes = |within: bool| -> u64 {
        let all = offers.iter().filter(|(_, is_within, _)| *is_within || !within);
        all.map(|(.., nodes)| u64::from(*nodes)).sum()
    };
    let wanted = u64::from(demand.processors);
    if nodes(false) < wanted {
        return None;
    }
    if let Some(cap) = max_price.filter(|_| nodes(true) < wanted) {
        let cap = Credits(cap.0.into());
        return Some(format!("too few nodes that suit it cost no more than its price cap, {cap}"));
    }
    let (mut left, mut cost) = (i128::from(wanted), 0);
    for (each, _, nodes) in offers.iter().filter(|(_, is_within, _)| *is_within) {
        let taken = left.min(i128::from(*nodes));
        cost += i128::from(each.0) * taken;
        left -= taken;
    }
    let budget = Credits(budget.map(|it| i128::from(it.0)).filter(|budget| cost > *budget)?);
    Some(format!("it would cost {} credits now, and its budget is {budget}", Credits(cost)))
}
