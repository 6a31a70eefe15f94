//! The queue of a site's own scheduler: what waits, what runs, and what starts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{Guard, JobId, Outage, OutageId, PoolId, Span, Time};

use super::guard::{Guarded, Spare};
use super::{ExpectedStart, MAX_LIMIT, SiteRule, Usual, ahead, delays, future_load};
use crate::policy::availability::{Taken, expected_end, missing_time};
use crate::policy::local::{LocalScheduler, Origin, Plain, PlainSettings, QueueOrder, SiteJob};

/// A job for the queue, or a running one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteQueueEntry {
    /// Its number: in the order of the queue, and different from that of every other job, also of
    /// running ones.
    pub job: JobId,
    /// Nodes, at least 1.
    pub nodes: u32,
    /// Its time limit, which it is expected to need.
    pub limit: Span,
    /// The pools that it may use. Where it fits in several at once, the first pool of the site gets
    /// it.
    pub pools: Arc<[PoolId]>,
    /// Whether nodes are kept free for it when its turn comes; see [`OwnersJob::reserves`].
    ///
    /// [`OwnersJob::reserves`]: super::OwnersJob::reserves
    pub reserves: bool,
}

/// One pool of the site.
#[derive(Debug, Clone)]
struct PoolQueue {
    pool: PoolId,
    nodes: u32,
    plain: Plain,
    /// Whether something happened since the last pass.
    touched: bool,
}

/// Passes of one moment that are made only because others have moved jobs, at most; each moves some
/// job to an earlier place.
const MAX_REPEATED: u32 = 100;

/// A place in the order of the queue.
type SiteRank = (i64, JobId);

#[derive(Debug, Clone)]
struct Waits {
    entry: SiteQueueEntry,
    rank: SiteRank,
}

/// Nodes of one pool that a job has.
#[derive(Debug, Clone, Copy)]
struct RunningNodes {
    pool: usize,
    nodes: u32,
    start: Time,
    limit: Span,
}

#[derive(Debug, Clone, Copy)]
struct Missing {
    pool: usize,
    what: Outage,
    begun: bool,
}

/// A site's own scheduler with its queue; see the text of the module above. Owners' jobs join and
/// start; jobs of others that run in its pools are adopted.
///
/// Calls are in the order of time. At every moment at which something happened: first all that
/// happened, ends before joins; then one [`SiteQueue::decide`].
#[derive(Debug, Clone)]
pub struct SiteQueue {
    rule: SiteRule,
    pools: Vec<PoolQueue>,
    waiting: BTreeMap<JobId, Waits>,
    /// Those that are examined: they wait in the queues of their pools.
    tested: BTreeSet<SiteRank>,
    /// The others.
    untested: BTreeSet<SiteRank>,
    running: BTreeMap<JobId, RunningNodes>,
    missing: BTreeMap<OutageId, Missing>,
}

impl SiteQueue {
    /// A site with these pools and their nodes, and nothing to do. A pool that is named twice
    /// counts once.
    pub fn new(pools: &[(PoolId, u32)], rule: SiteRule) -> SiteQueue {
        let rule = rule.bounded();
        let mut site = SiteQueue {
            rule,
            pools: Vec::with_capacity(pools.len()),
            waiting: BTreeMap::new(),
            tested: BTreeSet::new(),
            untested: BTreeSet::new(),
            running: BTreeMap::new(),
            missing: BTreeMap::new(),
        };
        let settings = PlainSettings { depth: rule.depth, turn: rule.turn };
        for &(pool, nodes) in pools {
            if site.index(pool).is_none() {
                let plain = Plain::new(nodes, settings);
                site.pools.push(PoolQueue { pool, nodes, plain, touched: true });
            }
        }
        site
    }

    /// The rule, within its bounds.
    pub fn rule(&self) -> SiteRule {
        self.rule
    }

    /// Whether the job waits here.
    pub fn waits(&self, job: JobId) -> bool {
        self.waiting.contains_key(&job)
    }

    /// Entries that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the pool is one of this site's.
    pub fn has(&self, pool: PoolId) -> bool {
        self.index(pool).is_some()
    }

    /// Whether a job of so many nodes fits into a pool of these, with nothing else there.
    pub fn is_wide_enough(&self, pools: &[PoolId], nodes: u32) -> bool {
        self.pools.iter().any(|it| pools.contains(&it.pool) && nodes <= it.nodes)
    }

    fn index(&self, pool: PoolId) -> Option<usize> {
        self.pools.iter().position(|it| it.pool == pool)
    }

    /// Pools that are wide enough for the entry.
    fn pools_of(&self, entry: &SiteQueueEntry) -> impl Iterator<Item = usize> + use<> {
        let suits = |it: &PoolQueue| entry.nodes <= it.nodes && entry.pools.contains(&it.pool);
        let suiting: Vec<usize> =
            (0..self.pools.len()).filter(|at| suits(&self.pools[*at])).collect();
        suiting.into_iter()
    }

    /// A job waits from now on. Whether it does: a job that is too wide for its pools is not taken.
    pub fn join(&mut self, entry: SiteQueueEntry) -> bool {
        if self.pools_of(&entry).next().is_none() {
            return false;
        }
        let entry = SiteQueueEntry { limit: entry.limit.clamp(Span(1), MAX_LIMIT), ..entry };
        let key = match self.rule.turn {
            QueueOrder::Arrival => 0,
            QueueOrder::Shortest => entry.limit.0,
        };
        let rank = (key, entry.job);
        self.waiting.insert(entry.job, Waits { entry, rank });
        self.untested.insert(rank);
        true
    }

    /// A waiting job was withdrawn.
    pub fn leave(&mut self, job: JobId, now: Time) {
        let Some(waits) = self.waiting.get(&job).cloned() else { return };
        if self.tested.remove(&waits.rank) {
            self.leave_pools(&waits.entry, None, now);
        }
        self.untested.remove(&waits.rank);
        self.waiting.remove(&job);
    }

    fn leave_pools(&mut self, entry: &SiteQueueEntry, but: Option<usize>, now: Time) {
        for at in self.pools_of(entry).filter(|at| but != Some(*at)) {
            let pool = &mut self.pools[at];
            pool.plain.leave(entry.job, now);
            pool.touched = true;
        }
    }

    /// The first jobs of the queue are examined, no more than the rule allows.
    fn choose_tested(&mut self, now: Time) {
        let max = self.rule.tested as usize;
        while let Some(&next) = self.untested.first() {
            let last = self.tested.last().copied().filter(|_| self.tested.len() >= max);
            match last {
                Some(last) if last < next => return,
                Some(last) => {
                    self.tested.remove(&last);
                    self.untested.insert(last);
                    if let Some(waits) = self.waiting.get(&last.1).cloned() {
                        self.leave_pools(&waits.entry, None, now);
                    }
                }
                None => {}
            }
            self.untested.remove(&next);
            self.tested.insert(next);
            self.enter(next.1, now);
        }
    }

    /// A job that is examined waits in the queues of its pools.
    fn enter(&mut self, job: JobId, now: Time) {
        let Some(Waits { entry, .. }) = self.waiting.get(&job) else { return };
        let (nodes, limit, reserves) = (entry.nodes, entry.limit, entry.reserves);
        for at in self.pools_of(entry) {
            let pool = &mut self.pools[at];
            let wanted = SiteJob { job, processors: nodes, length: limit, submitted: now };
            match reserves {
                true => pool.plain.join(wanted, Origin::Local, now),
                false => pool.plain.join_without_reservation(wanted, now),
            }
            pool.touched = true;
        }
    }

    /// A job that does not wait here runs in one of the pools since `start`. Nothing happens if
    /// the pool is none of the site's.
    pub fn adopt(&mut self, entry: &SiteQueueEntry, pool: PoolId, start: Time, now: Time) {
        let Some(at) = self.index(pool) else { return };
        let SiteQueueEntry { job, nodes, .. } = *entry;
        let limit = entry.limit.clamp(Span(1), MAX_LIMIT);
        let wanted = SiteJob { job, processors: nodes, length: limit, submitted: start };
        self.pools[at].plain.adopt(wanted, start, now);
        self.pools[at].touched = true;
        self.running.insert(job, RunningNodes { pool: at, nodes, start, limit });
    }

    /// A running job has ended, perhaps before its expected end.
    pub fn ended(&mut self, job: JobId, now: Time) {
        let Some(runs) = self.running.remove(&job) else { return };
        let pool = &mut self.pools[runs.pool];
        pool.plain.ended(job, now - runs.start, now);
        pool.touched = true;
    }

    /// Nodes of a pool will be missing. Nothing happens if the pool is none of the site's.
    pub fn announced(&mut self, id: OutageId, what: Outage, now: Time) {
        let Some(at) = self.index(what.pool) else { return };
        self.missing.insert(id, Missing { pool: at, what, begun: false });
        self.pools[at].plain.announced(id, what, now);
        self.pools[at].touched = true;
    }

    /// The announced nodes are gone.
    pub fn closed(&mut self, id: OutageId, now: Time) {
        let Some(missing) = self.missing.get_mut(&id) else { return };
        missing.begun = true;
        let pool = &mut self.pools[missing.pool];
        pool.plain.closed(id, now);
        pool.touched = true;
    }

    /// The nodes are back, or will not be missing after all.
    pub fn reopened(&mut self, id: OutageId, now: Time) {
        let Some(missing) = self.missing.remove(&id) else { return };
        let pool = &mut self.pools[missing.pool];
        pool.plain.reopened(id, now);
        pool.touched = true;
    }

    /// Adds the jobs that start now to `starts`, in order; they count as running from now on.
    pub fn decide(&mut self, now: Time, starts: &mut Vec<ExpectedStart>) {
        self.choose_tested(now);
        for pool in &mut self.pools {
            let expected = pool.plain.next_end().into_iter().chain(pool.plain.wake());
            pool.touched |= expected.min().is_some_and(|at| at <= now);
        }
        let (mut begun, mut surplus) = (Vec::new(), Vec::new());
        let mut repeated = 0;
        while let Some(at) = self.pools.iter().position(|pool| pool.touched) {
            let pool = &mut self.pools[at];
            pool.plain.decide(now, &mut begun, &mut surplus);
            // Places in front go to jobs that wait, before any that join later: what a look-ahead
            // gives them stays theirs.
            pool.touched = repeated < MAX_REPEATED && pool.plain.is_unfinished();
            repeated += u32::from(pool.touched);
            for job in begun.drain(..) {
                starts.extend(self.start(job, at, now));
            }
            self.choose_tested(now);
        }
    }

    /// A job starts in a pool, and waits nowhere any more.
    fn start(&mut self, job: JobId, at: usize, now: Time) -> Option<ExpectedStart> {
        let Waits { entry, rank } = self.waiting.remove(&job)?;
        self.tested.remove(&rank);
        self.leave_pools(&entry, Some(at), now);
        let SiteQueueEntry { nodes, limit, .. } = entry;
        self.running.insert(job, RunningNodes { pool: at, nodes, start: now, limit });
        let pool = self.pools[at].pool;
        Some(ExpectedStart { job, pool, nodes, start: now, end: now + limit })
    }

    /// When to ask again, even if nothing happens.
    pub fn wake(&self) -> Option<Time> {
        self.pools.iter().filter_map(|pool| pool.plain.wake()).min()
    }

    /// When starts may come to be expected otherwise, even if nothing happens: at the latest when a
    /// running job exceeds its expected end. `None` if no job waits.
    pub fn next_expected(&self) -> Option<Time> {
        let ends = self.pools.iter().filter_map(|pool| pool.plain.next_end());
        let next = ends.chain(self.wake()).min();
        next.filter(|_| !self.waiting.is_empty())
    }

    /// When what is left to the owners changes, even if nothing happens; `is_owners` says which jobs
    /// are theirs. `None` if it does not.
    pub fn next_renewal(&self, now: Time, is_owners: impl Fn(JobId) -> bool) -> Option<Time> {
        let is_used = !self.running.is_empty() || !self.waiting.is_empty();
        let spare =
            (self.rule.guard == Guard::Spare && is_used).then(|| self.spare(now, &[], is_owners));
        spare?.values().filter_map(|spare| spare.renewal(now)).min()
    }

    /// What is spared for one more job like those of the owners that wait or run.
    fn spare(
        &self,
        now: Time,
        expected: &[ExpectedStart],
        is_owners: impl Fn(JobId) -> bool,
    ) -> BTreeMap<PoolId, Spare> {
        let ends: BTreeMap<JobId, Time> = expected.iter().map(|it| (it.job, it.end)).collect();
        let end = |job: JobId| ends.get(&job).copied().unwrap_or(Time::MAX);
        let of = |(at, it): (usize, &PoolQueue)| {
            let runs = self.running.iter();
            let runs = runs.filter(|(job, runs)| runs.pool == at && is_owners(**job));
            let waits = self.waiting.values().map(|it| &it.entry);
            let waits =
                waits.filter(|entry| is_owners(entry.job) && entry.pools.contains(&it.pool));
            let runs =
                runs.map(|(_, it)| (it.nodes, it.limit, expected_end(it.start, it.limit, now)));
            let waits = waits.map(|entry| (entry.nodes, entry.limit, end(entry.job)));
            (it.pool, Spare::of(runs.chain(waits)))
        };
        self.pools.iter().enumerate().map(of).collect()
    }

    /// Starts of the jobs that wait, in the order of time, as far as the rule looks ahead. To be
    /// called after [`SiteQueue::decide`] at the same moment.
    pub fn look_ahead(&self, now: Time) -> Vec<ExpectedStart> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        ahead::run(self.clone(), Vec::new(), now, &ahead::Ends::default()).starts
    }

    /// Waiting jobs that would start now if no job of the market ran here: those that the market
    /// [puts off](super::Delays). To be called after [`SiteQueue::decide`] at the same moment.
    pub fn put_off(&self, now: Time, is_market: impl Fn(JobId) -> bool) -> Vec<JobId> {
        let market: Vec<JobId> =
            self.running.keys().copied().filter(|job| is_market(*job)).collect();
        if market.is_empty() || self.waiting.is_empty() {
            return Vec::new();
        }
        let mut without = self.clone();
        market.into_iter().for_each(|job| without.ended(job, now));
        let mut starts = Vec::new();
        without.decide(now, &mut starts);
        starts.into_iter().map(|start| start.job).collect()
    }

    /// The load to come of which no node of these pools is left to others before the given times.
    pub fn close(
        &self,
        now: Time,
        load: Vec<Taken>,
        closed: &BTreeMap<PoolId, Time>,
    ) -> Vec<Taken> {
        let runs =
            || self.runs(now).map(|(_, pool, nodes, _, until)| Taken::new(pool, nodes, now, until));
        let pools = self.widths().into_iter().filter_map(|it| Some((it, *closed.get(&it.0)?)));
        pools.fold(load, |load, (pool, until)| delays::close(load, pool, runs(), (now, until)))
    }

    /// When running jobs are expected to end.
    pub(super) fn expected_ends(&self, now: Time) -> impl Iterator<Item = (Time, JobId)> + '_ {
        let end = move |runs: &RunningNodes| expected_end(runs.start, runs.limit, now);
        self.running.iter().map(move |(job, runs)| (end(runs), *job))
    }

    /// The future load by jobs that wait, as the rule's guard has it; `is_owners` says which jobs are
    /// the owners', of which `usual` holds. To be called after [`SiteQueue::decide`] at the same moment.
    pub fn load_ahead(
        &self,
        now: Time,
        expected: &[ExpectedStart],
        usual: &Usual,
        is_owners: impl Fn(JobId) -> bool,
    ) -> Vec<Taken> {
        let by_limits = future_load(expected);
        let guarded = Guarded {
            guard: self.rule.guard,
            now,
            site: self,
            groups: &[],
            usual: &|_| Some(usual),
            counts: &|_| true,
            spare: &self.spare(now, expected, is_owners),
        };
        guarded.load(by_limits)
    }

    /// What runs: the job, where, on how many nodes, since when, and its expected end.
    pub(super) fn runs(
        &self,
        now: Time,
    ) -> impl Iterator<Item = (JobId, PoolId, u32, Time, Time)> + '_ {
        self.running.iter().map(move |(job, runs)| {
            let end = expected_end(runs.start, runs.limit, now);
            (*job, self.pools[runs.pool].pool, runs.nodes, runs.start, end)
        })
    }

    /// The pools, with their nodes.
    pub(super) fn widths(&self) -> Vec<(PoolId, u32)> {
        self.pools.iter().map(|it| (it.pool, it.nodes)).collect()
    }

    /// When missing nodes are expected back.
    pub(super) fn expected_back(&self, now: Time) -> impl Iterator<Item = (Time, OutageId)> + '_ {
        let begun = self.missing.iter().filter(|(_, missing)| missing.begun);
        begun.map(move |(id, missing)| (missing_time(&missing.what, true, now).1, *id))
    }
}
