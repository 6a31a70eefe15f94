//! Where a job could run, pool by pool, and what speaks against it.

use tradewind_daemon::live::Live;
use tradewind_daemon::live::state::Job;
use tradewind_model::{Attribute, Demand, Money, Performance, Pool, PoolId, Span};

use super::words;
use crate::documents::{Credits, Thousandths};

/// One pool, as it asks today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Considered {
    pub(crate) pool: String,
    /// The job has, had or is to have nodes here.
    pub(crate) chosen: bool,
    /// Per node and second.
    pub(crate) price: Credits,
    /// How long it may take here, seconds.
    pub(crate) length: i64,
    /// All of it here, for that long.
    pub(crate) cost: Credits,
    /// Why not, or how it differs from what was chosen.
    pub(crate) verdict: String,
}

/// All pools by what speaks for them, in the market's order; what is wrong with the job as a
/// whole, if no nodes suit it. `chosen`: where its nodes are or will be. Linear in the pools.
pub(crate) fn considered(
    live: &Live,
    job: &Job,
    chosen: &[PoolId],
) -> Result<Vec<Considered>, String> {
    let demand = live.demand_of(&job.user, &job.submission).map_err(|wrong| wrong.message)?;
    let pools = live.state().market.pools();
    let cost = |pool: &Pool| pool.price.of(demand.processors, pool.length_of(demand.estimate));
    // With several, the dearest and slowest of them is what others are measured by.
    let own = chosen.iter().map(|id| pools.pool(*id));
    let own = own.map(|pool| (cost(pool), pool.length_of(demand.estimate))).max();
    let line = |(id, pool): (PoolId, &Pool)| {
        let (cost, length) = (cost(pool), pool.length_of(demand.estimate));
        let chosen = chosen.contains(&id);
        let verdict = match (chosen, against(pool, &demand, cost)) {
            (true, _) => "chosen".to_owned(),
            (false, Some(why)) => why,
            (false, None) => beside((cost, length), own),
        };
        Considered {
            pool: pool.name.clone(),
            chosen,
            price: pool.price.into(),
            length: length.0,
            cost: cost.into(),
            verdict,
        }
    };
    Ok(pools.iter().map(line).collect())
}

/// Why the pool alone cannot have the job.
fn against(pool: &Pool, demand: &Demand, cost: Money) -> Option<String> {
    let terms = demand.terms();
    let lacks =
        |name: &str, wanted: &Attribute| !Attribute::meets(pool.attributes.get(name), wanted);
    let missing = terms.attributes.iter().find(|(name, wanted)| lacks(name, wanted));
    if let Some((name, _)) = missing {
        return Some(match name.as_str() {
            "site" => "another site was asked for".to_owned(),
            "pool" => "another pool was asked for".to_owned(),
            name => format!("its nodes do not have the {name} that was asked for"),
        });
    }
    if let Some(least) = terms.min_performance.filter(|least| pool.performance < *least) {
        let told = |it: Performance| words::performance(&Thousandths::from(it));
        let (has, least) = (told(pool.performance), told(least));
        return Some(format!("performance {has}, at least {least} was asked for"));
    }
    if let Some(most) = terms.max_price.filter(|most| pool.price > *most) {
        let most = words::credits(&Credits(i128::from(most.0) * 3_600));
        return Some(format!("dearer than the {most} credits per node-hour that it may ask"));
    }
    if !pool.suits(demand) {
        return Some("it takes no jobs of this size".to_owned());
    }
    if pool.nodes < demand.processors {
        let (has, needed) = (pool.nodes, demand.processors);
        return Some(format!("{has} of the {needed} nodes that it needs: only with others"));
    }
    let budget = terms.budget.filter(|budget| cost > *budget)?;
    Some(format!("beyond the budget of {} credits", words::credits(&budget.into())))
}

/// How a pool that suits differs from what was chosen.
fn beside((cost, length): (Money, Span), own: Option<(Money, Span)>) -> String {
    let Some((own_cost, own_length)) = own else { return "suits".to_owned() };
    let difference = |more: i128, word: &str, other: &str, told: &dyn Fn(i128) -> String| match more
    {
        0 => None,
        more if more > 0 => Some(format!("{} {word}", told(more))),
        less => Some(format!("{} {other}", told(-less))),
    };
    let credits = |amount: i128| format!("{} credits", words::credits(&Credits(amount)));
    let span = |seconds: i128| words::span(&i64::try_from(seconds).unwrap_or(i64::MAX));
    let dearer =
        difference(i128::from(cost.0) - i128::from(own_cost.0), "dearer", "cheaper", &credits);
    let slower =
        difference(i128::from(length.0) - i128::from(own_length.0), "slower", "faster", &span);
    let told: Vec<String> = [dearer, slower].into_iter().flatten().collect();
    match told.is_empty() {
        true => "suits as well".to_owned(),
        false => format!("suits: {}", told.join(", ")),
    }
}
