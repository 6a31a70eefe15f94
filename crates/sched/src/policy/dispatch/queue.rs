//! One queue: who runs in it, who waits in it, and who is to run when.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Outage, OutageId, Command, JobId, Place, PoolId, Profile, Span, Time};

use crate::policy::outages::{Outages, Taken};
use crate::policy::backfill::expected_span;

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
struct Hold {
    task: Task,
    start: Time,
    /// When it is expected to end.
    end: Time,
}

#[derive(Debug, Clone, Copy)]
struct Local {
    task: Task,
    /// When it starts by the plan, if the plan is up to date.
    planned: Option<Time>,
}

/// A queue's books, its local scheduler and its plan.
///
/// Jobs that wait here are started by EASY: the first holds a reservation, the others start when
/// they do not delay it. The plan is what is promised to newcomers: every waiting job, in order,
/// at the earliest place beside those before it. EASY may start a job earlier than planned, and so
/// delay one that is not the first. Both are functions of who runs, who waits and what is closed;
/// the plan is made anew only where it would come out differently.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pool: PoolId,
    nodes: u32,
    running: BTreeMap<JobId, Hold>,
    /// When running jobs are expected to end.
    due: BTreeSet<(Time, JobId)>,
    absences: Outages,
    /// What running jobs and closures leave.
    free: Profile,
    /// In the order of trades.
    local: Vec<Local>,
    /// When the first of them is to start.
    reserved: Option<Time>,
    /// What waiting jobs leave besides, unless it is `stale`.
    plan: Profile,
    stale: bool,
    /// Σ processors × expected end of running jobs, and Σ processors × length of waiting ones.
    work: i128,
    /// Processors of running jobs.
    held: i128,
}

impl Queue {
    pub(super) fn new(pool: PoolId, nodes: u32, now: Time) -> Queue {
        Queue {
            pool,
            nodes,
            running: BTreeMap::new(),
            due: BTreeSet::new(),
            absences: Outages::default(),
            free: Profile::new(nodes, now),
            local: Vec::new(),
            reserved: None,
            plan: Profile::new(nodes, now),
            stale: false,
            work: 0,
            held: 0,
        }
    }

    /// Whether nothing runs or waits here.
    pub(super) fn idle(&self) -> bool {
        self.running.is_empty() && self.local.is_empty()
    }

    pub(super) fn nodes(&self) -> u32 {
        self.nodes
    }

    /// When the first waiting job is to start.
    pub(super) fn reserved(&self) -> Option<Time> {
        self.reserved
    }

    /// The first moment at which waiting jobs may start or move although nothing happens.
    pub(super) fn look_at(&self) -> Option<Time> {
        let end = self.due.first().map(|(end, _)| *end);
        let due = end.into_iter().chain(self.absences.next_due());
        let due = due.filter(|_| !self.local.is_empty());
        self.reserved.into_iter().chain(due).chain(self.next_unsaid_end()).min()
    }

    /// When processors are there again for which a closure was announced that never began.
    pub(super) fn next_unsaid_end(&self) -> Option<Time> {
        self.absences.next_unsaid_end(self.free.origin())
    }

    fn hold(&mut self, hold: Hold) {
        let Hold { task, end, .. } = hold;
        self.running.insert(task.job, hold);
        self.due.insert((end, task.job));
        self.held += i128::from(task.processors);
        self.work += i128::from(task.processors) * i128::from(end.0);
    }

    fn strike(&mut self, job: JobId) -> Option<Hold> {
        let hold = self.running.remove(&job)?;
        self.due.remove(&(hold.end, job));
        self.held -= i128::from(hold.task.processors);
        self.work -= i128::from(hold.task.processors) * i128::from(hold.end.0);
        Some(hold)
    }

    /// A job gave its processors back; what was known of it.
    pub(super) fn release(&mut self, job: JobId, now: Time) -> Option<Task> {
        let Hold { task, end, .. } = self.strike(job)?;
        self.free.advance(now);
        self.free.give(task.processors, now, end);
        self.stale |= end != now;
        Some(task)
    }

    /// Whether the job waits here.
    pub(super) fn has(&self, job: JobId) -> bool {
        self.local.iter().any(|local| local.task.job == job)
    }

    /// Whether the job runs here.
    pub(super) fn runs(&self, job: JobId) -> bool {
        self.running.contains_key(&job)
    }

    /// A job runs here since `start`, by somebody else's decision.
    pub(super) fn adopt(&mut self, task: Task, start: Time, now: Time) {
        let end = start + expected_span(task.length, now - start);
        self.free.advance(now);
        self.free.take(task.processors, now, end);
        self.hold(Hold { task, start, end });
        self.stale = true;
    }

    /// A job waits here behind all others, as it has agreed with somebody else.
    pub(super) fn line_up(&mut self, task: Task) {
        self.work += i128::from(task.processors) * i128::from(task.length.0);
        self.local.push(Local { task, planned: None });
        self.stale = true;
    }

    /// A job waits here no more. Whether it did.
    pub(super) fn leave(&mut self, job: JobId) -> bool {
        let place = self.local.iter().position(|local| local.task.job == job);
        let Some(Local { task, .. }) = place.map(|place| self.local.remove(place)) else {
            return false;
        };
        self.work -= i128::from(task.processors) * i128::from(task.length.0);
        self.stale = true;
        true
    }

    /// It became known that processors will be missing.
    pub(super) fn announce(&mut self, id: OutageId, what: Outage, now: Time) {
        self.free.advance(now);
        let taken = self.absences.announced(id, what, now);
        self.lose(taken);
    }

    /// They are gone.
    pub(super) fn close(&mut self, id: OutageId, now: Time) {
        self.free.advance(now);
        let early = self.absences.closed(id, now);
        early.into_iter().for_each(|taken| self.lose(taken));
    }

    fn lose(&mut self, taken: Taken) {
        self.free.take(taken.nodes, taken.from, taken.until);
        self.stale = true;
    }

    /// They are back. Whether they are this queue's.
    pub(super) fn reopen(&mut self, id: OutageId, now: Time) -> bool {
        let Some((_, left)) = self.absences.reopened(id, now) else { return false };
        self.free.advance(now);
        if let Some(Taken { nodes, from, until, .. }) = left {
            self.free.give(nodes, from, until);
            self.stale = true;
        }
        true
    }

    /// Who should have ended, or be back, is expected to need twice as long as believed so far.
    fn refresh(&mut self, now: Time) {
        self.free.advance(now);
        while let Some((_, job)) = self.due.first().copied().filter(|(end, _)| *end <= now) {
            let Some(Hold { task, start, .. }) = self.strike(job) else { return };
            let end = start + expected_span(task.length, now - start);
            self.free.take(task.processors, now, end);
            self.hold(Hold { task, start, end });
            self.stale = true;
        }
        while let Some(taken) = self.absences.extend_one(now) {
            self.lose(taken);
        }
    }

    /// EASY: starts whoever waits here and can start.
    ///
    /// O(w·(log n + p)) for w waiting jobs, n steps of the profile and p of them that are too
    /// short.
    pub(super) fn start(&mut self, now: Time, commands: &mut Vec<Command>) {
        self.refresh(now);
        self.reserved = None;
        let mut kept: Vec<Local> = Vec::with_capacity(self.local.len());
        for local in std::mem::take(&mut self.local) {
            let Task { processors, length, .. } = local.task;
            let room = self.free.free_now() >= i64::from(processors);
            if room && self.free.fits(processors, now, length) {
                self.begin(local, now, commands);
                continue;
            }
            if kept.is_empty() {
                self.reserved = self.free.earliest(processors, length, now);
                if let Some(at) = self.reserved {
                    self.free.take(processors, at, at + length);
                }
            }
            kept.push(local);
        }
        if let (Some(first), Some(at)) = (kept.first(), self.reserved) {
            self.free.give(first.task.processors, at, at + first.task.length);
        }
        self.local = kept;
    }

    fn begin(&mut self, local: Local, now: Time, commands: &mut Vec<Command>) {
        let Local { task, planned } = local;
        self.stale |= planned != Some(now);
        self.free.take(task.processors, now, now + task.length);
        self.work -= i128::from(task.processors) * i128::from(task.length.0);
        self.hold(Hold { task, start: now, end: now + task.length });
        commands.push(Command::Start { job: task.job, place: Place::Pool(self.pool) });
    }

    /// Brings the plan up to date.
    pub(super) fn make_plan(&mut self, now: Time) {
        self.refresh(now);
        self.plan.advance(now);
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.plan = self.free.clone();
        for Local { task, planned } in &mut self.local {
            *planned = self.plan.earliest(task.processors, task.length, now);
            if let Some(at) = *planned {
                self.plan.take(task.processors, at, at + task.length);
            }
        }
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
        self.work += i128::from(task.processors) * i128::from(task.length.0);
        self.local.push(Local { task, planned: Some(start) });
    }

    /// Processors that nobody has now, by the plan.
    pub(super) fn free_now(&self) -> i64 {
        self.plan.free_now().clamp(0, i64::from(self.nodes))
    }

    /// Node-seconds that nobody has until then, by the plan.
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

    /// Processors that somebody has now, by the plan.
    pub(super) fn occupied(&self) -> i64 {
        i64::from(self.nodes) - self.free_now()
    }

    /// How long until a processor is free for good, by the plan.
    pub(super) fn wait(&self) -> Span {
        let now = self.plan.origin();
        self.plan.earliest(1, FOR_GOOD, now).map_or(FOR_GOOD, |at| at - now)
    }

    /// How long its jobs would keep all processors busy, rounded down.
    pub(super) fn backlog(&self) -> Span {
        let left = self.work - self.held * i128::from(self.plan.origin().0);
        Span(i64::try_from(left / i128::from(self.nodes)).unwrap_or(FOR_GOOD.0))
    }
}
