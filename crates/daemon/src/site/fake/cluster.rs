//! The cluster behind the fake site: nodes, tasks, the owner's jobs, and a clock that the test
//! sets.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Span, Time};

use super::behaviour::{self, Behaviour, Temper};
use super::{LocalJob, Ran};
use crate::site::queued::{QueuedJob, WaitingJobs};
use crate::site::{
    Aside, Exit, HeldTask, LocalTask, Order, PoolSetup, PoolSurvey, Seen, Survey, Tag,
};

/// From a friendly signal to the other.
pub(super) const GRACE: Span = Span(5);
/// What a task needs to save its state.
const SAVING: Span = Span(3);

/// A task that is not over.
#[derive(Debug, Clone)]
pub(super) struct FakeTask {
    pub(super) pool: usize,
    pub(super) nodes: u32,
    pub(super) start: Time,
    pub(super) limit: Span,
    pub(super) number: u64,
    pub(super) behaviour: Behaviour,
    /// It waits so long for others.
    pub(super) gather: Option<Span>,
    /// What was submitted, if it waits for others: more will be sent.
    pub(super) order: Option<Box<Order>>,
    /// The moment ordered for the begin of its work.
    pub(super) go: Option<Time>,
    /// It may have nodes that are set aside for its job.
    pub(super) aside: bool,
    pub(super) running: Option<Running>,
}

#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) since: Time,
    pub(super) nodes: BTreeSet<u32>,
    /// When and how it will end if nothing else happens.
    pub(super) end: Time,
    pub(super) exit: Exit,
    /// Since when its work runs, and the index in the history.
    pub(super) began: Option<(Time, usize)>,
}

/// An ended task, as surveys have it.
#[derive(Debug, Clone)]
pub(super) struct EndedTask {
    pub(super) since: Option<Time>,
    pub(super) at: Time,
    pub(super) exit: Exit,
}

/// A job of the owner's; `since`: it runs.
#[derive(Debug, Clone)]
pub(super) struct OwnerJob {
    pub(super) job: LocalJob,
    pub(super) since: Option<Time>,
}

#[derive(Debug, Clone)]
pub(super) struct FakeCluster {
    pub(super) pools: Vec<PoolSetup>,
    pub(super) now: Time,
    down: BTreeSet<(usize, u32)>,
    pub(super) live: BTreeMap<Tag, FakeTask>,
    /// Those whose record was lost while they ran.
    pub(super) orphans: Vec<(Tag, FakeTask)>,
    pub(super) ended: BTreeMap<Tag, EndedTask>,
    pub(super) says: BTreeMap<Tag, Vec<u8>>,
    /// Tags that never run again though nothing is known of them.
    gone: BTreeSet<Tag>,
    pub(super) own: BTreeMap<String, OwnerJob>,
    /// Waiting jobs that surveys list beside those of `own`. They never start.
    pub(super) queue: Vec<QueuedJob>,
    pub(super) asides: Vec<Aside>,
    /// Tasks that are held while they wait, and for how long that may be.
    pub(super) held: BTreeMap<Tag, Span>,
    /// Tasks that were told while they ran that their nodes are taken back, and when.
    pub(super) notified: BTreeMap<Tag, Time>,
    next: u64,
    /// Tags in the history.
    pub(super) begun: BTreeSet<Tag>,
    pub(super) history: Vec<Ran>,
}

impl FakeCluster {
    pub(super) fn new(pools: Vec<PoolSetup>, now: Time) -> FakeCluster {
        FakeCluster {
            pools,
            now,
            down: BTreeSet::new(),
            live: BTreeMap::new(),
            orphans: Vec::new(),
            ended: BTreeMap::new(),
            says: BTreeMap::new(),
            gone: BTreeSet::new(),
            own: BTreeMap::new(),
            queue: Vec::new(),
            asides: Vec::new(),
            held: BTreeMap::new(),
            notified: BTreeMap::new(),
            next: 0,
            begun: BTreeSet::new(),
            history: Vec::new(),
        }
    }

    /// The next moment at which something happens by itself.
    fn next_event(&self) -> Option<Time> {
        let lost = self.orphans.iter().map(|(_, task)| task);
        let tasks = self.live.values().chain(lost).map(FakeTask::next);
        let windows = self.asides.iter().map(|aside| aside.until);
        let own = self.own.values().map(|own| match own.since {
            Some(since) => since + own.job.length,
            None => own.job.from,
        });
        tasks.chain(own).chain(windows).filter(|at| *at > self.now).min()
    }

    /// Time passes, and everything in it happens.
    pub(super) fn advance(&mut self, to: Time) {
        self.happen();
        while let Some(next) = self.next_event().filter(|next| *next <= to) {
            self.now = next;
            self.happen();
        }
        self.now = self.now.max(to);
    }

    /// What is due now: ends, then the owner's jobs, then ours. A task of no length that starts
    /// ends at once and makes room again.
    pub(super) fn happen(&mut self) {
        loop {
            self.end_what_is_due();
            let has_begun = self.begin_gathered();
            self.start_own();
            if !self.start_ours() && !has_begun {
                return;
            }
        }
    }

    fn end_what_is_due(&mut self) {
        let now = self.now;
        let due = |task: &FakeTask| task.running.as_ref().is_some_and(|running| running.end <= now);
        let tags: Vec<Tag> =
            self.live.iter().filter(|(_, task)| due(task)).map(|(tag, _)| tag.clone()).collect();
        for tag in tags {
            self.end(&tag);
        }
        let (over, on) = std::mem::take(&mut self.orphans).into_iter().partition(|it| due(&it.1));
        self.orphans = on;
        let over: Vec<(Tag, FakeTask)> = over;
        over.iter().filter_map(|(_, task)| task.running.as_ref()).for_each(|it| self.note_end(it));
        self.own.retain(|_, own| own.since.is_none_or(|since| since + own.job.length > now));
    }

    /// The task ends as it was to.
    fn end(&mut self, tag: &Tag) {
        let Some(FakeTask { running: Some(running), .. }) = self.live.remove(tag) else { return };
        self.note_end(&running);
        let Running { end, exit, began, .. } = running;
        let since = began.map(|(since, _)| since);
        self.ended.insert(tag.clone(), EndedTask { since, at: end, exit });
    }

    fn note_end(&mut self, running: &Running) {
        let ran = running.began.and_then(|(_, ran)| self.history.get_mut(ran));
        if let Some(ran) = ran {
            ran.ended = Some((running.end, running.exit.clone()));
        }
    }

    /// Nodes of the pool that are up and that no task of ours has.
    fn free_of_ours(&self, pool: usize) -> BTreeSet<u32> {
        let nodes = self.pools.get(pool).map_or(0, |pool| pool.nodes);
        let mut free: BTreeSet<u32> =
            (0..nodes).filter(|node| !self.down.contains(&(pool, *node))).collect();
        for task in self.live.values().filter(|task| task.pool == pool) {
            for node in task.running.iter().flat_map(|running| &running.nodes) {
                free.remove(node);
            }
        }
        free
    }

    fn held_by_owner(&self, pool: usize) -> u32 {
        let running = self.own.values().filter(|own| own.job.pool == pool && own.since.is_some());
        running.map(|own| own.job.nodes).fold(0, u32::saturating_add)
    }

    fn start_own(&mut self) {
        let waiting = |own: &OwnerJob| own.since.is_none() && own.job.from <= self.now;
        let names: Vec<String> =
            self.own.iter().filter(|(_, own)| waiting(own)).map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some((pool, nodes)) = self.own.get(&name).map(|own| (own.job.pool, own.job.nodes))
            else {
                continue;
            };
            let length = self.own.get(&name).map_or(Span(0), |own| own.job.length);
            let kept = self.kept(pool, self.now + length, None);
            let free = count(&self.free_of_ours(pool));
            let free = free.saturating_sub(self.held_by_owner(pool)).saturating_sub(kept);
            if let Some(own) = self.own.get_mut(&name).filter(|_| nodes <= free) {
                own.since = Some(self.now);
            }
        }
    }

    /// By start, then by submission, and no task overtakes. Whether any started.
    fn start_ours(&mut self) -> bool {
        let due = |task: &FakeTask| task.running.is_none() && task.start <= self.now;
        let mut waiting: Vec<(Time, u64, Tag)> = self
            .live
            .iter()
            .filter(|(tag, task)| due(task) && !self.held.contains_key(tag))
            .map(|(tag, task)| (task.start, task.number, tag.clone()))
            .collect();
        waiting.sort();
        let mut blocked: BTreeSet<usize> = self
            .own
            .values()
            .filter(|own| own.since.is_none() && own.job.from <= self.now)
            .map(|own| own.job.pool)
            .collect();
        let mut has_started = false;
        for (_, _, tag) in waiting {
            let Some((pool, nodes)) = self.live.get(&tag).map(|task| (task.pool, task.nodes))
            else {
                continue;
            };
            let free = self.free_of_ours(pool);
            let kept = self.kept_from(&tag);
            let room = count(&free).saturating_sub(self.held_by_owner(pool)).saturating_sub(kept);
            if blocked.contains(&pool) || nodes > room {
                blocked.insert(pool);
                continue;
            }
            let wanted = usize::try_from(nodes).unwrap_or(usize::MAX);
            self.start(&tag, free.into_iter().take(wanted).collect());
            has_started = true;
        }
        has_started
    }

    /// The task has its nodes; its work begins, unless it waits for others.
    fn start(&mut self, tag: &Tag, nodes: BTreeSet<u32>) {
        let now = self.now;
        let Some(task) = self.live.get_mut(tag) else { return };
        let (end, exit) = match (task.gather, task.go) {
            (Some(max), None) => (now + max, Exit::Withdrawn),
            _ => (Time::MAX, Exit::Withdrawn),
        };
        let waits = task.gather.is_some();
        task.running = Some(Running { since: now, nodes, end, exit, began: None });
        if waits {
            return;
        }
        let Some(task) = self.live.remove(tag) else { return };
        match self.begin(tag, task) {
            Some(task) => drop(self.live.insert(tag.clone(), task)),
            None => self.begun_before(tag),
        }
    }

    pub(super) fn is_gone(&self, tag: &Tag) -> bool {
        self.gone.contains(tag)
    }

    /// Nothing is known any more of a task that is over.
    pub(super) fn sweep(&mut self, tag: &Tag) {
        if self.gone.remove(tag) {
            self.begun.remove(tag);
        }
    }

    pub(super) fn knows(&self, tag: &Tag) -> bool {
        self.live.contains_key(tag) || self.ended.contains_key(tag) || self.gone.contains(tag)
    }

    /// Takes the task in; why not, if not.
    pub(super) fn submit(&mut self, order: &Order) -> Result<(), String> {
        if self.knows(&order.tag) {
            return Ok(());
        }
        let Some(pool) = self.pools.iter().position(|pool| pool.name == order.pool) else {
            return Err(format!("there is no pool {:?}", order.pool));
        };
        let max = self.pools.get(pool).map_or(0, |pool| pool.nodes);
        if order.nodes == 0 || order.nodes > max {
            return Err(format!("{} nodes: the pool has {max}", order.nodes));
        }
        let task = FakeTask {
            pool,
            nodes: order.nodes,
            start: order.start,
            limit: order.limit,
            number: self.next,
            behaviour: behaviour::of(order),
            gather: order.gather,
            order: order.gather.map(|_| Box::new(order.clone())),
            go: None,
            aside: order.aside,
            running: None,
        };
        self.next += 1;
        self.live.insert(order.tag.clone(), task);
        self.happen();
        Ok(())
    }

    pub(super) fn withdraw(&mut self, tag: &Tag) {
        let now = self.now;
        let Some(task) = self.live.get_mut(tag) else {
            if !self.ended.contains_key(tag) {
                self.gone.insert(tag.clone());
            }
            return;
        };
        match &mut task.running {
            None => {
                self.live.remove(tag);
                let ended = EndedTask { since: None, at: now, exit: Exit::Withdrawn };
                self.ended.insert(tag.clone(), ended);
            }
            Some(running) if running.began.is_some() && running.exit == Exit::Withdrawn => {}
            Some(running) => {
                let wanted = match (task.behaviour.temper, running.began) {
                    (Temper::Stubborn, Some(_)) => now + GRACE,
                    _ => now,
                };
                if wanted < running.end {
                    running.end = wanted;
                    running.exit = Exit::Withdrawn;
                }
            }
        }
        self.happen();
    }

    /// Its work hears that its nodes are taken back: one that saves its state ends by itself shortly after.
    pub(super) fn notify(&mut self, tag: &Tag) {
        let now = self.now;
        let Some(task) = self.live.get_mut(tag) else { return };
        let is_saving = task.behaviour.temper == Temper::Saving;
        let Some(running) = task.running.as_mut().filter(|it| it.began.is_some()) else { return };
        self.notified.entry(tag.clone()).or_insert(now);
        if is_saving && now + SAVING < running.end {
            (running.end, running.exit) = (now + SAVING, Exit::Code(1));
        }
        self.happen();
    }

    /// Whether the task's work runs.
    pub(super) fn has_begun(&self, tag: &Tag) -> bool {
        let running = self.live.get(tag).and_then(|task| task.running.as_ref());
        running.is_some_and(|running| running.began.is_some())
    }

    /// `false`: it has not ended.
    pub(super) fn forget(&mut self, tag: &Tag) -> bool {
        if self.live.contains_key(tag) {
            return false;
        }
        if self.ended.remove(tag).is_some() {
            self.says.remove(tag);
            self.gone.insert(tag.clone());
        }
        true
    }

    pub(super) fn output(&self, tag: &Tag) -> &[u8] {
        self.says.get(tag).map_or(&[], Vec::as_slice)
    }

    pub(super) fn set_own(&mut self, name: &str, job: LocalJob) {
        self.own.insert(name.to_owned(), OwnerJob { job, since: None });
        self.happen();
    }

    pub(super) fn end_own(&mut self, name: &str) {
        self.own.remove(name);
        self.happen();
    }

    /// The node dies, and with it what runs there.
    pub(super) fn break_node(&mut self, pool: usize, node: u32) {
        self.down.insert((pool, node));
        let now = self.now;
        for task in self.live.values_mut().filter(|task| task.pool == pool) {
            if let Some(running) = &mut task.running
                && running.nodes.contains(&node)
            {
                running.end = now;
                running.exit = Exit::NodeFailed;
            }
        }
        self.happen();
    }

    pub(super) fn preempt(&mut self, tag: &Tag) {
        let now = self.now;
        let running = self.live.get_mut(tag).and_then(|task| task.running.as_mut());
        if let Some(running) = running.filter(|it| it.exit != Exit::Withdrawn && it.end > now) {
            running.end = now;
            running.exit = Exit::Preempted;
        }
        self.happen();
    }

    pub(super) fn mend_node(&mut self, pool: usize, node: u32) {
        self.down.remove(&(pool, node));
        self.happen();
    }

    /// Forgets all that came in from submission number `since` on; what of it runs, runs on.
    pub(super) fn crash(&mut self, since: u64) {
        let lost: Vec<Tag> = self
            .live
            .iter()
            .filter(|(_, task)| task.number >= since)
            .map(|(tag, _)| tag.clone())
            .collect();
        for tag in lost {
            let task = self.live.remove(&tag).filter(|task| task.running.is_some());
            self.says.remove(&tag);
            self.orphans.extend(task.map(|task| (tag, task)));
        }
        self.happen();
    }

    pub(super) fn busy(&self) -> impl Iterator<Item = &Tag> {
        self.live.iter().filter(|(_, task)| task.running.is_some()).map(|(tag, _)| tag)
    }

    pub(super) fn submissions(&self) -> u64 {
        self.next
    }

    pub(super) fn survey(&self) -> Survey {
        let pools = (0..self.pools.len()).map(|pool| self.survey_pool(pool)).collect();
        let name = |pool: usize| self.pools.get(pool).map_or("", |pool| pool.name.as_str());
        let live = self.live.iter().map(|(tag, task)| {
            let seen = task.running.as_ref().map_or(Seen::Waiting, |running| Seen::Running {
                since: running.since,
                nodes: running
                    .nodes
                    .iter()
                    .map(|node| format!("{}/{node}", name(task.pool)))
                    .collect(),
            });
            (tag.clone(), seen)
        });
        let ended = self.ended.iter().map(|(tag, ended)| {
            let EndedTask { since, at, exit } = ended.clone();
            (tag.clone(), Seen::Ended { since, at, exit })
        });
        let waits = |tag: &Tag| self.live.get(tag).is_some_and(|task| task.running.is_none());
        let held = self.held.iter().filter(|(tag, _)| waits(tag)).map(|(tag, max)| {
            let held = HeldTask { why: "JobHeldAdmin".to_owned(), max: *max };
            (tag.clone(), held)
        });
        let held = held.collect();
        let (tasks, began) = (live.chain(ended).collect(), self.beginnings());
        let WaitingJobs { jobs: queue, beyond: queue_beyond, notes: queue_notes, own } =
            self.survey_queue();
        let survey = Survey { pools, tasks, began, held, ..Survey::default() };
        Survey { queue, queue_beyond, queue_notes, own, ..survey }
    }

    /// The owner's jobs that wait, by name, as they start; then those that were set.
    fn survey_queue(&self) -> WaitingJobs {
        let waits = |own: &OwnerJob| own.since.is_none() && own.job.from <= self.now;
        let own = self.own.iter().filter(|(_, own)| waits(own)).map(|(name, own)| {
            let LocalJob { pool, nodes, length, from, .. } = own.job;
            QueuedJob { submitted: from, ..QueuedJob::of(name, pool, nodes, length) }
        });
        WaitingJobs::of((0..).zip(own.chain(self.queue.iter().cloned())).collect())
    }

    fn survey_pool(&self, pool: usize) -> PoolSurvey {
        let nodes = self.pools.get(pool).map_or(0, |pool| pool.nodes);
        let down = self.down.iter().filter(|(of, node)| *of == pool && *node < nodes).count();
        let own = || self.own.iter().filter(|(_, own)| own.job.pool == pool);
        let is_shown = |own: &OwnerJob| own.since.is_some() || own.job.shown <= self.now;
        let waits = |own: &OwnerJob| own.since.is_none() && own.job.from <= self.now;
        let local = own().filter(|(_, own)| is_shown(own) && !waits(own)).map(|(name, own)| {
            let from = own.since.unwrap_or(own.job.from);
            let until = from + own.job.length;
            (name.clone(), LocalTask { nodes: own.job.nodes, from, until })
        });
        PoolSurvey {
            up: nodes.saturating_sub(u32::try_from(down).unwrap_or(u32::MAX)),
            local: local.collect(),
            max: None,
            problem: None,
            size: None,
        }
    }
}

fn count(nodes: &BTreeSet<u32>) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}
