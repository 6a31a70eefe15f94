//! What the job that has waited longest was promised.

use tradewind_model::{Event, JobId, Market, Profile, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::availability::missing_time;

use super::beliefs::{BeliefChecker, expected_end};
use super::lines::Lines;
use super::{Checker, Violation};

/// FCFS: no job overtakes another, but for those that a site's own scheduler starts.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    lines: Lines,
}

impl Checker for InOrder {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        if self.lines.starts(event) {
            return Ok(());
        }
        match (event, market.head()) {
            (Event::Started { job, .. }, Some(head)) if head < *job => {
                let what = format!("job {} overtakes job {}", job.0, head.0);
                Err(Violation { checker: "order", what })
            }
            _ => Ok(()),
        }
    }
}

/// Backfilling: the head starts no later than it could if nothing else were started any more.
/// That moment may only move closer. The promise lapses when a running job exceeds what was
/// believed of it, when a job is interrupted, when an outage is announced and when a site's own
/// scheduler starts a job.
///
/// In one pool the moment is worked out here; where there are several it is the head's
/// reservation, as which nodes it may have is up to the policy.
#[derive(Debug, Default)]
pub(super) struct NotDelayed {
    promised: Option<(JobId, Time)>,
    beliefs: BeliefChecker,
    lines: Lines,
}

/// When the head could start if nothing else were started.
fn possible(market: &Market, policy: &dyn Policy, head: JobId) -> Option<Time> {
    let Some(id) = market.pools().single() else { return policy.reservation(head) };
    let (demand, pool) = (market.demand(head)?, market.pools().pool(id));
    let now = market.now();
    let mut profile = Profile::new(pool.nodes, now);
    for job in market.running() {
        profile.take(job.nodes_in(id), now, expected_end(market, &job, id, now));
    }
    for (outage, closure) in market.outages() {
        let begun = market.closure_state(outage).is_some_and(|(_, begun)| begun);
        let (from, until) = missing_time(&closure, begun, now);
        profile.take(closure.nodes, from, until);
    }
    profile.earliest(demand.processors, pool.length_of(demand), now)
}

impl Checker for NotDelayed {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        let by_site = self.lines.starts(event);
        let lapses = match event {
            Event::Announced { .. } | Event::Interrupted { .. } => true,
            Event::Started { .. } => self.beliefs.outlived(market),
            _ => false,
        };
        if lapses || by_site {
            self.promised = None;
        }
        Ok(())
    }

    fn pass(&mut self, market: &Market, policy: &dyn Policy) -> Result<(), Violation> {
        if self.beliefs.outlived(market) {
            self.promised = None;
        }
        let Some(head) = market.head() else { return Ok(()) };
        let Some(at) = possible(market, policy, head) else { return Ok(()) };
        let before = self.promised.replace((head, at)).filter(|(job, _)| *job == head);
        match before {
            Some((_, before)) if at > before => {
                let what = format!("job {} was promised {before} and can start at {at}", head.0);
                Err(Violation { checker: "head", what })
            }
            _ => Ok(()),
        }
    }
}
