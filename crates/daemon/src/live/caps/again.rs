//! When jobs that met a limit are tried again.

use std::collections::BTreeSet;

use tradewind_io::submission::Submission;
use tradewind_model::Time;

use super::super::state::{Job, JobHold, Phase};
use super::super::{ApplyError, Live};
use super::{FIRST_WAIT, Fit, is_limit};
use crate::live::record::JobRecord;
use crate::site::limits::Charged;

/// Jobs that join the queue again in one step, at most.
const AT_ONCE: usize = 64;

impl Live {
    /// Jobs that waited for a limit join the queue if they may be tried again.
    pub(in crate::live) fn mind_caps(&mut self, at: Time) -> Result<(), ApplyError> {
        if self.caps.held.is_empty() && self.caps.narrowed.is_empty() {
            return Ok(());
        }
        self.caps.looked = Some(at);
        self.raise(at);
        let jobs = &self.state.jobs;
        let phase = |number: &u64| jobs.get(number).map(|job| job.phase());
        let is_held =
            |number: &u64| matches!(phase(number), Some(Phase::Held(hold)) if is_limit(hold));
        self.caps.held.retain(is_held);
        self.caps.narrowed.retain(|number| matches!(phase(number), Some(Phase::Waiting)));
        // Who was tried least often comes first: one that never fits must not be in the way.
        let mut held: Vec<(u32, u64)> =
            self.caps.held.iter().map(|number| (jobs[number].attempt, *number)).collect();
        held.sort_unstable();
        let narrowed: Vec<u64> = self.caps.narrowed.iter().copied().collect();
        let (mut in_vain, mut tried) = (BTreeSet::new(), 0);
        for number in held.into_iter().map(|(_, number)| number).chain(narrowed) {
            let Some(job) = self.state.jobs.get(&number).filter(|_| tried < AT_ONCE) else {
                continue;
            };
            let terms = &job.submission.terms;
            let charged = Charged::of(&[], &job.submission.passed_through);
            // Of a budget, one job may need what is left and another may not.
            let needs = (!self.state.budgets().0.is_empty()).then(|| {
                let Submission { project, tasks, time, .. } = &*job.submission;
                (project.clone(), *tasks, format!("{time:?}"))
            });
            let key = (job.user.clone(), charged, terms.sites.clone(), terms.pools.clone(), needs);
            if in_vain.contains(&key) {
                continue;
            }
            if !self.may_try(job) {
                in_vain.insert(key);
                continue;
            }
            tried += 1;
            if job.phase() == Phase::Waiting {
                let hold = JobHold::Capped("it is looked at again where it may run".to_owned());
                self.put(at, JobRecord::Left { job: number, hold })?;
            }
            self.enqueue(at, number)?;
        }
        Ok(())
    }

    /// The present: time passes without records, too.
    pub(in crate::live) fn present(&self) -> Time {
        self.caps.looked.map_or(self.state.now(), |at| at.max(self.state.now()))
    }

    /// Whether pools are open to the job that were not.
    fn may_try(&self, job: &Job) -> bool {
        let asked = job.id().and_then(|id| self.state.market.demand(id));
        let Some(asked) = asked.filter(|_| job.phase() == Phase::Waiting) else {
            return !matches!(self.fit(job), Fit::Later(_));
        };
        let full = self.full_for(&job.user, &job.submission);
        let Ok(wanted) = self.demand_of(&job.user, &job.submission) else { return false };
        let hungry = self.too_hungry(job, &wanted);
        let mut pools = self.state.market.pools().iter();
        pools.any(|(id, pool)| {
            let is_barred = self.caps.barred.contains_key(&(job.number, id));
            let is_full = full.contains_key(&pool.site) || hungry.contains_key(&id);
            let is_open = !is_barred && !is_full;
            is_open && pool.suits(&wanted) && !pool.suits(asked)
        })
    }

    /// One more job than fitted may be tried, where that was long ago.
    fn raise(&mut self, at: Time) {
        let counts = self.counts().clone();
        for ((site, whose), met) in &mut self.caps.met {
            let ours = counts.get(&(*site, whose.clone())).copied().unwrap_or(0);
            let others = self.caps.told.get(site).map_or(0, |told| {
                told.foreign(&whose.account).saturating_add(told.lingering(&whose.account))
            });
            let there = ours.saturating_add(others);
            if met.until > at || there < met.max {
                continue;
            }
            // None of those that were tried last has met it again.
            let step = if met.is_raised { there / 4 + 1 } else { 1 };
            met.wait = if met.is_raised { FIRST_WAIT } else { met.wait };
            met.max = there.saturating_add(step);
            (met.until, met.is_raised) = (at + met.wait, true);
        }
    }
}
