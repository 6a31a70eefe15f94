//! Reservations are kept.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, Market, Running, Time};
use tradewind_sched::policy::Policy;

use super::{Checker, Violation};

/// No job starts later than its reservation said, or is told a later moment than before. All
/// promises lapse when a running job outlives its estimate, when a job is interrupted and when a
/// closure is announced.
#[derive(Debug, Default)]
pub(super) struct Kept {
    promised: BTreeMap<JobId, Time>,
}

/// Whether the job should have ended before now.
pub(super) fn overdue(market: &Market, job: &Running<'_>) -> bool {
    let expected = |pool| market.pools().pool(pool).length_of(job.demand.estimate);
    job.shares().any(|share| job.start + expected(share.pool) <= market.now())
}

impl Checker for Kept {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Announced { .. } | Event::Interrupted { .. } => self.promised.clear(),
            Event::Started { job, .. } => {
                // By the time that something starts, everything that ends in this second has.
                if market.running().any(|job| overdue(market, &job)) {
                    self.promised.clear();
                }
                let promise = self.promised.remove(job);
                if let Some(at) = promise.filter(|at| market.now() > *at) {
                    let what = format!("job {} was promised {at} and starts later", job.0);
                    return Err(Violation { checker: "reservations", what });
                }
            }
            Event::Refused { job } => {
                self.promised.remove(job);
            }
            _ => {}
        }
        Ok(())
    }

    fn pass(&mut self, market: &Market, policy: &dyn Policy) -> Result<(), Violation> {
        if market.running().any(|job| overdue(market, &job)) {
            self.promised.clear();
        }
        for job in market.queue() {
            let Some(now) = policy.reservation(job) else { continue };
            let before = self.promised.insert(job, now);
            if let Some(before) = before.filter(|before| *before < now) {
                let what = format!("job {} was promised {before} and is told {now}", job.0);
                return Err(Violation { checker: "reservations", what });
            }
        }
        Ok(())
    }
}
