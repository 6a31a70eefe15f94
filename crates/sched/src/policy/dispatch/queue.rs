//! One queue: who runs in it, who waits in it, and who is to run when.

use std::collections::BTreeMap;

use tradewind_model::{
    Command, JobId, Outage, OutageId, Place, PoolId, Profile, Share, Span, Time,
};

use super::settings::QueueDiscipline;
use crate::policy::availability::Availability;
use crate::policy::backfill::{Depth, PoolLine, Rank, Waiting, look_ahead};

/// Longer than anything lasts.
const FOR_GOOD: Span = Span(1 << 60);

/// What a queue knows of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) job: JobId,
    /// Since when it waited for a queue.
    pub(super) since: Time,
    pub(super) processors: u32,
    /// How long it is expected to run here.
    pub(super) length: Span,
}

#[derive(Debug, Clone, Copy)]
struct DispatchedJob {
    /// Its place while it waits.
    rank: Option<Rank>,
    /// Since when it waited for a queue.
    since: Time,
    /// When it starts by the plan, if the plan is up to date.
    planned: Option<Time>,
}

/// A queue's local scheduler and its plan.
///
/// Jobs that wait here are started by EASY (see [`backfill`](crate::policy::backfill)) or by
/// conservative backfilling, in the order of trades. With the latter the plan is the reservations.
///
/// With EASY, The plan is what is promised to newcomers: every waiting job, in order, at the
/// earliest place beside those before it. EASY may start a job earlier than planned, and so delay
/// one that is not the first. Both are functions of who runs, who waits and what is closed; the plan
/// is made again only where it would come out differently.
#[derive(Debug, Clone)]
pub(super) struct DispatchQueue {
    pool: PoolId,
    size: u32,
    local_rule: QueueDiscipline,
    /// What running jobs, outages and jobs with reservations leave.
    nodes: Availability<Profile>,
    line: PoolLine,
    /// Jobs that wait or run.
    local: BTreeMap<JobId, DispatchedJob>,
    /// Jobs that have waited here so far.
    joined: i64,
    /// When the first of those that wait is to start.
    reserved: Option<Time>,
    /// What running jobs, outages and all waiting jobs leave, unless it is `stale`.
    plan: Profile,
    stale: bool,
    /// Whether jobs that wait may have come to fit earlier since they were last looked at.
    freed: bool,
    /// Node-seconds of waiting jobs.
    work: i128,
    /// Buffer that is kept to avoid allocations.
    started: Vec<Waiting>,
}

impl DispatchQueue {
    pub(super) fn new(pool: PoolId, nodes: u32, rule: QueueDiscipline, now: Time) -> DispatchQueue {
        let depth = match rule {
            QueueDiscipline::Easy => Depth::First(1),
            QueueDiscipline::Conservative => Depth::All,
        };
        DispatchQueue {
            local_rule: rule,
            pool,
            size: nodes,
            nodes: Availability::of_pool(nodes, now),
            line: PoolLine::new(depth),
            local: BTreeMap::new(),
            joined: 0,
            reserved: None,
            plan: Profile::new(nodes, now),
            stale: false,
            freed: false,
            work: 0,
            started: Vec::new(),
        }
    }

    /// Whether nothing runs or waits here.
    pub(super) fn idle(&self) -> bool {
        self.local.is_empty()
    }

    pub(super) fn nodes(&self) -> u32 {
        self.size
    }

    /// When the first waiting job is to start.
    pub(super) fn reserved(&self) -> Option<Time> {
        self.reserved
    }

    /// The first moment at which waiting jobs may start or move although nothing happens.
    pub(super) fn look_at(&self) -> Option<Time> {
        let due = self.nodes.next_end().filter(|_| self.line.len() > 0);
        self.reserved.into_iter().chain(due).chain(self.next_unsaid_end()).min()
    }

    /// When processors are there again for which an outage was announced that never began.
    pub(super) fn next_unsaid_end(&self) -> Option<Time> {
        self.nodes.next_unsaid_end()
    }

    /// A job gave its processors back; since when it had waited for a queue.
    pub(super) fn release(&mut self, job: JobId, now: Time) -> Option<Time> {
        let expected = self.nodes.release(job, None, now)?;
        self.freed = true;
        self.stale |= expected != now;
        self.local.remove(&job).map(|local| local.since)
    }

    /// Whether the job waits here.
    pub(super) fn has(&self, job: JobId) -> bool {
        self.local.get(&job).is_some_and(|local| local.rank.is_some())
    }

    /// Whether the job runs here.
    pub(super) fn runs(&self, job: JobId) -> bool {
        self.local.get(&job).is_some_and(|local| local.rank.is_none())
    }

    /// A job runs here since `start`, by another's decision.
    pub(super) fn adopt(&mut self, task: Task, start: Time, now: Time) {
        let Task { job, since, processors, length } = task;
        let share = Share { pool: self.pool, nodes: processors };
        self.nodes.adopt(job, share, (start, length), now);
        self.local.insert(job, DispatchedJob { rank: None, since, planned: None });
        self.stale = true;
    }

    /// A job waits here behind all others, as it has agreed with another site.
    pub(super) fn line_up(&mut self, task: Task) {
        let waiting = self.wait_for(task, None);
        self.line.insert(waiting);
        (self.stale, self.freed) = (true, true);
    }

    fn wait_for(&mut self, task: Task, planned: Option<Time>) -> Waiting {
        let Task { job, since, processors, length } = task;
        let waiting = Waiting::keyed(self.joined, job, processors, length);
        self.joined += 1;
        self.work += waiting.work();
        self.local.insert(job, DispatchedJob { rank: Some(waiting.rank), since, planned });
        waiting
    }

    /// A job waits here no more. Whether it did.
    pub(super) fn leave(&mut self, job: JobId) -> bool {
        let Some(rank) = self.local.get(&job).and_then(|local| local.rank) else { return false };
        self.local.remove(&job);
        let waiting = self.line.remove(self.nodes.free_mut(), rank);
        self.work -= waiting.map_or(0, |waiting| waiting.work());
        (self.stale, self.freed) = (true, true);
        true
    }

    /// It became known that processors will be missing.
    pub(super) fn announce(&mut self, id: OutageId, what: Outage, now: Time) {
        self.nodes.announced(id, what, now);
    }

    /// They are gone.
    pub(super) fn close(&mut self, id: OutageId, now: Time) {
        self.nodes.closed(id, now);
    }

    /// They are back. Whether they are this queue's.
    pub(super) fn reopen(&mut self, id: OutageId, now: Time) -> bool {
        let ours = self.nodes.reopened(id, now);
        self.freed |= ours;
        ours
    }

    /// Comes to `now`, with all that happened written down.
    fn refresh(&mut self, now: Time) {
        let mut opened = self.nodes.opened().peekable();
        let early = opened.peek().is_some();
        self.line.note(opened);
        let upset = self.nodes.settle(now);
        if upset {
            self.line.forget();
        }
        self.stale |= early || upset;
        self.freed |= upset || self.nodes.regained(now);
        self.freed |= self.line.first_reservation().is_some_and(|start| start <= now);
    }

    /// Starts the jobs that wait here and can start. Costs what a pass of
    /// [`Backfill`](crate::policy::backfill::Backfill) costs.
    pub(super) fn start(&mut self, now: Time, commands: &mut Vec<Command>) {
        self.refresh(now);
        // A second look at reservations in the same second could move some of them again.
        if std::mem::take(&mut self.freed) || self.local_rule == QueueDiscipline::Easy {
            self.line.pass(self.nodes.free_mut(), &mut self.started);
        }
        self.reserved = self.line.first_reservation();
        for waiting in self.started.drain(..) {
            let job = waiting.rank.job;
            self.nodes.start(job, waiting.taken(now), waiting.estimate);
            self.work -= waiting.work();
            if let Some(local) = self.local.get_mut(&job) {
                self.stale |= local.planned != Some(now);
                local.rank = None;
            }
            commands.push(Command::Start { job, place: Place::Pool(self.pool) });
        }
    }

    /// Brings the plan up to date.
    pub(super) fn make_plan(&mut self, now: Time) {
        self.refresh(now);
        self.plan.advance(now);
        if self.local_rule == QueueDiscipline::Conservative {
            // Every job of the line has its reservation since the last start.
            self.plan = self.nodes.free().clone();
            return;
        }
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.plan = self.nodes.free().clone();
        self.line.lift(&mut self.plan);
        let DispatchQueue { line, plan, local, .. } = self;
        look_ahead(plan, line.iter(), |waiting, place| {
            if let Some(local) = local.get_mut(&waiting.rank.job) {
                local.planned = place.map(|place| place.from);
            }
        });
    }

    /// The earliest start by the plan.
    pub(super) fn earliest(&self, processors: u32, length: Span) -> Option<Time> {
        self.plan.earliest(processors, length, self.plan.origin())
    }

    /// Whether a job can start now by the plan.
    pub(super) fn fits_now(&self, processors: u32, length: Span) -> bool {
        self.plan.fits(processors, self.plan.origin(), length)
    }

    /// The job waits here from now on, to start at `start`, which the plan allows.
    pub(super) fn join(&mut self, task: Task, start: Time) {
        self.plan.take(task.processors, start, start + task.length);
        let waiting = self.wait_for(task, Some(start));
        match self.local_rule {
            QueueDiscipline::Easy => self.line.insert(waiting),
            QueueDiscipline::Conservative => {
                self.line.try_one(self.nodes.free_mut(), waiting, &mut self.started);
            }
        }
    }

    /// Processors that are free now, by the plan.
    pub(super) fn free_now(&self) -> i64 {
        self.plan.free_now().clamp(0, i64::from(self.size))
    }

    /// Node-seconds that are free until then, by the plan.
    pub(super) fn free_until(&self, until: Time) -> i128 {
        let mut levels = Vec::new();
        self.plan.levels(self.plan.origin(), until, &mut levels);
        let ends = levels.iter().skip(1).map(|level| level.at).chain([until]);
        let free = levels
            .iter()
            .zip(ends)
            .map(|(level, end)| i128::from(level.free.max(0)) * i128::from((end - level.at).0));
        free.sum()
    }

    /// Processors that are occupied now, by the plan.
    pub(super) fn occupied(&self) -> i64 {
        i64::from(self.size) - self.free_now()
    }

    /// How long until a processor is free for good, by the plan.
    pub(super) fn wait(&self) -> Span {
        let now = self.plan.origin();
        self.plan.earliest(1, FOR_GOOD, now).map_or(FOR_GOOD, |at| at - now)
    }

    /// How long its jobs would keep all processors busy, rounded down. O(r) for r running jobs.
    pub(super) fn backlog(&self) -> Span {
        let left = self.work + self.nodes.work();
        Span(i64::try_from(left / i128::from(self.size)).unwrap_or(FOR_GOOD.0))
    }
}
