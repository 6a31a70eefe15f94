//! A survey's tasks, and what is still to be done for them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::fate::{self, Fate};
use super::replies::{Job, Status};
use super::{GridEngine, Unit, now, words};
use crate::site::managed::spool::{Here, Spool, Trace};
use crate::site::managed::tickets::{Ended, Ending, Ticket};
use crate::site::{Exit, Held, Seen, SiteError, Tag};

/// Between two looks into the accounting for the same task: a big one takes seconds to read.
const PAUSE: Duration = Duration::from_secs(3);
/// Beyond its grace, what a task may take to stop before the manager kills it.
const STOPPING: Duration = Duration::from_secs(10);

/// A task that the manager does not know any more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    since: Instant,
    /// When the accounting was asked last.
    asked: Option<Instant>,
}

/// What surveys say of tasks, when their work began, and where tasks ran that ended.
pub(super) type Tasks = (BTreeMap<Tag, Seen>, BTreeMap<Tag, i64>, BTreeMap<Tag, Vec<String>>);

impl GridEngine {
    /// The folders of all tasks whose end is not known.
    pub(super) fn traces(&self) -> Result<BTreeMap<Tag, Trace>, SiteError> {
        let mut open: BTreeMap<(&str, &str), Vec<Tag>> = BTreeMap::new();
        for (tag, ticket) in self.tickets.iter().filter(|(_, ticket)| ticket.ended.is_none()) {
            open.entry((&ticket.account, &ticket.spool)).or_default().push(tag.clone());
        }
        let mut all = BTreeMap::new();
        for ((account, path), tags) in open {
            let spool = Spool { tool: &self.settings.tool, account, path };
            all.append(&mut spool.look(&tags)?);
        }
        Ok(all)
    }

    /// What has become of every task; ends are written down before they are told.
    pub(super) fn follow(
        &mut self,
        status: &Status,
        traces: &BTreeMap<Tag, Trace>,
    ) -> Result<Tasks, SiteError> {
        let jobs = by_name(status);
        let known: Vec<(Tag, Ticket)> = self
            .tickets
            .iter()
            .filter(|(_, ticket)| !ticket.is_forgotten)
            .map(|(tag, ticket)| (tag.clone(), ticket.clone()))
            .collect();
        let (mut tasks, mut began, mut placed) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (tag, ticket) in known {
            let key = (words::job_name(&tag), ticket.account.clone());
            let (trace, job) = (traces.get(&tag), jobs.get(&key));
            if let Some(ended) = &ticket.ended {
                began.extend(ended.began.map(|ms| (tag.clone(), ms)));
                placed.insert(tag.clone(), ended.nodes.clone());
                tasks.insert(tag, ended.seen());
                continue;
            }
            began.extend(trace.and_then(|trace| Some((tag.clone(), trace.began?))));
            if job.is_some() {
                self.missing.remove(&tag);
                self.change(&tag, |ticket| ticket.is_taken = true)?;
            }
            if let Some(seen) = self.see(&tag, &ticket, trace, job.copied())? {
                let ended = self.tickets.get(&tag).and_then(|ticket| ticket.ended.as_ref());
                placed.extend(ended.map(|ended| (tag.clone(), ended.nodes.clone())));
                tasks.insert(tag, seen);
            }
        }
        Ok((tasks, began, placed))
    }

    fn see(
        &mut self,
        tag: &Tag,
        ticket: &Ticket,
        trace: Option<&Trace>,
        job: Option<&Job>,
    ) -> Result<Option<Seen>, SiteError> {
        match Fate::of(ticket, trace, job) {
            Fate::Unheard => Ok(None),
            Fate::Waiting => Ok(Some(Seen::Waiting)),
            // It has its nodes, and waits there for its start.
            Fate::Running { .. } if ticket.start_at(now()) > now().0 => Ok(Some(Seen::Waiting)),
            Fate::Running { since } => {
                let here = trace.and_then(|trace| trace.here.as_ref());
                let nodes = here.map(|here| self.nodes(ticket, here)).unwrap_or_default();
                Ok(Some(Seen::Running { since, nodes }))
            }
            Fate::Ended(mut ended) => {
                let here = trace.and_then(|trace| trace.here.as_ref());
                ended.nodes = here.map(|here| self.nodes(ticket, here)).unwrap_or_default();
                self.end(tag, ended).map(Some)
            }
            Fate::Broken => {
                let id = job.map_or("", |job| job.id.as_str());
                let reasons = self.cluster().details(std::iter::once(id))?.reason;
                let why = reasons.get(id).map_or("Grid Engine does not say why", String::as_str);
                let exit = Exit::NotStarted(why.to_owned());
                self.end(tag, Ended::before_it_began(now(), &exit)).map(Some)
            }
            Fate::Missing => self.miss(tag, ticket, trace).map(Some),
        }
    }

    /// Names of a task's nodes: its hosts, or units of them.
    fn nodes(&self, ticket: &Ticket, here: &Here) -> Vec<String> {
        let mut ranks: BTreeMap<String, u32> = BTreeMap::new();
        let pool = self.settings.pools.iter().find(|pool| pool.setup.name == ticket.pool);
        let is_shared = pool.is_none_or(|pool| matches!(pool.unit, Unit::Slots(_)));
        let mut name = |host: &'_ String| match is_shared {
            true => {
                let rank = ranks.entry(host.clone()).or_default();
                *rank += 1;
                format!("{host}/{}.{rank}", here.id)
            }
            false => host.clone(),
        };
        here.nodes.iter().map(&mut name).collect()
    }

    /// The manager does not know it, and it has not said how it ended.
    fn miss(
        &mut self,
        tag: &Tag,
        ticket: &Ticket,
        trace: Option<&Trace>,
    ) -> Result<Seen, SiteError> {
        let fresh = Missing { since: Instant::now(), asked: None };
        let mut missing = *self.missing.entry(tag.clone()).or_insert(fresh);
        let mut account = None;
        if missing.asked.is_none_or(|asked| asked.elapsed() >= PAUSE) && !ticket.is_withdrawn {
            missing.asked = Some(Instant::now());
            self.missing.insert(tag.clone(), missing);
            account = self.cluster().account(&ticket.account, &words::job_name(tag))?;
        }
        let is_over = ticket.is_withdrawn
            || account.is_some()
            || missing.since.elapsed() >= self.settings.patience;
        if !is_over {
            return Ok(match trace.and_then(|trace| trace.here.as_ref()) {
                Some(here) => Seen::Running {
                    since: crate::site::managed::spool::seconds(here.at),
                    nodes: self.nodes(ticket, here),
                },
                None => Seen::Waiting,
            });
        }
        // From now on it cannot begin; if it lives on after all, it stops.
        let found = self.spool(ticket).claim(tag)?;
        let is_ours = found.is_none();
        if let Some(trace) = found {
            if let Fate::Ended(ended) = Fate::of(ticket, Some(&trace), None) {
                return self.end(tag, ended);
            }
            self.spool(ticket).stop(tag)?;
        }
        let mut ended = fate::end_of_missing(ticket, trace, account, now());
        // Its folder is of an earlier recall. One that was deleted while it waited leaves no record,
        // and looks like one that was lost.
        if is_ours && ticket.is_recalled {
            ended.exit = Ending::Withdrawn;
        }
        self.end(tag, ended)
    }

    fn end(&mut self, tag: &Tag, ended: Ended) -> Result<Seen, SiteError> {
        let seen = ended.seen();
        if ended.since.is_some()
            && let Err(wrong) = self.stage(tag, &self.settings.stage_out)
        {
            tracing::warn!(%tag, %wrong, "its files were not taken away");
        }
        self.change(tag, |ticket| ticket.ended = Some(ended))?;
        self.missing.remove(tag);
        Ok(seen)
    }

    /// Tasks that wait since somebody holds their jobs: we never do.
    pub(super) fn held(&self, status: &Status, tasks: &BTreeMap<Tag, Seen>) -> BTreeMap<Tag, Held> {
        let jobs = by_name(status);
        let max = self.settings.held_after;
        let waiting = tasks.iter().filter(|(_, seen)| **seen == Seen::Waiting);
        let held = waiting.filter_map(|(tag, _)| {
            let account = self.tickets.get(tag)?.account.clone();
            let job = jobs.get(&(words::job_name(tag), account))?;
            let is_held = !job.is_placed() && job.state.contains('h');
            is_held.then(|| (tag.clone(), Held { why: job.state.clone(), max }))
        });
        held.collect()
    }

    /// What could not be done at its time: jobs that wait though their tasks are over, tasks that do
    /// not stop, folders of forgotten ones. If it fails now, the next survey tries again.
    pub(super) fn tidy(&mut self, status: &Status) {
        let mut doomed = Vec::new();
        let mut stopping = BTreeMap::new();
        let jobs = by_name(status);
        for (tag, ticket) in self.tickets.iter() {
            let is_over = ticket.is_withdrawn || ticket.ended.is_some();
            let key = (words::job_name(tag), ticket.account.clone());
            let job = jobs.get(&key).filter(|job| is_over && !job.state.contains('d'));
            let Some(job) = job else { continue };
            let since = self.stopping.get(tag).copied().unwrap_or_else(Instant::now);
            stopping.insert(tag.clone(), since);
            if !job.is_placed() || since.elapsed() >= self.settings.grace + STOPPING {
                doomed.push(key);
            }
        }
        self.stopping = stopping;
        for (name, account) in doomed {
            if let Err(error) = self.cluster().delete(&account, &name) {
                tracing::warn!(%error, "a job that is over is still there");
            }
        }
        let forgotten: Vec<Tag> = self
            .tickets
            .iter()
            .filter(|(_, ticket)| ticket.is_forgotten)
            .map(|(tag, _)| tag.clone())
            .collect();
        for tag in forgotten {
            if let Err(error) = self.clear(&tag) {
                tracing::debug!(%error, "what is left of a task stays for now");
            }
        }
    }
}

/// Jobs by name and account: anybody may call a job as ours are called.
fn by_name(status: &Status) -> BTreeMap<(String, String), &Job> {
    status.jobs.iter().map(|job| ((job.name.clone(), job.owner.clone()), job)).collect()
}
