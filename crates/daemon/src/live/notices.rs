//! Preemptible jobs give their nodes back to the owners of their site: after a notice, and only where
//! that helps an owner's job that waits, or where the owner asks for nodes.
//!
//! A notice is a record. The job's tasks get a signal, and what still runs at its end is stopped; a job that
//! ends by itself with exit code 0 until then is done. The others wait in the queue again.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Cause, Outage, PoolId, Preemption, Running, Share, SiteId, Span, Time};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::owners::{self, giving_way};

use super::{ApplyError, Live};
use crate::live::answer::{Refusal, RefusalKind, Reply, StepResult};
use crate::live::input::Reclaim;
use crate::live::record::{JobRecord, OutageRecord};
use crate::live::rights::Actor;
use crate::live::state::{Job, State, TaskGoal, Why};

/// Why a job gets notice whose nodes an owner's waiting job needs.
const WAITED_FOR: &str = "a waiting job of the site's owners needs its nodes";

/// What a reclaim comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReclaimPlan {
    /// The jobs that are given notice, those that started last first.
    pub jobs: Vec<u64>,
    /// When the owner has the nodes.
    pub from: Time,
    pool: PoolId,
}

/// A preemptible job that could be given notice.
#[derive(Debug, Clone, Copy)]
struct Tenant {
    job: u64,
    share: Share,
    since: Time,
    until: Time,
}

impl Live {
    /// After a survey: as many preemptible jobs are given notice as have to go so that owners' jobs
    /// start which would start if all of them went. Nodes of jobs that have their notice already
    /// count as free.
    pub(in crate::live) fn give_way(
        &mut self,
        at: Time,
        site: SiteId,
        ahead: owners::Survey,
        rule: owners::SiteRule,
    ) -> Result<(), ApplyError> {
        let Some(terms) = self.preemption_at(site) else { return Ok(()) };
        if ahead.waiting.is_empty() {
            return Ok(());
        }
        let tenants = self.state.candidates_at(site);
        let mut ahead = ahead;
        let first = ahead.taken.len();
        ahead.taken.extend(tenants.iter().map(|it| Taken {
            share: it.share,
            from: it.since,
            until: it.until.max(at + Span(1)),
            memory: 0,
        }));
        let candidates: Vec<usize> = (first..ahead.taken.len()).collect();
        for index in giving_way(&ahead, rule, &candidates) {
            let job = tenants[index - first].job;
            self.notify(at, job, at + terms.notice, WAITED_FOR)?;
        }
        Ok(())
    }

    /// How nodes of preemptible jobs are taken back at the site, if they are.
    pub(in crate::live) fn preemption_at(&self, site: SiteId) -> Option<Preemption> {
        let site = self.state.market.pools().sites().get(site.0 as usize)?;
        self.settings.preemption.get(&site.name).copied()
    }

    fn notify(&mut self, at: Time, job: u64, ends: Time, why: &str) -> Result<(), ApplyError> {
        self.index.notices.insert((ends, job));
        self.put(at, JobRecord::NoticeGiven { job, ends, why: why.to_owned() })
    }

    /// What still runs at the end of its notice is stopped; nodes that were reclaimed for long enough
    /// are the market's again.
    pub(in crate::live) fn end_notices(&mut self, at: Time) -> Result<(), ApplyError> {
        while let Some(&(ends, number)) = self.index.notices.first()
            && ends <= at
        {
            self.index.notices.pop_first();
            let job = self.state.jobs.get(&number);
            let notice = job.and_then(|job| job.run()?.notice.as_ref());
            if notice.is_some_and(|it| it.ends <= at) && self.runs_on(number) {
                self.put(at, JobRecord::Stopping { job: number })?;
            }
        }
        let is_over = |why: &&Why| {
            let what = self.state.outage_of(why);
            matches!(why, Why::Reclaimed(..)) && what.is_none_or(|what| what.until <= at)
        };
        let over: Vec<Why> = self.state.outages.open.keys().filter(is_over).cloned().collect();
        over.into_iter().try_for_each(|why| self.put(at, OutageRecord::Reopened { why }))
    }

    /// Owners' jobs that have begun on nodes that were reclaimed for them: so many fewer are left to
    /// the owner.
    pub(in crate::live) fn use_reclaimed(
        &mut self,
        at: Time,
        seen: &BTreeMap<Why, Outage>,
    ) -> Result<(), ApplyError> {
        for (why, job) in seen {
            let is_new =
                matches!(why, Why::Local(..)) && !self.state.outages.open.contains_key(why);
            let mut begun = if is_new { job.nodes } else { 0 };
            let open = self.state.outages.open.keys().filter(|it| it.pool() == why.pool());
            let open: Vec<Why> =
                open.filter(|it| matches!(it, Why::Reclaimed(..))).cloned().collect();
            for why in open {
                let Some(what) = self.state.outage_of(&why).filter(|it| it.from <= job.from) else {
                    continue;
                };
                let taken = begun.min(what.nodes);
                if taken == 0 {
                    continue;
                }
                begun -= taken;
                self.put(at, OutageRecord::Reopened { why: why.clone() })?;
                if taken < what.nodes {
                    let what = Outage { nodes: what.nodes - taken, ..what };
                    self.put(at, OutageRecord::Announced { what, why })?;
                }
            }
        }
        Ok(())
    }

    /// Takes nodes back for the owner who asks for them.
    pub(in crate::live) fn reclaim(
        &mut self,
        at: Time,
        actor: &Actor,
        wanted: &Reclaim,
    ) -> StepResult {
        let plan = match self.reclaim_plan(at, actor, wanted) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let why = format!("{} takes {} nodes back", actor.user, wanted.nodes);
        for job in &plan.jobs {
            self.notify(at, *job, plan.from, &why)?;
        }
        let (pool, nodes, from) = (plan.pool, wanted.nodes, plan.from);
        let (until, cause) = (from + wanted.length, Cause::Withheld);
        let mut name = at;
        while self.state.outages.open.contains_key(&Why::Reclaimed(pool, name)) {
            name = name + Span(1);
        }
        let (what, why) = (Outage { pool, nodes, from, until, cause }, Why::Reclaimed(pool, name));
        self.put(at, OutageRecord::Announced { what, why })?;
        self.close_due(at)?;
        Ok(Ok(Reply::Reclaimed { jobs: plan.jobs, from }))
    }

    /// Which jobs would be given notice for a reclaim at `at`, and when the owner would have the nodes.
    /// Free nodes are taken first, then those of the jobs that started last.
    ///
    /// # Errors
    /// Why it cannot be done, with what to do instead.
    pub fn reclaim_plan(
        &self,
        at: Time,
        actor: &Actor,
        wanted: &Reclaim,
    ) -> Result<ReclaimPlan, Refusal> {
        let pool = self.reclaimed_pool(actor, wanted)?;
        let notice = self.reclaim_notice(pool, wanted)?;
        let free = self.state.unclaimed_in(pool, at + notice);
        let mut short = wanted.nodes.saturating_sub(free);
        let mut gone: Vec<Tenant> = Vec::new();
        let tenants = self.state.tenants_of(|it| it == pool);
        let most = tenants.iter().fold(free, |sum, it| sum.saturating_add(it.share.nodes));
        for tenant in tenants {
            if short == 0 {
                break;
            }
            short = short.saturating_sub(tenant.share.nodes);
            gone.push(tenant);
        }
        if short > 0 {
            let message = format!(
                "{most} of {} nodes can be taken back now: {free} free ones, and those of preemptible \
                 jobs",
                wanted.nodes
            );
            let hint = "ask for no more; other jobs end at their limits";
            return Err(Refusal::new(RefusalKind::Conflict, message, hint));
        }
        let mut extra = gone.iter().map(|it| it.share.nodes).sum::<u32>() + free.min(wanted.nodes)
            - wanted.nodes;
        // Of wide jobs the last one may be enough: those before it that started later stay.
        let mut jobs = Vec::new();
        for tenant in gone.into_iter().rev() {
            match tenant.share.nodes <= extra {
                true => extra -= tenant.share.nodes,
                false => jobs.insert(0, tenant.job),
            }
        }
        let from = if jobs.is_empty() { at } else { at + notice };
        Ok(ReclaimPlan { jobs, from, pool })
    }

    /// The pool of which nodes are wanted, if this may be asked.
    fn reclaimed_pool(&self, actor: &Actor, wanted: &Reclaim) -> Result<PoolId, Refusal> {
        let refused = |kind, message: String, hint: &str| Err(Refusal::new(kind, message, hint));
        let pools = self.state.market.pools();
        let Some(site) = pools.sites().iter().position(|it| it.name == wanted.site) else {
            let message = format!("there is no site `{}`", wanted.site);
            return refused(RefusalKind::Unknown, message, "see `sites`");
        };
        if !actor.may_manage(&self.state.owners()[site]) {
            let message = "only its owner takes a site's nodes back".to_owned();
            return refused(RefusalKind::Forbidden, message, "");
        }
        let mut here = pools.iter().filter(|(_, it)| it.site.0 as usize == site);
        let found = match &wanted.pool {
            Some(name) => here.find(|(id, _)| self.state.own_name(*id) == name),
            None => here.next().filter(|_| here.next().is_none()),
        };
        let Some((pool, it)) = found else {
            let message = match &wanted.pool {
                Some(name) => format!("there is no pool `{}/{name}`", wanted.site),
                None => format!("site `{}` has several pools", wanted.site),
            };
            return refused(RefusalKind::Invalid, message, "name one of its pools, see `sites`");
        };
        match (1..=it.nodes).contains(&wanted.nodes) {
            true => Ok(pool),
            false => {
                let message = format!("{} of {} nodes cannot be taken", wanted.nodes, it.nodes);
                refused(RefusalKind::Invalid, message, "ask for at least one, and no more than all")
            }
        }
    }

    /// How long the notice is.
    fn reclaim_notice(&self, pool: PoolId, wanted: &Reclaim) -> Result<Span, Refusal> {
        let Some(terms) = self.preemption_at(self.state.site_of(pool)) else {
            let message = format!("no job at site `{}` gives its nodes back", wanted.site);
            let hint = "give the site `preemption = { notice = \"2m\" }` in the configuration";
            return Err(Refusal::new(RefusalKind::Conflict, message, hint));
        };
        let refused = |message: String| {
            Err(Refusal::new(RefusalKind::Invalid, message, "see `tradewind reclaim --help`"))
        };
        if !(Span(1)..=Reclaim::LONGEST).contains(&wanted.length) {
            return refused(
                "nodes are taken for at least a second, and 30 days at most".to_owned(),
            );
        }
        match wanted.notice.unwrap_or(terms.notice) {
            it if it < terms.notice => {
                refused(format!("the site promises {} of notice, and no less", terms.notice))
            }
            it if it > Reclaim::LONGEST_NOTICE => refused("the notice is a day at most".to_owned()),
            it => Ok(it),
        }
    }
}

impl Reclaim {
    /// Nodes are left to the owner for so long at most: 30 days.
    const LONGEST: Span = Span(30 * 86_400);
    /// For so long, if the owner does not say: an hour.
    pub const USUAL: Span = Span(3_600);
    const LONGEST_NOTICE: Span = Span(86_400);
}

impl State {
    /// Preemptible jobs that run in such pools and have no notice yet, those that started last first.
    /// Windows of accepted offers stay, and so do jobs with parts in several pools.
    fn tenants_of(&self, is_here: impl Fn(PoolId) -> bool) -> Vec<Tenant> {
        let jobs = self.running_jobs().filter_map(|(job, _)| {
            let [part] = job.parts() else { return None };
            let task = self.tasks.get(&job.tag(&self.name, 0))?;
            let since = part.since.filter(|_| part.exit.is_none() && is_here(part.pool))?;
            let may = job.is_preemptible() && !job.in_window() && job.run()?.notice.is_none();
            let share = Share { pool: part.pool, nodes: part.nodes };
            let until = since + part.limit;
            (may && task.wanted == TaskGoal::Run).then_some(Tenant {
                job: job.number,
                share,
                since,
                until,
            })
        });
        let mut all: Vec<Tenant> = jobs.collect();
        all.sort_unstable_by_key(|it| std::cmp::Reverse((it.since, it.job)));
        all
    }

    /// Those of the site that are considered at once.
    fn candidates_at(&self, site: SiteId) -> Vec<Tenant> {
        let mut all = self.tenants_of(|pool| self.site_of(pool) == site);
        all.truncate(owners::MAX_CANDIDATES);
        all
    }

    /// The same, and jobs there that have their notice.
    pub(in crate::live) fn leaving_at(&self, site: SiteId) -> BTreeSet<u64> {
        let told = self.running_jobs().filter(|(job, _)| {
            let is_here = job.parts().iter().any(|part| self.site_of(part.pool) == site);
            is_here && job.run().is_some_and(|run| run.notice.is_some())
        });
        let candidates = self.candidates_at(site).into_iter().map(|it| it.job);
        told.map(|(job, _)| job.number).chain(candidates).collect()
    }

    fn running_jobs(&self) -> impl Iterator<Item = (&Job, Running<'_>)> {
        self.market.running().filter_map(|running| {
            Some((self.jobs.get(self.jobs.numbers.get(&running.job)?)?, running))
        })
    }

    /// Nodes of the pool that are free at `from` and that nothing announced will take by then; those
    /// of jobs that have their notice are announced for others.
    fn unclaimed_in(&self, pool: PoolId, from: Time) -> u32 {
        let leaving = self.running_jobs().filter_map(|(job, running)| {
            job.run()?.notice.as_ref().map(|_| running.nodes_in(pool))
        });
        let coming: u32 = leaving.sum();
        let claimed = self.outages.open.values().filter_map(|id| {
            let (what, has_begun) = self.market.closure_state(*id)?;
            (!has_begun && what.pool == pool && what.from <= from).then_some(what.nodes)
        });
        let claimed = claimed.fold(0_u32, u32::saturating_add);
        (self.market.free_in(pool) + coming).saturating_sub(claimed)
    }
}
