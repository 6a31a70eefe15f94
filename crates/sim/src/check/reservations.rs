//! Reservations are kept.

use std::collections::BTreeMap;

use tradewind_model::{Cause, Event, JobId, Market, Outage, OutageId, Time};
use tradewind_sched::policy::Policy;

use super::beliefs::BeliefChecker;
use super::lines::Lines;
use super::{Checker, Violation};

/// No job starts later than its reservation said, or gets a later promise than before. All
/// promises lapse when a running job exceeds what was believed of it, when a job is interrupted
/// (it takes its old place in the queue), when an outage is announced, when a price changes that follows
/// load and when a site's own scheduler starts a job. So do those of all others when a preemptible job starts where owners are expected:
/// reservations are then made again. A job in the queue of a site has no reservation of the policy. Nothing is promised about
/// starts of moldable jobs.
#[derive(Debug, Default)]
pub(super) struct Kept {
    promised: BTreeMap<JobId, Time>,
    beliefs: BeliefChecker,
    lines: Lines,
    /// A preemptible job has started where owners are expected.
    filled: bool,
}

/// Whether the job is expected to have its nodes when announced load of owners begins.
fn fills_gap(market: &Market, job: JobId) -> bool {
    let Some(run) = market.run_of(job).filter(|run| run.demand.is_preemptible()) else {
        return false;
    };
    run.shares().any(|share| {
        let end = market.now() + market.pools().pool(share.pool).length_of(run.demand);
        let expected = |(id, what): (OutageId, Outage)| {
            let begun = market.closure_state(id).is_some_and(|(_, begun)| begun);
            let ahead = what.pool == share.pool && what.from < end;
            what.cause == Cause::Local && !begun && ahead
        };
        market.outages().any(expected)
    })
}

impl Checker for Kept {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        if self.lines.starts(event) {
            self.promised.clear();
        }
        match event {
            Event::Announced { .. } | Event::Interrupted { .. } | Event::Priced { .. } => {
                self.promised.clear();
            }
            Event::Started { job, .. } => {
                if self.beliefs.outlived(market) {
                    self.promised.clear();
                }
                self.filled |= fills_gap(market, *job);
                let promise = self.promised.remove(job);
                if let Some(at) = promise.filter(|at| market.now() > *at) {
                    let what = format!("job {} was promised {at} and starts later", job.0);
                    return Err(Violation { checker: "reservations", what });
                }
            }
            Event::Refused { job } | Event::Lined { job } => {
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
        // The policy makes its reservations again in the next pass.
        if std::mem::take(&mut self.filled) {
            self.promised.clear();
            return Ok(());
        }
        for job in market.queue() {
            // A moldable job may get a later start in a shape that is better for it.
            let is_rigid = market.demand(job).is_some_and(|demand| !demand.is_moldable());
            let Some(now) = policy.reservation(job).filter(|_| is_rigid) else { continue };
            let before = self.promised.insert(job, now);
            if let Some(before) = before.filter(|before| *before < now) {
                let what = format!("job {} was promised {before} and now {now}", job.0);
                return Err(Violation { checker: "reservations", what });
            }
        }
        Ok(())
    }
}
