//! The memory of pools, which the tasks in them share. Outages take nodes and no memory: of a pool
//! whose nodes are all missing nothing can be used anyway.

use super::{JobId, Market, MarketError};
use crate::{PoolId, Pools, Share};

/// All of it, by pool; nothing where it is not counted.
pub(super) fn of(pools: &Pools) -> Vec<u32> {
    pools.iter().filter_map(|(id, _)| pools.memory(id)).collect()
}

impl Market {
    /// Free memory of a pool in KiB; `None` if it is not counted.
    pub fn free_memory_in(&self, pool: PoolId) -> Option<u32> {
        self.memory.get(pool.index()).copied()
    }

    /// What the job takes in so many nodes. More than any pool has counts as that.
    fn memory_of(&self, job: JobId, share: Share) -> u32 {
        let each = self.demand(job).and_then(|demand| demand.terms().memory).unwrap_or(0);
        each.saturating_mul(share.nodes)
    }

    pub(super) fn check_memory(&self, job: JobId, share: Share) -> Result<(), MarketError> {
        let Some(free) = self.free_memory_in(share.pool) else { return Ok(()) };
        let wanted = self.memory_of(job, share);
        match wanted <= free {
            true => Ok(()),
            false => Err(MarketError::Memory { job, pool: share.pool, wanted, free }),
        }
    }

    pub(super) fn take_memory(&mut self, job: JobId, share: Share) {
        let wanted = self.memory_of(job, share);
        if let Some(free) = self.memory.get_mut(share.pool.index()) {
            *free = free.saturating_sub(wanted);
        }
    }

    pub(super) fn give_memory(&mut self, job: JobId, share: Share) {
        let held = self.memory_of(job, share);
        if let Some(free) = self.memory.get_mut(share.pool.index()) {
            *free = free.saturating_add(held);
        }
    }

    /// What running jobs leave, added up again; `None` if they hold more than there is.
    pub(super) fn memory_left(&self) -> Option<Vec<u32>> {
        let mut left = of(&self.pools);
        if left.is_empty() {
            return Some(left);
        }
        for job in self.running() {
            for share in job.shares() {
                let free = left.get_mut(share.pool.index())?;
                *free = free.checked_sub(self.memory_of(job.job, share))?;
            }
        }
        Some(left)
    }
}
