//! No more memory of a pool is held than there is, where it is counted.

use std::collections::BTreeMap;

use tradewind_model::{Event, JobId, Market, PoolId, Share};

use super::{Checker, Violation};

/// Adds up what jobs hold by itself.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Tasks, and what each takes.
    demands: BTreeMap<JobId, (u32, u64)>,
    holds: BTreeMap<JobId, Vec<(PoolId, u64)>>,
    held: BTreeMap<PoolId, u64>,
}

impl Memory {
    fn take(&mut self, job: JobId, shares: impl Iterator<Item = Share>, each: u64) {
        let holds: Vec<(PoolId, u64)> =
            shares.map(|share| (share.pool, each * u64::from(share.nodes))).collect();
        for (pool, memory) in &holds {
            *self.held.entry(*pool).or_default() += memory;
        }
        self.holds.insert(job, holds);
    }

    fn give(&mut self, job: JobId, only: Option<PoolId>) {
        let holds = self.holds.entry(job).or_default();
        let held = &mut self.held;
        holds.retain(|(pool, memory)| {
            let stays = only.is_some_and(|only| only != *pool);
            if !stays && let Some(held) = held.get_mut(pool) {
                *held = held.saturating_sub(*memory);
            }
            stays
        });
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Submitted { job, demand } => {
                let each = demand.terms().memory.unwrap_or(0);
                self.demands.insert(*job, (demand.processors, u64::from(each)));
            }
            Event::Started { job, place } => {
                let (tasks, each) = self.demands.get(job).copied().unwrap_or_default();
                self.take(*job, place.shares(tasks), each);
            }
            Event::Released { job, pool } => self.give(*job, Some(*pool)),
            Event::Ended { job } | Event::Interrupted { job } => self.give(*job, None),
            _ => {}
        }
    }
}

impl Checker for Memory {
    fn event(&mut self, market: &Market, event: &Event) -> Result<(), Violation> {
        if !market.pools().counts_memory() {
            return Ok(());
        }
        self.note(event);
        for (&id, &held) in &self.held {
            let there_is = u64::from(market.pools().memory(id).unwrap_or(0));
            let free = u64::from(market.free_memory_in(id).unwrap_or(0));
            if held > there_is || held + free != there_is {
                let name = &market.pools().pool(id).name;
                let what = format!("{held} of {there_is} KiB of memory held in `{name}`");
                return Err(Violation { checker: "memory", what });
            }
        }
        Ok(())
    }
}
