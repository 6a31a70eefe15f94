//! One look at the cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::listing::{self, Job, Reservation};
use super::pools::{self, Listed};
use super::tasks::{self, Verdict};
use super::{Slurm, aside};
use crate::site::local::records::now;
use crate::site::managed::spool::{Spool, Trace};
use crate::site::managed::tickets::{Ended, Ending, Ticket, tag_in};
use crate::site::managed::tool::{Call, Who};
use crate::site::{Seen, SiteError, Survey, Tag};

/// What tasks have written, of those whose folders were looked into; `None`: there is none.
type Traces = BTreeMap<Tag, Option<Trace>>;

/// What was done, if it was; if not, the next survey tries again.
fn or_later<T>(done: Result<T, SiteError>) -> Option<T> {
    done.inspect_err(|wrong| tracing::warn!(%wrong, "to be tried again")).ok()
}

impl Slurm {
    pub(super) fn survey_now(&mut self) -> Result<Survey, SiteError> {
        // Nodes first: a job that begins in between then counts, and one that ends counts twice
        // as long as it did not.
        let answer = self.ours(&["scontrol", "-o", "show", "reservation"])?;
        let reservations = listing::reservations(&answer.text())
            .map_err(|wrong| self.misread("scontrol show reservation", &wrong))?;
        let answer = self.ours(&["sinfo", "--json"])?;
        self.nodes =
            listing::nodes(&answer.out).map_err(|wrong| self.misread("sinfo --json", &wrong))?;
        let jobs = self.jobs()?;
        let mut survey = Survey::default();
        self.survey_tasks(&jobs, &mut survey)?;
        self.survey_pools(&jobs, &reservations, &mut survey);
        self.tidy(&reservations);
        Ok(survey)
    }

    fn survey_tasks(&mut self, jobs: &[Job], survey: &mut Survey) -> Result<(), SiteError> {
        let all = tasks::by_comment(jobs);
        let its = |ticket: &Ticket| -> Option<&Job> {
            let own = all.get(ticket.mark().as_str())?;
            own.iter().copied().find(|job| tasks::is_its(job, ticket))
        };
        self.cancel_doubles(&all);
        self.release(&its)?;
        let traces = self.traces(&its);
        let tags: Vec<Tag> = self.tickets.iter().map(|(tag, _)| tag.clone()).collect();
        for tag in tags {
            let Some(ticket) = self.tickets.get(&tag).filter(|ticket| !ticket.is_forgotten) else {
                continue;
            };
            if let Some(ended) = &ticket.ended {
                survey.tasks.insert(tag.clone(), ended.seen());
                survey.began.extend(ended.began.map(|began| (tag, began)));
                continue;
            }
            let job = its(ticket);
            let trace = traces.get(&tag);
            let verdict = tasks::judge(ticket, job, trace.map(Option::as_ref), now());
            let began = trace.and_then(|trace| trace.as_ref()?.began);
            let began = began.filter(|_| ticket.gather.is_some());
            if let Some(seen) = self.carry(&tag, verdict, job, began)? {
                survey.began.extend(began.map(|began| (tag.clone(), began)));
                survey.tasks.insert(tag, seen);
            }
        }
        Ok(())
    }

    /// Does what a verdict asks for, and writes ends down.
    fn carry(
        &mut self,
        tag: &Tag,
        verdict: Verdict,
        job: Option<&Job>,
        began: Option<i64>,
    ) -> Result<Option<Seen>, SiteError> {
        let seen = match verdict {
            Verdict::Seen(seen) => seen,
            Verdict::Nothing => return Ok(None),
            // Its folder could not be looked into: it is as it was.
            Verdict::Look => return Ok(Some(tasks::meanwhile(job))),
            Verdict::Stop(seen) => {
                if let Some((job, ticket)) = job.zip(self.tickets.get(tag)) {
                    or_later(self.cancel(job, ticket));
                }
                seen
            }
            Verdict::Bury(exit) => {
                let Some(ticket) = self.tickets.get(tag) else { return Ok(None) };
                match or_later(self.spool(ticket).claim(tag)) {
                    Some(None) => Seen::Ended { since: None, at: now(), exit },
                    // It has just begun after all, or nobody knows: the next survey looks again.
                    Some(Some(_)) | None => return Ok(Some(Seen::Waiting)),
                }
            }
        };
        if let Seen::Ended { since, at, exit } = &seen {
            if since.is_some()
                && let Err(wrong) = self.stage(tag, &self.cluster.stage_out)
            {
                tracing::warn!(%tag, %wrong, "its files were not taken away");
            }
            let (since, exit) = (since.map(|since| since.0), Ending::from(exit));
            let ended = Ended { since, at: at.0, began, exit };
            self.change(tag, |ticket| ticket.ended = Some(ended))?;
        }
        Ok(Some(seen))
    }

    /// Cancels what was handed in twice, or came when its task was over: it would find its work
    /// begun, but wait for nodes until then.
    fn cancel_doubles(&self, all: &BTreeMap<&str, Vec<&Job>>) {
        for (_, ticket) in self.tickets.iter() {
            let own = all.get(ticket.mark().as_str()).into_iter().flatten();
            let own = own.filter(|job| tasks::is_its(job, ticket));
            let first = usize::from(ticket.ended.is_none());
            for job in own.skip(first).filter(|job| job.waits()) {
                or_later(self.cancel(job, ticket));
            }
        }
    }

    /// Lets jobs go that were handed in on hold and whose time has come.
    fn release<'j>(&mut self, its: &impl Fn(&Ticket) -> Option<&'j Job>) -> Result<(), SiteError> {
        let now = now().0;
        let is_due = |ticket: &Ticket| {
            ticket.is_held && ticket.start <= now && ticket.ended.is_none() && !ticket.is_withdrawn
        };
        let due = self.tickets.iter().filter(|(_, ticket)| is_due(ticket));
        let due: Vec<(Tag, String, u64)> = due
            .filter_map(|(tag, ticket)| {
                let job = its(ticket).filter(|job| job.waits())?;
                Some((tag.clone(), ticket.account.clone(), job.id))
            })
            .collect();
        for (tag, account, id) in due {
            let id = id.to_string();
            let call = Call::by(Who::User(&account), &["scontrol", "release", &id]);
            if or_later(self.tool.must(&call)).is_some() {
                self.change(&tag, |ticket| ticket.is_held = false)?;
            }
        }
        Ok(())
    }

    /// What tasks wrote for whom Slurm's word is not enough: one command for each account.
    fn traces<'j>(&self, its: &impl Fn(&Ticket) -> Option<&'j Job>) -> Traces {
        let mut wanted: BTreeMap<(&str, &str), Vec<Tag>> = BTreeMap::new();
        for (tag, ticket) in self.tickets.iter() {
            let is_open = ticket.ended.is_none() && !ticket.is_forgotten;
            if is_open && tasks::judge(ticket, its(ticket), None, now()) == Verdict::Look {
                let place = (ticket.account.as_str(), ticket.spool.as_str());
                wanted.entry(place).or_default().push(tag.clone());
            }
        }
        let mut all = Traces::new();
        for ((account, path), tags) in wanted {
            let spool = Spool { tool: &self.tool, account, path };
            // One account that cannot be used is no reason to lose sight of the others.
            let Some(mut found) = or_later(spool.look(&tags)) else { continue };
            all.extend(tags.into_iter().map(|tag| {
                let trace = found.remove(&tag);
                (tag, trace)
            }));
        }
        all
    }

    fn survey_pools(&self, jobs: &[Job], reservations: &[Reservation], survey: &mut Survey) {
        let by_comment = tasks::by_comment(jobs);
        let mut ours = BTreeSet::new();
        for (_, ticket) in self.tickets.iter() {
            let own = by_comment.get(ticket.mark().as_str()).into_iter().flatten();
            ours.extend(own.filter(|job| tasks::is_its(job, ticket)).map(|job| job.id));
        }
        let is_known = |tag: &Tag| self.tickets.get(tag).is_some() || self.tickets.is_gone(tag);
        // What another daemon left here with tags of this market must be known to it.
        let here = |job: &&Job| {
            let is_ours = |name| self.members.iter().any(|it| it.partition.as_ref() == Some(name));
            job.partitions.iter().any(is_ours)
        };
        for job in jobs.iter().filter(|job| job.holds_nodes()).filter(here) {
            let Some(tag) = tag_in(&job.comment).filter(|tag| !is_known(tag)) else { continue };
            let seen =
                Seen::Running { since: tradewind_model::Time(job.start), nodes: job.nodes.clone() };
            survey.tasks.entry(tag).or_insert(seen);
        }
        let options = &self.cluster.options;
        let standing = options.iter().find(|(name, _)| name == "reservation");
        let is_foreign = |it: &&Reservation| {
            standing.is_none_or(|(_, name)| *name != it.name) && !self.is_own_reservation(&it.name)
        };
        let foreign: Vec<Reservation> = reservations.iter().filter(is_foreign).cloned().collect();
        let listed =
            Listed { jobs, nodes: &self.nodes, reservations: &foreign, ours: &ours, now: now() };
        for (pool, members) in self.pools.iter().zip(&self.members) {
            survey.pools.push(pools::survey(&listed, members, self.cluster.unit, pool.nodes));
        }
    }

    /// Whether a reservation was made for a task or a promise of ours.
    fn is_own_reservation(&self, name: &str) -> bool {
        let of_a_task = self.tickets.iter().any(|(_, ticket)| ticket.tag == name);
        of_a_task || aside::is_name(name, None, &self.pools)
    }

    /// Clears away what nobody needs any more. What fails is tried again after the next survey.
    fn tidy(&mut self, reservations: &[Reservation]) {
        for name in reservations.iter().map(|it| it.name.as_str()) {
            let Some(tag) = Tag::parse(name) else { continue };
            let ticket = self.tickets.get(&tag);
            let is_over = ticket.map_or(self.tickets.is_gone(&tag), |it| it.ended.is_some());
            if is_over {
                self.give_back(name);
            }
        }
        let mut old: BTreeMap<(String, String), Vec<Tag>> = BTreeMap::new();
        for (tag, ticket) in self.tickets.iter().filter(|(_, ticket)| ticket.is_forgotten) {
            let place = (ticket.account.clone(), ticket.spool.clone());
            old.entry(place).or_default().push(tag.clone());
        }
        for ((account, path), tags) in old {
            let spool = Spool { tool: &self.tool, account: &account, path: &path };
            if let Err(wrong) = spool.clear(&tags) {
                tracing::warn!(%wrong, "what is left of old tasks stays");
                continue;
            }
            for tag in tags {
                if let Err(error) = self.tickets.remove(&tag) {
                    tracing::warn!(%error, "an old ticket stays");
                }
            }
        }
    }
}
