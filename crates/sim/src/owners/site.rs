//! One site with jobs of its owners.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tradewind_model::{
    Guard, JobId, Market, Outage, OutageId, PoolId, Pools, Share, Span, Standing, Time,
};
use tradewind_sched::policy::availability::Taken;
use tradewind_sched::policy::owners::{
    Delays, ExpectedStart, SiteQueue, SiteQueueEntry, Usual, WHOLE,
};

use super::replayed::local;
use super::tenants::{FreeNodes, Gathering, Tenants};
use super::{OwnerRan, OwnersRun};
use crate::workload::OwnersLoad;

/// So many ends are remembered.
const REMEMBERED: usize = 500;
/// A pool is closed for so long if it is not known when the owner's job will start.
const CLOSED: Span = Span(3_600);

/// What the market has to be told.
#[derive(Debug, Clone, Copy)]
pub(super) enum OwnersChange {
    /// Nodes are back, or will not be missing after all.
    Reopen(OutageId),
    /// Announced nodes are gone.
    Close(OutageId),
    /// Nodes will be missing: waiting jobs are expected to need them.
    Announce(Outage),
    /// Nodes are gone: a job starts.
    Start(Started),
    /// A preemptible job of the market has to leave its nodes at that moment.
    Notice { job: JobId, leaves: Time },
    /// A job of the market that waited in the queue starts.
    Turn { job: JobId, pool: PoolId },
}

/// An owner's job that starts, by its number in the site's queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Started {
    pub(super) job: JobId,
    pub(super) what: Outage,
}

/// The site's queue, and what the market knows of it.
#[derive(Debug)]
pub(super) struct OwnersSite<'a> {
    pub(super) load: &'a OwnersLoad,
    pools: Arc<[PoolId]>,
    queue: SiteQueue,
    /// Jobs submitted so far.
    submitted: usize,
    /// The next number in the site's queue, in the order of submission; jobs of the market that run
    /// here get numbers, too.
    next: u32,
    /// Of owners' jobs that wait or run: the index in the load.
    index: BTreeMap<JobId, usize>,
    /// When owners' jobs really end.
    ends: BTreeSet<(Time, JobId)>,
    /// Of owners' jobs that run, or have some of their nodes: their outages.
    taken: BTreeMap<JobId, Vec<OutageId>>,
    /// Preemptible jobs of the market, which the queue does not count.
    pub(super) tenants: Tenants,
    /// Outages of owners' jobs that have ended, of which the market has to be told.
    over: Vec<OutageId>,
    /// Jobs of the market, by pool.
    market: BTreeMap<(JobId, PoolId), JobId>,
    /// Jobs of the market that wait in the queue, by their numbers there, and the pool they wait for.
    lined: BTreeMap<JobId, (JobId, PoolId)>,
    /// Future load that was announced.
    ahead: Vec<(OutageId, Outage)>,
    /// Whether the queue has to be looked at, whatever the time.
    touched: bool,
    /// Whether jobs of the market have joined or left the queue since then.
    has_news: bool,
    /// When it was last looked at.
    seen: Option<Time>,
    /// How long jobs of the market have put off owners' jobs.
    delays: Delays<JobId>,
    /// When pools that are closed for further jobs of the market have to be looked at again.
    closed_until: Option<Time>,
    /// Which part of their limits the last jobs used, in thousandths.
    used: VecDeque<u32>,
    /// By index in the load: when a job was expected to start when it was submitted.
    foreseen: Vec<Option<Time>>,
    ran: OwnersRun,
}

impl<'a> OwnersSite<'a> {
    pub(super) fn new(load: &'a OwnersLoad, pools: &Pools) -> OwnersSite<'a> {
        let nodes = load.pools.iter().map(|pool| (*pool, pools.pool(*pool).nodes));
        let notices = load.pools.iter().map(|pool| pools.preemption(pools.pool(*pool).site).notice);
        OwnersSite {
            tenants: Tenants::new(notices.max().unwrap_or_default()),
            over: Vec::new(),
            load,
            pools: load.pools.clone().into(),
            queue: SiteQueue::new(&nodes.collect::<Vec<_>>(), load.rule),
            submitted: 0,
            next: 0,
            index: BTreeMap::new(),
            ends: BTreeSet::new(),
            taken: BTreeMap::new(),
            market: BTreeMap::new(),
            lined: BTreeMap::new(),
            ahead: Vec::new(),
            touched: false,
            has_news: false,
            seen: None,
            delays: Delays::default(),
            closed_until: None,
            used: VecDeque::new(),
            foreseen: vec![None; load.jobs.len()],
            ran: vec![None; load.jobs.len()],
        }
    }

    fn next_submission(&self) -> Option<Time> {
        self.load.jobs.get(self.submitted).map(|job| job.submit)
    }

    /// When something happens that does not depend on others.
    fn next_own(&self) -> Option<Time> {
        let end = self.ends.first().map(|(at, _)| *at);
        end.into_iter().chain(self.next_submission()).min()
    }

    /// When the queue has to be looked at next.
    pub(super) fn next(&self) -> Option<Time> {
        if self.has_news {
            return self.seen;
        }
        let expected =
            self.queue.next_expected().filter(|at| self.seen.is_none_or(|seen| seen < *at));
        // Where no owner's job waits or runs, nothing is left to one.
        let renewal = self.seen.filter(|_| !self.is_idle());
        let is_owners = |job: JobId| self.index.contains_key(&job);
        let renewal = renewal.and_then(|seen| self.queue.next_renewal(seen, is_owners));
        let reached = self.seen.and_then(|seen| self.delays.next(seen, self.load.rule.max_delay));
        let other = expected.into_iter().chain(renewal).chain(reached).chain(self.closed_until);
        self.next_own().into_iter().chain(other).min()
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        self.touched || self.has_news || self.next().is_some_and(|at| at <= now)
    }

    pub(super) fn is_over(&self) -> bool {
        self.submitted == self.load.jobs.len() && self.is_idle() && self.lined.is_empty()
    }

    /// Whether no owner's job waits or runs.
    pub(super) fn is_idle(&self) -> bool {
        self.index.is_empty()
    }

    pub(super) fn has(&self, pool: PoolId) -> bool {
        self.queue.has(pool)
    }

    pub(super) fn has_lined(&self) -> bool {
        !self.lined.is_empty()
    }

    /// Jobs of the market that wait in the queue, each with its pool, in the order of the queue.
    pub(super) fn lined(&self) -> Vec<(JobId, PoolId)> {
        self.lined.values().copied().collect()
    }

    /// A job of the market joins the queue, behind all that wait; whether it can ever start.
    pub(super) fn line_up(&mut self, job: JobId, pool: PoolId, nodes: u32, limit: Span) -> bool {
        let number = self.number();
        let joins = self.queue.join(SiteQueueEntry {
            job: number,
            nodes,
            limit,
            pools: [pool].into(),
            reserves: true,
        });
        if joins {
            self.lined.insert(number, (job, pool));
            self.has_news = true;
        }
        joins
    }

    /// A job of the market leaves the queue.
    pub(super) fn leave_line(&mut self, job: JobId, now: Time) {
        let found = self.lined.iter().find(|(_, (of, _))| *of == job);
        let Some(number) = found.map(|(number, _)| *number) else { return };
        self.lined.remove(&number);
        self.queue.leave(number, now);
        self.has_news = true;
    }

    fn number(&mut self) -> JobId {
        self.next += 1;
        JobId(self.next - 1)
    }

    /// The next of the owners' jobs that end by `now`: the outage that it was for the market.
    pub(super) fn end(&mut self, now: Time) -> Option<OutageId> {
        if let Some(closure) = self.over.pop() {
            return Some(closure);
        }
        while let Some(&(at, job)) = self.ends.first().filter(|(at, _)| *at <= now) {
            self.ends.remove(&(at, job));
            self.learn(job);
            self.index.remove(&job);
            self.queue.ended(job, now);
            self.touched = true;
            self.over = self.taken.remove(&job).unwrap_or_default();
            if let Some(closure) = self.over.pop() {
                return Some(closure);
            }
        }
        None
    }

    /// All that happens here by `now`; what the market has to be told of it.
    pub(super) fn step(&mut self, market: &Market) -> Vec<OwnersChange> {
        let (now, mut free) = (market.now(), FreeNodes::of(market));
        (self.touched, self.has_news, self.seen) = (false, false, Some(now));
        let mut changes = Vec::new();
        // Jobs of no length that began in this second.
        while let Some(closure) = self.end(now) {
            changes.push(OwnersChange::Reopen(closure));
            free.reopen(closure);
        }
        self.touched = false;
        let mut begun = Vec::new();
        let late = self.tenants.collect(&mut free, now, &mut begun);
        late.iter().for_each(|it| self.begin_late(it, now));
        let new = self.next;
        self.submit(now);
        let mut starts = Vec::new();
        self.queue.decide(now, &mut starts);
        let expected = self.queue.look_ahead(now);
        for it in starts.iter().chain(&expected).filter(|it| it.job.0 >= new) {
            if let Some(&index) = self.index.get(&it.job) {
                self.foreseen[index] = Some(it.start);
            }
        }
        let ahead = self
            .queue
            .load_ahead(now, &expected, &self.usual(), |job| self.index.contains_key(&job));
        let ahead = self.keep_bound(now, &expected, ahead);
        starts.iter().for_each(|it| self.start(it, now, &mut free, &mut begun));
        self.tenants.give_notice(now, &mut begun);
        let ahead = ahead.iter().map(local).chain(self.tenants.announced(now)).collect();
        let (withdrawn, announced) = self.renew(ahead);
        changes.extend(withdrawn);
        changes.extend(begun);
        changes.extend(announced);
        changes
    }

    /// Which owners' jobs are put off from now on; the load to come, with all nodes of the pools in
    /// which no further job of the market may start.
    fn keep_bound(
        &mut self,
        now: Time,
        expected: &[ExpectedStart],
        load: Vec<Taken>,
    ) -> Vec<Taken> {
        self.closed_until = None;
        if self.load.market == Standing::InLine || self.market.is_empty() && self.delays.is_empty()
        {
            return load;
        }
        let (queue, index) = (&self.queue, &self.index);
        let put_off = queue.put_off(now, |job| !index.contains_key(&job));
        let change = self.delays.change(|job| queue.waits(*job), &put_off.into_iter().collect());
        self.delays.apply(now, &change);
        let start = |job: &JobId| expected.iter().find(|it| it.job == *job).map(|it| it.start);
        let reached = self.delays.reached(now, self.load.rule.max_delay);
        let until = reached.map(|job| start(job).unwrap_or(now + CLOSED)).max();
        let Some(until) = until.filter(|until| *until > now) else { return load };
        self.closed_until = Some(until);
        self.queue.close(now, load, &self.pools.iter().map(|pool| (*pool, until)).collect())
    }

    /// A job has ended: which part of its limit it used.
    fn learn(&mut self, job: JobId) {
        let Some(index) = self.index.get(&job).copied() else { return };
        let job = &self.load.jobs[index];
        let part = i128::from(job.run.0) * i128::from(WHOLE) / i128::from(job.requested.0.max(1));
        self.used.push_back(u32::try_from(part).unwrap_or(WHOLE).min(WHOLE));
        if self.used.len() > REMEMBERED {
            self.used.pop_front();
        }
    }

    /// How long the owners' jobs usually run, as far as was seen.
    fn usual(&self) -> Usual {
        match self.load.rule.guard {
            Guard::Limits => Usual::default(),
            Guard::Early | Guard::Spare => {
                Usual::cautious(&self.used.iter().copied().collect::<Vec<_>>(), &[])
            }
        }
    }

    fn submit(&mut self, now: Time) {
        while let Some(job) = self.load.jobs.get(self.submitted).filter(|job| job.submit <= now) {
            let number = self.number();
            self.index.insert(number, self.submitted);
            self.submitted += 1;
            let (nodes, limit, pools) = (job.processors, job.requested, Arc::clone(&self.pools));
            self.queue.join(SiteQueueEntry { job: number, nodes, limit, pools, reserves: true });
        }
    }

    /// The scheduler starts a job: one of the market's at once, an owner's when it has its nodes.
    fn start(
        &mut self,
        start: &ExpectedStart,
        now: Time,
        free: &mut FreeNodes<'_>,
        changes: &mut Vec<OwnersChange>,
    ) {
        if let Some((job, _)) = self.lined.remove(&start.job) {
            self.market.insert((job, start.pool), start.job);
            return changes.push(OwnersChange::Turn { job, pool: start.pool });
        }
        self.tenants.gather(start);
        for it in self.tenants.collect(free, now, changes) {
            self.begin(&it, now);
        }
    }

    /// An owner's job has its nodes.
    fn begin(&mut self, it: &Gathering, now: Time) {
        let Some(&index) = self.index.get(&it.job) else { return };
        let (foreseen, end) = (self.foreseen[index], now + self.load.jobs[index].run);
        self.ran[index] = Some(OwnerRan { foreseen, start: now, end, pool: it.pool });
        self.ends.insert((end, it.job));
    }

    /// The same of one that the queue has counted as running before.
    fn begin_late(&mut self, it: &Gathering, now: Time) {
        self.begin(it, now);
        self.queue.ended(it.job, now);
        let (job, nodes, limit) = (it.job, it.nodes, it.limit);
        let pools = Arc::clone(&self.pools);
        let entry = SiteQueueEntry { job, nodes, limit, pools, reserves: true };
        self.queue.adopt(&entry, it.pool, now, now);
    }

    /// Whether owners' jobs take nodes back from preemptible ones.
    pub(super) fn preempts(&self) -> bool {
        self.load.market == Standing::Behind
    }

    /// A preemptible job of the market started.
    pub(super) fn come(&mut self, job: JobId, share: Share, now: Time) {
        if self.queue.has(share.pool) {
            self.tenants.come(job, share, now);
        }
    }

    /// What changes in the announced load so that it is `ahead`.
    fn renew(&mut self, ahead: Vec<Outage>) -> (Vec<OwnersChange>, Vec<OwnersChange>) {
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.ahead).into_iter().partition(|(_, what)| ahead.contains(what));
        let fresh = ahead.into_iter().filter(|what| kept.iter().all(|(_, known)| known != what));
        let announced = fresh.map(OwnersChange::Announce).collect();
        self.ahead = kept;
        (gone.into_iter().map(|(closure, _)| OwnersChange::Reopen(closure)).collect(), announced)
    }

    /// The market has been told of future load.
    pub(super) fn announced(&mut self, closure: OutageId, what: Outage) {
        self.ahead.push((closure, what));
    }

    /// The market has been told of a job that starts.
    pub(super) fn started(&mut self, job: JobId, closure: OutageId) {
        self.taken.entry(job).or_default().push(closure);
    }

    /// A job of the market started.
    pub(super) fn adopt(&mut self, job: JobId, share: Share, limit: Span, now: Time) {
        if !self.queue.has(share.pool) {
            return;
        }
        let number = self.number();
        self.market.insert((job, share.pool), number);
        let (nodes, pools) = (share.nodes, Arc::clone(&self.pools));
        self.queue.adopt(
            &SiteQueueEntry { job: number, nodes, limit, pools, reserves: true },
            share.pool,
            now,
            now,
        );
    }

    /// A job of the market gave back its nodes, or those of one pool.
    pub(super) fn gone(&mut self, job: JobId, only: Option<PoolId>, now: Time) {
        self.touched |= self.tenants.go(job, only) && self.tenants.is_waited_for();
        let all = (job, PoolId(0))..=(job, PoolId(u32::MAX));
        let here = self.market.range(all).map(|(key, number)| (*key, *number));
        let here = here.filter(|((_, pool), _)| only.is_none_or(|only| only == *pool));
        for (key, number) in here.collect::<Vec<_>>() {
            self.market.remove(&key);
            self.queue.ended(number, now);
            self.touched = true;
        }
    }

    /// Nodes will be missing, for other reasons than owners' jobs.
    pub(super) fn outage(&mut self, closure: OutageId, what: Outage, now: Time) {
        self.queue.announced(closure, what, now);
        self.touched |= self.queue.has(what.pool);
    }

    pub(super) fn outage_began(&mut self, closure: OutageId, now: Time) {
        self.queue.closed(closure, now);
        self.touched = true;
    }

    pub(super) fn outage_over(&mut self, closure: OutageId, now: Time) {
        self.queue.reopened(closure, now);
        self.touched = true;
    }

    pub(super) fn finish(self) -> OwnersRun {
        self.ran
    }
}
