//! Where prices change with time or load, no job is started that costs more than it may.

use tradewind_model::{Demand, Event, Market, Money, Price, Share, Span};

use super::lines::Lines;
use super::steps::by_step;
use super::{Checker, Violation};

/// Adds up, step by step, what each start costs over the job's expected time, and looks for its
/// highest price. Starts by a site's own scheduler are not the policy's.
#[derive(Debug, Default)]
pub(super) struct WithinLimits {
    lines: Lines,
}

/// What a share costs for a job that starts now, in micro-credits, and its highest price per node and
/// second.
fn cost(market: &Market, share: Share, demand: &Demand) -> (i128, i64) {
    let (now, pool) = (market.now(), market.pools().pool(share.pool));
    let length = pool.length_of(demand).max(Span(1));
    let Some(rate) = market.pools().rate(share.pool) else {
        let price = pool.price.0;
        return (i128::from(price) * i128::from(length.0) * i128::from(share.nodes), price);
    };
    by_step(rate, now, now + length).fold((0, 0), |(sum, most), (price, seconds)| {
        let part = i128::from(price) * i128::from(seconds) * i128::from(share.nodes);
        (sum + part, most.max(price))
    })
}

impl Checker for WithinLimits {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        let by_site = self.lines.starts(event);
        let Event::Started { job, place } = event else { return Ok(()) };
        let Some(demand) = market.demand(*job).filter(|_| !by_site) else { return Ok(()) };
        let pools = market.pools();
        if pools.rates().is_none() && !pools.follow_load() {
            return Ok(());
        }
        let costs: Vec<_> =
            place.shares(demand.processors).map(|share| cost(market, share, demand)).collect();
        let sum: i128 = costs.iter().map(|(cost, _)| cost).sum();
        let most = Price(costs.iter().map(|(_, most)| *most).max().unwrap_or(0));
        let (job, terms) = (job.0, demand.terms());
        let what = match (terms.max_price, terms.budget) {
            (Some(cap), _) if most > cap => {
                format!("job {job} pays up to {most} per node and second, and its cap is {cap}")
            }
            (_, Some(budget)) if sum > i128::from(budget.0) => {
                let cost = Money(i64::try_from(sum).unwrap_or(i64::MAX));
                format!("job {job} costs {cost} if it starts now, and its budget is {budget}")
            }
            _ => return Ok(()),
        };
        Err(Violation { checker: "limits", what })
    }
}
