//! Nodes are taken from preemptible jobs alone, after the promised notice, and what such a job asks
//! for afterwards is what it has not kept.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Event, JobId, Market, Outage, OutageId, PoolId, Span, Time};

use super::cuts::Cuts;
use super::{Checker, Violation};

/// Follows notices and interruptions.
#[derive(Debug, Default)]
pub(super) struct Notices {
    cuts: Cuts,
    /// Of jobs that wait or run: tasks, and the estimate that they were last known to have.
    asked: BTreeMap<JobId, (u32, Span)>,
    moldable: BTreeSet<JobId>,
    lined: BTreeSet<JobId>,
    /// Where jobs run.
    places: BTreeMap<JobId, Vec<PoolId>>,
    leaves: BTreeMap<JobId, Time>,
}

fn wrong(job: JobId, what: &str) -> Violation {
    Violation { checker: "preemption", what: format!("job {} {what}", job.0) }
}

impl Notices {
    fn noticed(&mut self, market: &Market, job: JobId, leaves: Time) -> Result<(), Violation> {
        let Some(pools) = self.places.get(&job) else {
            return Err(wrong(job, "has notice to leave nodes that it does not have"));
        };
        let promised = |pool: &PoolId| {
            let site = market.pools().pool(*pool).site;
            market.pools().preemption(site).notice
        };
        let promised = pools.iter().map(promised).min().unwrap_or_default();
        if !self.cuts.has(job) && !self.moldable.contains(&job) {
            return Err(wrong(job, "has notice to leave, and is not preemptible"));
        }
        if leaves < market.now() + promised {
            return Err(wrong(job, "gets its notice too late"));
        }
        self.leaves.insert(job, leaves);
        Ok(())
    }

    /// The job loses its nodes: because it was told so, or because nodes of a pool of its break.
    fn interrupted(&mut self, market: &Market, job: JobId) -> Result<(), Violation> {
        let (pools, leaves) = (self.places.remove(&job), self.leaves.remove(&job));
        let Some(pools) = pools else { return Ok(()) };
        let begins = |(id, what): (OutageId, Outage)| {
            let begun = market.closure_state(id).is_some_and(|(_, begun)| begun);
            !begun && what.from <= market.now() && pools.contains(&what.pool)
        };
        match leaves {
            Some(leaves) if leaves == market.now() => Ok(()),
            Some(leaves) if leaves < market.now() => Err(wrong(job, "stays beyond its notice")),
            _ if market.outages().any(begins) => Ok(()),
            _ => Err(wrong(job, "loses its nodes without notice")),
        }
    }

    /// A job that kept some of its work asks for the rest.
    fn asks_for_the_rest(
        &mut self,
        market: &Market,
        job: JobId,
        progress: i64,
    ) -> Result<(), Violation> {
        let (Some(demand), Some((_, asked))) = (market.demand(job), self.asked.get_mut(&job))
        else {
            return Ok(());
        };
        let terms = demand.terms().preemptible.unwrap_or_default();
        let is_first = terms.kept.0 == progress;
        let again = if is_first && progress > 0 { terms.restart.0 } else { 0 };
        let expected = match progress {
            0 => asked.0,
            _ => (asked.0 - progress).max(1) + again,
        };
        let before = std::mem::replace(asked, demand.estimate);
        if demand.estimate.0 == expected {
            return Ok(());
        }
        let estimate = demand.estimate.0;
        let what = format!("asked for {} s, keeps {progress} and asks for {estimate}", before.0);
        Err(wrong(job, &what))
    }
}

impl Checker for Notices {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        let kept = self.cuts.follow(market, event);
        match event {
            Event::Submitted { job, demand } => {
                self.asked.insert(*job, (demand.processors, demand.estimate));
                if demand.is_moldable() && demand.is_preemptible() {
                    self.moldable.insert(*job);
                }
            }
            Event::Lined { job } => _ = self.lined.insert(*job),
            Event::Started { job, place } => {
                self.lined.remove(job);
                let tasks = self.asked.get(job).map_or(0, |(tasks, _)| *tasks);
                let pools = place.shares(tasks).map(|share| share.pool).collect();
                self.places.insert(*job, pools);
            }
            Event::Noticed { job, leaves } => self.noticed(market, *job, *leaves)?,
            Event::Interrupted { job } if !self.lined.remove(job) => {
                self.interrupted(market, *job)?;
                let progress = kept.map(|kept| kept.progress);
                if let Some(progress) = progress {
                    self.asks_for_the_rest(market, *job, progress)?;
                }
            }
            Event::Ended { job } | Event::Refused { job } | Event::Cancelled { job } => {
                self.asked.remove(job);
                self.places.remove(job);
                if self.leaves.remove(job).is_some_and(|leaves| leaves < market.now()) {
                    return Err(wrong(*job, "stays beyond its notice"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
