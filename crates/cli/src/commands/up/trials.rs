//! What other prices would have brought: last week's jobs once more, under the policy of now.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_daemon::live::{Kind, Refusal};
use tradewind_model::{Market, PoolId, Pools, Price, Time};
use tradewind_sim::fork::{self, Beliefs, Coming, Limits, Outcome};
use tradewind_web::documents::Credits;
use tradewind_web::{MarketView, PastJob, PriceTrial};

use super::policies::words;
use crate::policy;

/// How long one price may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Draws of policies that draw, as in the live market.
const SEED: u64 = 1;

fn conflict(wrong: impl std::fmt::Display) -> Refusal {
    Refusal::new(Kind::Conflict, wrong.to_string(), "")
}

/// The pool's part of it all at `price`. The market is empty at first, and has no closures.
pub(super) fn at(
    view: &MarketView,
    past: &[PastJob],
    pool: PoolId,
    price: Price,
) -> Result<PriceTrial, Refusal> {
    let pools = priced(view.market.pools(), pool, price)?;
    let first = past.iter().map(|job| job.submit).min().unwrap_or(Time(0));
    let market = Market::new(Arc::new(pools), first);
    let mut policy = policy::live(&view.policy, market.pools(), SEED)
        .map_err(|wrong| Refusal::new(Kind::Invalid, words(&wrong), ""))?;
    let mut coming: Vec<&PastJob> = past.iter().collect();
    coming.sort_by_key(|job| job.submit);
    let coming = coming.into_iter().map(|job| Coming {
        submit: job.submit,
        demand: job.demand.clone(),
        run: job.run,
    });
    let beliefs = Beliefs { coming: coming.collect(), ..Beliefs::default() };
    let begin = Instant::now();
    let mut watch = |_| match begin.elapsed() < PATIENCE {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let limits = Limits::default();
    let forecast =
        fork::fork(&market, &mut *policy, &beliefs, limits, &mut watch).map_err(conflict)?;
    let runs = || forecast.jobs.values().filter_map(Outcome::runs);
    let of = market.pools().pool(pool);
    let mut used = 0_i64;
    let mut income = 0_i128;
    for (job, outcome) in forecast.jobs.iter() {
        let Some(run) = outcome.runs() else { continue };
        let Some(coming) = beliefs.coming.get(job.0 as usize) else { continue };
        let shares = run.place.shares(coming.demand.processors);
        for share in shares.filter(|share| share.pool == pool) {
            let length = of.length_of(coming.run);
            used = used.saturating_add(length.0.saturating_mul(i64::from(share.nodes)));
            income += i128::from(price.of(share.nodes, length).0);
        }
    }
    let (ran, jobs) = (runs().count() as u32, past.len() as u32);
    Ok(PriceTrial { price: price.into(), income: Credits(income), used, ran, jobs })
}

fn priced(pools: &Pools, pool: PoolId, price: Price) -> Result<Pools, Refusal> {
    let mut all = pools.as_slice().to_vec();
    if let Some(own) = all.get_mut(pool.index()) {
        own.price = price;
    }
    Pools::new(pools.sites().to_vec(), all).map_err(conflict)
}
