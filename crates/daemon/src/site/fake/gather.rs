//! Tasks that wait on their nodes for others.

use std::collections::BTreeMap;

use tradewind_model::Time;

use super::Ran;
use super::behaviour::{self, Temper};
use super::cluster::{EndedTask, FakeCluster, FakeTask, GRACE};
use crate::site::{Exit, Go, Tag};

impl FakeTask {
    /// When something happens to it by itself.
    pub(super) fn next(&self) -> Time {
        match (&self.running, self.go) {
            (None, _) => self.start,
            (Some(running), Some(go)) if running.began.is_none() => running.end.min(go),
            (Some(running), _) => running.end,
        }
    }

    /// It has its nodes, got its moment to begin, and the moment has come.
    fn is_to_begin(&self, now: Time) -> bool {
        let waits = self.running.as_ref().is_some_and(|running| running.began.is_none());
        waits && self.go.is_some_and(|go| go <= now)
    }
}

impl FakeCluster {
    /// The task may begin at that moment. The first one stands.
    pub(super) fn go(&mut self, tag: &Tag, go: &Go) {
        let Some(task) = self.live.get_mut(tag).filter(|task| task.go.is_none()) else { return };
        let Some(order) = &mut task.order else { return };
        order.variables.extend(go.variables.clone());
        task.behaviour = behaviour::of(order);
        task.go = Some(go.at);
        if let Some(running) = &mut task.running {
            running.end = Time::MAX;
        }
        self.happen();
    }

    /// The work of those begins who may; whether there was one.
    pub(super) fn begin_gathered(&mut self) -> bool {
        let now = self.now;
        let due = self.live.iter().filter(|(_, task)| task.is_to_begin(now));
        let due: Vec<Tag> = due.map(|(tag, _)| tag.clone()).collect();
        for tag in &due {
            let Some(task) = self.live.remove(tag) else { continue };
            match self.begin(tag, task) {
                Some(task) => drop(self.live.insert(tag.clone(), task)),
                None => self.begun_before(tag),
            }
        }
        let (lost, on): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.orphans).into_iter().partition(|(_, it)| it.is_to_begin(now));
        self.orphans = on;
        let has_begun = !due.is_empty() || !lost.is_empty();
        for (tag, task) in lost {
            let task = self.begin(&tag, task);
            self.orphans.extend(task.map(|task| (tag, task)));
        }
        has_begun
    }

    /// The work of a task that has its nodes begins; `None`: it was begun before. The record was
    /// lost then, not the mark that the task leaves where it runs.
    pub(super) fn begin(&mut self, tag: &Tag, mut task: FakeTask) -> Option<FakeTask> {
        let (now, next) = (self.now, self.history.len());
        if !self.begun.insert(tag.clone()) {
            return None;
        }
        let behaviour = &task.behaviour;
        let (end, exit) = match (behaviour.length > task.limit, behaviour.temper) {
            (false, _) => (now + behaviour.length, behaviour.exit.clone()),
            (true, Temper::Meek | Temper::Saving) => (now + task.limit, Exit::TimeLimit),
            (true, Temper::Stubborn) => (now + task.limit + GRACE, Exit::TimeLimit),
        };
        self.says.insert(tag.clone(), behaviour.says.clone());
        let running = task.running.as_mut()?;
        let (tag, pool, nodes) = (tag.clone(), task.pool, running.nodes.clone());
        let told = task.go;
        self.history.push(Ran { tag, pool, nodes, since: now, told, ended: None });
        (running.began, running.end, running.exit) = (Some((now, next)), end, exit);
        Some(task)
    }

    pub(super) fn begun_before(&mut self, tag: &Tag) {
        let exit = Exit::NotStarted("it was begun before".to_owned());
        let ended = EndedTask { since: None, at: self.now, exit };
        self.ended.insert(tag.clone(), ended);
    }

    /// When the work of tasks began, in milliseconds.
    pub(super) fn beginnings(&self) -> BTreeMap<Tag, i64> {
        let live = self.live.iter();
        let live = live.filter_map(|(tag, task)| Some((tag, task.running.as_ref()?.began?.0)));
        let ended = self.ended.iter().filter_map(|(tag, ended)| Some((tag, ended.since?)));
        live.chain(ended).map(|(tag, began)| (tag.clone(), began.0 * 1_000)).collect()
    }
}
