//! What queues want in trades, where that is what their owners' lists say.

use std::sync::Arc;

use tradewind_model::{Event, JobId, Market, Span, Trade};
use tradewind_sched::policy::Policy;

use super::steps::by_step;
use super::{Checker, Violation};

/// Works out again what queues wanted: their price, or step by step the mean of one that changes with
/// time, over the job's expected time, rounded up.
#[derive(Debug, Default)]
pub(super) struct AtList {
    /// Since the last pass.
    struck: Vec<(JobId, Arc<Trade>)>,
}

/// What the owner's list says, in micro-credits per node and second.
fn list_price(market: &Market, job: JobId, trade: &Trade) -> Option<i64> {
    let pool = market.pools().pool(trade.pool);
    let Some(rate) = market.pools().rate(trade.pool) else { return Some(pool.price.0) };
    let length = pool.length_of(market.demand(job)?).max(Span(1));
    let cost = |(price, seconds): (i64, i64)| i128::from(price) * i128::from(seconds);
    let sum: i128 = by_step(rate, trade.expected, trade.expected + length).map(cost).sum();
    let (whole, rest) = (sum / i128::from(length.0), sum % i128::from(length.0));
    i64::try_from(whole + i128::from(rest > 0)).ok()
}

impl Checker for AtList {
    fn event(&mut self, _market: &Market, event: &Event) -> Result<(), Violation> {
        if let Event::Traded { job, trade } = event {
            self.struck.push((*job, Arc::clone(trade)));
        }
        Ok(())
    }

    fn pass(&mut self, market: &Market, policy: &dyn Policy) -> Result<(), Violation> {
        let counts = policy.trades_at_list();
        for (job, trade) in self.struck.drain(..).filter(|_| counts) {
            let list = list_price(market, job, &trade);
            if list != Some(trade.reserve.0) || trade.price < trade.reserve {
                let Trade { reserve, price, .. } = *trade;
                let list = list.unwrap_or_default();
                let what = format!(
                    "job {} trades at {}, the queue is said to want {}, and its list says {list}",
                    job.0, price.0, reserve.0
                );
                return Err(Violation { checker: "trades", what });
            }
        }
        Ok(())
    }
}
