//! No more nodes of a pool are held than there are.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, Market, Outage, OutageId, PoolId, Share};

use super::{Checker, Violation};

/// Adds up what jobs and outages hold by itself.
#[derive(Debug, Default)]
pub(super) struct Capacity {
    demands: BTreeMap<JobId, u32>,
    holds: BTreeMap<JobId, Vec<Share>>,
    /// Outages that are not over, and whether they have begun.
    closures: BTreeMap<OutageId, (Outage, bool)>,
    held: BTreeMap<PoolId, u64>,
}

impl Capacity {
    fn take(&mut self, share: Share) {
        *self.held.entry(share.pool).or_default() += u64::from(share.nodes);
    }

    fn give(&mut self, share: Share) {
        let held = self.held.entry(share.pool).or_default();
        *held = held.saturating_sub(u64::from(share.nodes));
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Submitted { job, demand } => {
                self.demands.insert(*job, demand.processors);
            }
            Event::Traded { .. } | Event::Lined { .. } | Event::Noticed { .. } => {}
            Event::Started { job, place } => {
                let processors = self.demands.get(job).copied().unwrap_or_default();
                let shares: Vec<Share> = place.shares(processors).collect();
                shares.iter().for_each(|share| self.take(*share));
                self.holds.insert(*job, shares);
            }
            Event::Released { job, pool } => {
                let holds = self.holds.entry(*job).or_default();
                let (gone, rest) = holds.iter().partition(|share| share.pool == *pool);
                *holds = rest;
                let gone: Vec<Share> = gone;
                gone.into_iter().for_each(|share| self.give(share));
            }
            Event::Ended { job } | Event::Interrupted { job } => {
                let holds = self.holds.remove(job).unwrap_or_default();
                holds.into_iter().for_each(|share| self.give(share));
            }
            Event::Announced { closure, what } => {
                self.closures.insert(*closure, (*what, false));
            }
            Event::Closed { closure } => {
                if let Some((Outage { pool, nodes, .. }, begun)) = self.closures.get_mut(closure) {
                    let share = Share { pool: *pool, nodes: *nodes };
                    *begun = true;
                    self.take(share);
                }
            }
            Event::Reopened { closure } => {
                // An outage that never began took nothing.
                if let Some((Outage { pool, nodes, .. }, true)) = self.closures.remove(closure) {
                    self.give(Share { pool, nodes });
                }
            }
            Event::Refused { .. }
            | Event::Cancelled { .. }
            | Event::Priced { .. }
            | Event::Rated { .. } => {}
        }
    }
}

impl Checker for Capacity {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        self.note(event);
        for (&id, &held) in &self.held {
            let pool = market.pools().pool(id);
            let there_are = u64::from(pool.nodes);
            if held > there_are || held + u64::from(market.free_in(id)) != there_are {
                let what = format!("{held} of {there_are} nodes held in `{}`", pool.name);
                return Err(Violation { checker: "capacity", what });
            }
        }
        Ok(())
    }
}
