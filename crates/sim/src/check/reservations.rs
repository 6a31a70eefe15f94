//! Reservations are kept.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, Market, Time};
use tradewind_sched::policy::Policy;

use super::beliefs::BeliefChecker;
use super::{Checker, Violation};

/// No job starts later than its reservation said, or gets a later promise than before. All
/// promises lapse when a running job exceeds what was believed of it, when a job is interrupted
/// (it takes its old place in the queue) and when an outage is announced.
#[derive(Debug, Default)]
pub(super) struct Kept {
    promised: BTreeMap<JobId, Time>,
    beliefs: BeliefChecker,
}

impl Checker for Kept {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Announced { .. } | Event::Interrupted { .. } => self.promised.clear(),
            Event::Started { job, .. } => {
                if self.beliefs.outlived(market) {
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
        if self.beliefs.outlived(market) {
            self.promised.clear();
        }
        for job in market.queue() {
            let Some(now) = policy.reservation(job) else { continue };
            let before = self.promised.insert(job, now);
            if let Some(before) = before.filter(|before| *before < now) {
                let what = format!("job {} was promised {before} and now {now}", job.0);
                return Err(Violation { checker: "reservations", what });
            }
        }
        Ok(())
    }
}
