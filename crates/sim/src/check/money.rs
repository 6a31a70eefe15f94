//! Money is neither made nor lost: users pay what owners earn, for the time that nodes were held.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, Market, Share, Time};

use super::{Checker, Violation};

/// Works out every payment anew.
#[derive(Debug, Default)]
pub(super) struct Conserved {
    running: BTreeMap<JobId, (Time, Vec<Share>)>,
    paid: i128,
}

impl Conserved {
    fn settle(&mut self, market: &Market, share: Share, since: Time) {
        let price = market.pools().pool(share.pool).price.0;
        let seconds = (market.now() - since).0;
        self.paid += i128::from(price) * i128::from(share.nodes) * i128::from(seconds);
    }
}

impl Checker for Conserved {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Started { job, place } => {
                let processors = market.demand(*job).map_or(0, |demand| demand.processors);
                let shares = place.shares(processors).collect();
                self.running.insert(*job, (market.now(), shares));
            }
            Event::Released { job, pool } => {
                if let Some((since, shares)) = self.running.get_mut(job)
                    && let Some(at) = shares.iter().position(|share| share.pool == *pool)
                {
                    let (since, share) = (*since, shares.remove(at));
                    self.settle(market, share, since);
                }
            }
            Event::Ended { job } => {
                let (since, shares) = self.running.remove(job).unwrap_or_default();
                shares.into_iter().for_each(|share| self.settle(market, share, since));
            }
            Event::Interrupted { job } => {
                let (since, _) = self.running.remove(job).unwrap_or_default();
                // What was given back before the interruption stays paid.
                debug_assert!(since <= market.now());
            }
            _ => return Ok(()),
        }
        let ledger = market.ledger();
        let earned: i128 = ledger.income().iter().sum();
        if ledger.paid() == self.paid && earned == self.paid && ledger.held() >= 0 {
            return Ok(());
        }
        let what =
            format!("users paid {}, owners earned {earned}, due {}", ledger.paid(), self.paid);
        Err(Violation { checker: "money", what })
    }
}
