//! What the job that has waited longest was promised.

use tradewind_model::{Event, JobId, Market, Time};
use tradewind_sched::policy::Policy;

use super::kept::overdue;
use super::{Checker, Violation};

/// FCFS: nobody overtakes.
#[derive(Debug)]
pub(super) struct InOrder;

impl Checker for InOrder {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        match (event, market.head()) {
            (Event::Started { job, .. }, Some(head)) if head < *job => {
                let what = format!("job {} overtakes job {}", job.0, head.0);
                Err(Violation { checker: "order", what })
            }
            _ => Ok(()),
        }
    }
}

/// Backfilling: the head starts no later than at the moment when, as running jobs' estimates
/// say, enough processors of the one pool are free for it. The promise may only move closer; it
/// lapses when a running job outlives its estimate, and while closures are about.
#[derive(Debug, Default)]
pub(super) struct NotDelayed {
    promised: Option<(JobId, Time)>,
}

/// When the head could start if nothing else were started.
fn shadow(market: &Market, head: JobId) -> Option<Time> {
    let wanted = u64::from(market.demand(head)?.processors);
    let mut ends: Vec<(Time, u64)> = market
        .running()
        .map(|job| (job.start + job.demand.estimate, u64::from(job.demand.processors)))
        .collect();
    ends.sort_unstable();
    let mut free = u64::from(market.free());
    let enough = ends.into_iter().find(|(_, processors)| {
        free += processors;
        free >= wanted
    });
    enough.map(|(end, _)| end)
}

impl Checker for NotDelayed {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        // By the time that something starts, everything that ends in this second has ended.
        let started = matches!(event, Event::Started { .. });
        if started && self.promised.is_some() && market.running().any(|job| overdue(market, &job)) {
            self.promised = None;
        }
        Ok(())
    }

    fn pass(&mut self, market: &Market, _policy: &dyn Policy) -> Result<(), Violation> {
        let head = market.head().filter(|_| market.closures().next().is_none());
        let Some(head) = head else {
            self.promised = None;
            return Ok(());
        };
        let Some(now_possible) = shadow(market, head) else { return Ok(()) };
        let before = self.promised.filter(|(job, _)| *job == head).map(|(_, at)| at);
        if let Some(at) = before.filter(|at| now_possible > *at) {
            let what = format!("job {} was promised {at} and can start at {now_possible}", head.0);
            return Err(Violation { checker: "head", what });
        }
        self.promised = Some((head, now_possible));
        Ok(())
    }
}
