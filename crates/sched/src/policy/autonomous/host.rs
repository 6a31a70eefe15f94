//! A site as its negotiator sees it.

use tradewind_model::{Demand, JobId, Money, Pool, PoolId, Pools, Span, Time};

use super::Transport;
use super::home::suits;
use super::recent::RecentSlowdowns;
use crate::negotiation::{Host, Parcel, Peer, Pledged, SiteMemory, SiteStatus, StartQuote};
use crate::policy::local::{LocalScheduler, Origin, SiteJob};

/// A site's scheduler and its pool: what it can promise, to any negotiator.
#[derive(Debug)]
pub(super) struct SiteView<'a> {
    pub(super) now: Time,
    pub(super) local: &'a dyn LocalScheduler,
    pub(super) pools: &'a Pools,
    /// Its own.
    pub(super) id: PoolId,
    /// Where sites choose by the status of others.
    pub(super) recent: Option<&'a RecentSlowdowns>,
}

/// Answers from the site and the network.
#[derive(Debug)]
pub(super) struct SiteHost<'a, N> {
    pub(super) me: Peer,
    pub(super) site: SiteView<'a>,
    pub(super) network: &'a N,
}

impl<'a> SiteView<'a> {
    fn pool(&self) -> &'a Pool {
        self.pools.pool(self.id)
    }

    fn wanted(&self, parcel: &Parcel, pledged: Pledged) -> SiteJob {
        let pledged_length = self.pool().longest_in(pledged.longest);
        SiteJob {
            job: parcel.ticket.job,
            processors: parcel.demand.processors.saturating_add(pledged.processors),
            length: self.pool().length_of(&parcel.demand).max(pledged_length),
            submitted: parcel.submitted,
        }
    }

    fn quoted(&self, demand: &Demand, start: Time, pledged: Pledged) -> StartQuote {
        let length = self.pool().length_of(demand);
        let price = self.pools.mean_price(self.id, start, length);
        let cost: Money = price.of(demand.processors, length);
        let load = self.local.load();
        let [first, second] = load.backfill;
        let status = self.recent.map(|recent| SiteStatus {
            free: load.free,
            network_mb: pledged.data_mb,
            slowdown: recent.mean(),
            memory: self.memory(load.free),
        });
        let load = first.saturating_add(second);
        StartQuote { start, price, cost, load, status }
    }

    /// Of nodes that `free` tasks could have now, and of all.
    fn memory(&self, free: u32) -> SiteMemory {
        let pool = self.pool();
        let each = pool.node_memory().unwrap_or(0);
        let of = |nodes: u32| each.saturating_mul(u64::from(nodes));
        SiteMemory { free_kib: of(free), total_kib: of(pool.nodes) }
    }

    /// What it could do for another's job. As if the job and all that is pledged were one job, as
    /// wide as all and as long as the longest of them: if that fits, each of them does.
    pub(super) fn quote(
        &self,
        parcel: &Parcel,
        from: Time,
        pledged: Pledged,
    ) -> Option<StartQuote> {
        let wanted = self.wanted(parcel, pledged);
        let fits = wanted.processors <= self.pool().nodes;
        if !fits || !suits(self.pools, self.id, &parcel.demand) {
            return None;
        }
        let start = self.local.promise(&wanted, Origin::Remote, self.now, from)?;
        Some(self.quoted(&parcel.demand, start, pledged))
    }

    /// What a job that waits here gets: its reservation. One without has nothing to lose.
    pub(super) fn at_home(&self, job: JobId, demand: &Demand) -> Option<StartQuote> {
        let start = self.local.reservation(job)?;
        Some(self.quoted(demand, start, Pledged::default()))
    }
}

impl<N: Transport> Host for SiteHost<'_, N> {
    fn quote(&self, parcel: &Parcel, from: Time, pledged: Pledged) -> Option<StartQuote> {
        self.site.quote(parcel, from, pledged)
    }

    fn at_home(&self, parcel: &Parcel) -> Option<StartQuote> {
        self.site.at_home(parcel.ticket.job, &parcel.demand)
    }

    fn transfer(&self, parcel: &Parcel, to: Peer) -> Span {
        self.network.transfer(parcel, self.me, to)
    }
}
