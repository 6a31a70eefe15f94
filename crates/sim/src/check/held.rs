//! Which nodes are held, by the events alone.

use std::collections::BTreeMap;

use tradewind_model::{Cause, Event, JobId, Outage, OutageId, PoolId, Share};

/// Adds up what jobs and outages hold by itself.
#[derive(Debug)]
pub(super) struct HeldNodes {
    demands: BTreeMap<JobId, u32>,
    holds: BTreeMap<JobId, Vec<Share>>,
    /// Outages that are not over, and whether they have begun.
    closures: BTreeMap<OutageId, (Outage, bool)>,
    held: BTreeMap<PoolId, u64>,
    /// Which outages hold nodes.
    counts: fn(Cause) -> bool,
}

impl HeldNodes {
    /// Nothing is held so far. Of outages only those count of which `counts` says so.
    pub(super) fn new(counts: fn(Cause) -> bool) -> HeldNodes {
        let (demands, holds, closures) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        HeldNodes { demands, holds, closures, held: BTreeMap::new(), counts }
    }

    /// Nodes that are held, by pool.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PoolId, u64)> + '_ {
        self.held.iter().map(|(pool, held)| (*pool, *held))
    }

    /// Nodes of the pool that are held.
    pub(super) fn of(&self, pool: PoolId) -> u64 {
        self.held.get(&pool).copied().unwrap_or_default()
    }

    fn take(&mut self, share: Share) {
        *self.held.entry(share.pool).or_default() += u64::from(share.nodes);
    }

    fn give(&mut self, share: Share) {
        let held = self.held.entry(share.pool).or_default();
        *held = held.saturating_sub(u64::from(share.nodes));
    }

    /// Follows the event.
    pub(super) fn note(&mut self, event: &Event) {
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
            Event::Announced { closure, what } if (self.counts)(what.cause) => {
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
            Event::Announced { .. }
            | Event::Refused { .. }
            | Event::Cancelled { .. }
            | Event::Priced { .. }
            | Event::Rated { .. } => {}
        }
    }
}
