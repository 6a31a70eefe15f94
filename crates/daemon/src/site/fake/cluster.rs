//! The cluster behind the fake site: nodes, tasks, the owner's jobs, and a clock that is told.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Span, Time};

use super::behaviour::{self, Behaviour, Temper};
use super::{LocalJob, Ran};
use crate::site::{Exit, LocalTask, Order, PoolSetup, PoolSurvey, Seen, Survey, Tag};

/// From a friendly signal to the other.
const GRACE: Span = Span(5);

/// A task that is not over.
#[derive(Debug, Clone)]
struct Task {
    pool: usize,
    nodes: u32,
    start: Time,
    limit: Span,
    number: u64,
    behaviour: Behaviour,
    running: Option<Running>,
}

#[derive(Debug, Clone)]
struct Running {
    since: Time,
    nodes: BTreeSet<u32>,
    /// When and how it will end if nothing else happens.
    end: Time,
    exit: Exit,
    /// Index in the history.
    ran: usize,
}

/// An ended task, as surveys have it.
#[derive(Debug, Clone)]
struct Ended {
    since: Option<Time>,
    at: Time,
    exit: Exit,
}

/// A job of the owner's; `since`: it runs.
#[derive(Debug, Clone)]
struct Own {
    job: LocalJob,
    since: Option<Time>,
}

#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) pools: Vec<PoolSetup>,
    pub(super) now: Time,
    down: BTreeSet<(usize, u32)>,
    live: BTreeMap<Tag, Task>,
    /// Those whose record was lost while they ran.
    orphans: Vec<Running>,
    ended: BTreeMap<Tag, Ended>,
    says: BTreeMap<Tag, Vec<u8>>,
    /// Tags that never run again though nothing is known of them.
    gone: BTreeSet<Tag>,
    own: BTreeMap<String, Own>,
    next: u64,
    /// Tags in the history.
    begun: BTreeSet<Tag>,
    pub(super) history: Vec<Ran>,
}

impl Cluster {
    pub(super) fn new(pools: Vec<PoolSetup>, now: Time) -> Cluster {
        Cluster {
            pools,
            now,
            down: BTreeSet::new(),
            live: BTreeMap::new(),
            orphans: Vec::new(),
            ended: BTreeMap::new(),
            says: BTreeMap::new(),
            gone: BTreeSet::new(),
            own: BTreeMap::new(),
            next: 0,
            begun: BTreeSet::new(),
            history: Vec::new(),
        }
    }

    /// The next moment at which something happens by itself.
    fn next_event(&self) -> Option<Time> {
        let tasks = self.live.values().map(|task| match &task.running {
            Some(running) => running.end,
            None => task.start,
        });
        let own = self.own.values().map(|own| match own.since {
            Some(since) => since + own.job.length,
            None => own.job.from,
        });
        let orphans = self.orphans.iter().map(|running| running.end);
        tasks.chain(own).chain(orphans).filter(|at| *at > self.now).min()
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
            self.start_own();
            if !self.start_ours() {
                return;
            }
        }
    }

    fn end_what_is_due(&mut self) {
        let now = self.now;
        let due = |task: &Task| task.running.as_ref().is_some_and(|running| running.end <= now);
        let tags: Vec<Tag> =
            self.live.iter().filter(|(_, task)| due(task)).map(|(tag, _)| tag.clone()).collect();
        for tag in tags {
            self.end(&tag);
        }
        let (over, on): (Vec<Running>, Vec<Running>) =
            std::mem::take(&mut self.orphans).into_iter().partition(|running| running.end <= now);
        self.orphans = on;
        for running in over {
            self.note_end(&running);
        }
        self.own.retain(|_, own| own.since.is_none_or(|since| since + own.job.length > now));
    }

    /// The task ends as it was to.
    fn end(&mut self, tag: &Tag) {
        let Some(Task { running: Some(running), .. }) = self.live.remove(tag) else { return };
        self.note_end(&running);
        let Running { since, end, exit, .. } = running;
        self.ended.insert(tag.clone(), Ended { since: Some(since), at: end, exit });
    }

    fn note_end(&mut self, running: &Running) {
        if let Some(ran) = self.history.get_mut(running.ran) {
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
        let waiting = |own: &Own| own.since.is_none() && own.job.from <= self.now;
        let names: Vec<String> =
            self.own.iter().filter(|(_, own)| waiting(own)).map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some((pool, nodes)) = self.own.get(&name).map(|own| (own.job.pool, own.job.nodes))
            else {
                continue;
            };
            let free = count(&self.free_of_ours(pool)).saturating_sub(self.held_by_owner(pool));
            if let Some(own) = self.own.get_mut(&name).filter(|_| nodes <= free) {
                own.since = Some(self.now);
            }
        }
    }

    /// By start, then by submission, and nobody overtakes. Whether any started.
    fn start_ours(&mut self) -> bool {
        let due = |task: &Task| task.running.is_none() && task.start <= self.now;
        let mut waiting: Vec<(Time, u64, Tag)> = self
            .live
            .iter()
            .filter(|(_, task)| due(task))
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
            let room = count(&free).saturating_sub(self.held_by_owner(pool));
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

    fn start(&mut self, tag: &Tag, nodes: BTreeSet<u32>) {
        let now = self.now;
        if !self.begun.insert(tag.clone()) {
            // The record was lost, not the mark that the task leaves where it runs.
            self.live.remove(tag);
            let exit = Exit::NotStarted("it was begun before".to_owned());
            self.ended.insert(tag.clone(), Ended { since: None, at: now, exit });
            return;
        }
        let Some(task) = self.live.get_mut(tag) else { return };
        let behaviour = &task.behaviour;
        let (end, exit) = match (behaviour.length > task.limit, behaviour.temper) {
            (false, _) => (now + behaviour.length, behaviour.exit.clone()),
            (true, Temper::Meek) => (now + task.limit, Exit::TimeLimit),
            (true, Temper::Stubborn) => (now + task.limit + GRACE, Exit::TimeLimit),
        };
        self.says.insert(tag.clone(), behaviour.says.clone());
        let (pool, ran) = (task.pool, self.history.len());
        self.history.push(Ran {
            tag: tag.clone(),
            pool,
            nodes: nodes.clone(),
            since: now,
            ended: None,
        });
        task.running = Some(Running { since: now, nodes, end, exit, ran });
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
        let most = self.pools.get(pool).map_or(0, |pool| pool.nodes);
        if order.nodes == 0 || order.nodes > most {
            return Err(format!("{} nodes: the pool has {most}", order.nodes));
        }
        let task = Task {
            pool,
            nodes: order.nodes,
            start: order.start,
            limit: order.limit,
            number: self.next,
            behaviour: behaviour::of(order),
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
                let ended = Ended { since: None, at: now, exit: Exit::Withdrawn };
                self.ended.insert(tag.clone(), ended);
            }
            Some(running) if running.exit == Exit::Withdrawn => {}
            Some(running) => {
                let wanted = match task.behaviour.temper {
                    Temper::Meek => now,
                    Temper::Stubborn => now + GRACE,
                };
                if wanted < running.end {
                    running.end = wanted;
                    running.exit = Exit::Withdrawn;
                }
            }
        }
        self.happen();
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
        self.own.insert(name.to_owned(), Own { job, since: None });
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
            let running = self.live.remove(&tag).and_then(|task| task.running);
            self.orphans.extend(running);
            self.says.remove(&tag);
        }
        self.happen();
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
            let Ended { since, at, exit } = ended.clone();
            (tag.clone(), Seen::Ended { since, at, exit })
        });
        Survey { pools, tasks: live.chain(ended).collect(), ..Survey::default() }
    }

    fn survey_pool(&self, pool: usize) -> PoolSurvey {
        let nodes = self.pools.get(pool).map_or(0, |pool| pool.nodes);
        let down = self.down.iter().filter(|(of, node)| *of == pool && *node < nodes).count();
        let own = || self.own.iter().filter(|(_, own)| own.job.pool == pool);
        let is_shown = |own: &Own| own.since.is_some() || own.job.shown <= self.now;
        let waits = |own: &Own| own.since.is_none() && own.job.from <= self.now;
        let local = own().filter(|(_, own)| is_shown(own) && !waits(own)).map(|(name, own)| {
            let from = own.since.unwrap_or(own.job.from);
            let until = from + own.job.length;
            (name.clone(), LocalTask { nodes: own.job.nodes, from, until })
        });
        PoolSurvey {
            up: nodes.saturating_sub(u32::try_from(down).unwrap_or(u32::MAX)),
            local: local.collect(),
            local_waiting: u32::try_from(own().filter(|(_, own)| waits(own)).count())
                .unwrap_or(u32::MAX),
        }
    }
}

fn count(nodes: &BTreeSet<u32>) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}
