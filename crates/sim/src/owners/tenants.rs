//! Preemptible jobs of the market in a site's pools, and owners' jobs that wait for their nodes.
//!
//! The site's scheduler does not count such jobs: for it their nodes are free. If it starts an owner's
//! job that needs some of them, free nodes are taken at once, and as many jobs as are needed for the
//! rest are given notice, those that started last first. The owner's job begins once it has all its
//! nodes: at the end of the notice, or as soon as others give enough back.

use std::collections::BTreeMap;

use tradewind_model::{JobId, Market, Outage, OutageId, PoolId, Share, Span, Time};
use tradewind_sched::policy::availability::Taken;
use tradewind_sched::policy::owners::ExpectedStart;

use super::replayed::local;
use super::site::{OwnersChange, Started};

/// A preemptible job's nodes in a pool.
#[derive(Debug, Clone, Copy)]
struct Tenant {
    nodes: u32,
    start: Time,
    /// When it leaves, if it was told so.
    leaves: Option<Time>,
}

/// An owner's job that its scheduler has started and that has not all its nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gathering {
    pub(super) job: JobId,
    pub(super) pool: PoolId,
    /// All its nodes.
    pub(super) nodes: u32,
    /// Those that it has not got.
    missing: u32,
    pub(super) limit: Span,
    /// When it is expected to begin.
    expected: Time,
}

/// All of a site's pools.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    notice: Span,
    here: BTreeMap<(PoolId, JobId), Tenant>,
    gathering: Vec<Gathering>,
}

/// Nodes that the market has free, while a site takes some of them.
pub(super) struct FreeNodes<'a> {
    market: &'a Market,
    /// By pool: what came back that the market has not been told of, and what was taken.
    changed: BTreeMap<PoolId, (u32, u32)>,
}

impl FreeNodes<'_> {
    pub(super) fn of(market: &Market) -> FreeNodes<'_> {
        FreeNodes { market, changed: BTreeMap::new() }
    }

    /// An outage is over, and the market will be told so first.
    pub(super) fn reopen(&mut self, closure: OutageId) {
        if let Some((what, true)) = self.market.closure_state(closure) {
            self.changed.entry(what.pool).or_default().0 += what.nodes;
        }
    }

    /// Takes up to so many nodes; how many.
    fn take(&mut self, pool: PoolId, wanted: u32) -> u32 {
        let (back, taken) = self.changed.entry(pool).or_default();
        let nodes = wanted.min((self.market.free_in(pool) + *back).saturating_sub(*taken));
        *taken += nodes;
        nodes
    }
}

impl Tenants {
    pub(super) fn new(notice: Span) -> Tenants {
        Tenants { notice, ..Tenants::default() }
    }

    /// A preemptible job of the market has started.
    pub(super) fn come(&mut self, job: JobId, share: Share, now: Time) {
        let tenant = Tenant { nodes: share.nodes, start: now, leaves: None };
        self.here.insert((share.pool, job), tenant);
    }

    /// A job gave back its nodes, or those of one pool; whether any of these were here.
    pub(super) fn go(&mut self, job: JobId, only: Option<PoolId>) -> bool {
        let before = self.here.len();
        self.here.retain(|(pool, it), _| *it != job || only.is_some_and(|only| only != *pool));
        self.here.len() < before
    }

    /// A job was told to leave.
    pub(super) fn told(&mut self, job: JobId, leaves: Time) {
        for (_, tenant) in self.here.iter_mut().filter(|((_, it), _)| *it == job) {
            tenant.leaves = Some(tenant.leaves.map_or(leaves, |before| before.min(leaves)));
        }
    }

    /// Whether owners' jobs wait for nodes.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.gathering.is_empty()
    }

    /// The scheduler starts an owner's job now.
    pub(super) fn gather(&mut self, start: &ExpectedStart) {
        let ExpectedStart { job, pool, nodes, start, end } = *start;
        let (missing, limit, expected) = (nodes, end - start, start);
        self.gathering.push(Gathering { job, pool, nodes, missing, limit, expected });
    }

    /// Owners' jobs take free nodes, in the order of their starts; those that have all begin.
    pub(super) fn collect(
        &mut self,
        free: &mut FreeNodes<'_>,
        now: Time,
        changes: &mut Vec<OwnersChange>,
    ) -> Vec<Gathering> {
        let mut complete = Vec::new();
        for it in &mut self.gathering {
            let nodes = free.take(it.pool, it.missing);
            it.missing -= nodes;
            let from_now = it.missing == 0;
            let until = if from_now { now } else { it.expected.max(now) } + it.limit;
            if nodes > 0 {
                let share = Share { pool: it.pool, nodes };
                let what = local(&Taken { share, from: now, until, memory: 0 });
                changes.push(OwnersChange::Start(Started { job: it.job, what }));
            }
            complete.extend(from_now.then_some(*it));
        }
        self.gathering.retain(|it| it.missing > 0);
        complete
    }

    /// Gives notice to as many jobs as owners' jobs need the nodes of.
    pub(super) fn give_notice(&mut self, now: Time, changes: &mut Vec<OwnersChange>) {
        let mut missing: BTreeMap<PoolId, u32> = BTreeMap::new();
        for it in &self.gathering {
            *missing.entry(it.pool).or_default() += it.missing;
        }
        for (pool, missing) in missing {
            let here = || self.here.range((pool, JobId(0))..=(pool, JobId(u32::MAX)));
            let leaving = here().filter(|(_, it)| it.leaves.is_some());
            let mut coming: u32 = leaving.map(|(_, it)| it.nodes).sum();
            let mut stay: Vec<(Time, JobId, u32)> = here()
                .filter(|(_, it)| it.leaves.is_none())
                .map(|((_, job), it)| (it.start, *job, it.nodes))
                .collect();
            stay.sort_unstable();
            while coming < missing
                && let Some((_, job, nodes)) = stay.pop()
            {
                let leaves = now + self.notice;
                self.told(job, leaves);
                changes.push(OwnersChange::Notice { job, leaves });
                coming += nodes;
            }
        }
        let Tenants { here, gathering, .. } = self;
        for it in gathering {
            let here = here.range((it.pool, JobId(0))..=(it.pool, JobId(u32::MAX)));
            let last = here.filter_map(|(_, tenant)| tenant.leaves).max();
            it.expected = last.unwrap_or(now).max(now);
        }
    }

    /// Nodes that owners' jobs will take from jobs that have to leave.
    pub(super) fn announced(&self, now: Time) -> impl Iterator<Item = Outage> + '_ {
        self.gathering.iter().map(move |it| {
            let share = Share { pool: it.pool, nodes: it.missing };
            let from = it.expected.max(now);
            local(&Taken { share, from, until: from + it.limit, memory: 0 })
        })
    }
}
