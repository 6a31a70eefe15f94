//! What other prices would have brought: last week once more, under the policy of now.

use std::sync::Arc;
use std::time::Instant;

use tradewind_daemon::live::{Refusal, RefusalKind};
use tradewind_model::{Market, PoolId, Price, Time};
use tradewind_sim::fork::{self, Beliefs, Clash, Coming, Limits, Stopped};
use tradewind_sim::outage::AnnouncedOutage;
use tradewind_web::{MarketView, PoolUse, ReplayResult, Watch, Week};

use super::policies::{self, unsuited};

fn conflict(wrong: impl std::fmt::Display) -> Refusal {
    Refusal::new(RefusalKind::Conflict, wrong.to_string(), "")
}

/// The week with these prices, until the moment at which it was left. The market is empty at
/// first. Owners' load waits for jobs that run, as at a site, and comes before all that wait.
pub(super) fn replay_with_prices(
    view: &MarketView,
    week: &Week,
    asked: &[(Time, PoolId, Price)],
    watch: &Watch,
) -> Result<ReplayResult, Refusal> {
    let pools = view.market.pools().clone().at_prices_of(week.from);
    let market = Market::new(Arc::new(pools), week.from);
    let policy = policies::read(&view.policy)?.for_market(market.pools());
    let mut policy = policy.map_err(|wrong| unsuited(&wrong))?;
    let begin = Instant::now();
    let mut watch = |_| watch.flow();
    let limits = Limits { horizon: week.until - week.from, ..Limits::default() };
    let beliefs = beliefs(week, asked);
    let forecast = fork::fork(&market, &mut *policy, &beliefs, limits, &mut watch);
    let forecast = forecast.map_err(conflict)?;
    match forecast.stopped {
        Stopped::Done | Stopped::Stuck | Stopped::Horizon => {}
        Stopped::Passes | Stopped::Looks | Stopped::Watcher => {
            let far = (forecast.until - week.from).0 * 100 / limits.horizon.0.max(1);
            return Err(conflict(format!(
                "the policy has too much to do with these jobs: after {} s it had come through \
                 {far} % of the time",
                begin.elapsed().as_secs()
            )));
        }
    }
    let had = forecast.sold().map(|sold| PoolUse {
        pool: sold.taken.share.pool,
        nodes: sold.taken.share.nodes,
        price: sold.price,
        from: sold.taken.from,
        until: sold.taken.until,
    });
    Ok(ReplayResult { had: had.collect(), ran: forecast.totals.started })
}

fn beliefs(week: &Week, asked: &[(Time, PoolId, Price)]) -> Beliefs {
    let coming = week.jobs.iter().map(|job| Coming {
        submit: job.submit,
        demand: job.demand.clone(),
        run: job.run,
    });
    let missing = week.missing.iter();
    let missing = missing.map(|it| AnnouncedOutage { announced: it.announced, what: it.what });
    Beliefs {
        coming: coming.collect(),
        missing: missing.collect(),
        asked: asked.to_vec(),
        clash: Clash::Waits,
        ..Beliefs::default()
    }
}

#[cfg(test)]
mod tests;
