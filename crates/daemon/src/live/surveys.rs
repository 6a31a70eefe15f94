//! What sites say, and what follows.

use std::collections::BTreeSet;

use tradewind_model::{PoolId, Pools, SiteId, Span, Time};

use super::input::Act;
use super::state::{Job, JobHold, Phase, TaskGoal, TaskReport};
use super::width::PoolWidth;
use super::{ApplyError, Live};
use crate::live::record::{JobRecord, TaskRecord};
use crate::site::{Exit, LocalTask, Seen, SiteError, Survey, Tag};

impl Live {
    /// A site has answered to something that it was told.
    pub(super) fn answered(
        &mut self,
        at: Time,
        tag: &Tag,
        act: Act,
        answer: Result<(), SiteError>,
    ) -> Result<(), ApplyError> {
        let Some(task) = self.state.tasks.get(tag) else { return Ok(()) };
        match (act, answer, &task.known) {
            (Act::Submit, Ok(()), TaskReport::Nothing | TaskReport::Declined(_)) => {
                self.note_acceptance(at, tag)?;
                self.put(at, TaskRecord::Acknowledged { tag: tag.clone() })
            }
            (Act::Submit, Err(SiteError::Refused(why)), TaskReport::Nothing) => {
                self.note_refusal(tag, &why);
                self.declined(at, tag, why)
            }
            // The site takes jobs again when others have ended, or takes other jobs.
            (Act::Submit, Err(SiteError::Capped(why)), TaskReport::Nothing) => {
                self.declined(at, tag, why)
            }
            (Act::Go, Ok(()), _) if task.go.is_some() => {
                self.put(at, TaskRecord::Went { tag: tag.clone() })
            }
            // One that cannot be told is stopped at the end all the same.
            (Act::Notify, Ok(()) | Err(SiteError::Refused(_)), _) if task.notice.is_some() => {
                self.put(at, TaskRecord::Notified { tag: tag.clone() })
            }
            // It will never begin there.
            (Act::Go, Err(SiteError::Refused(_)), _) => self.stop_rest(at, tag),
            (Act::Withdraw, Ok(()), TaskReport::Nothing | TaskReport::Declined(_)) => {
                self.put(at, TaskRecord::Withdrawn { tag: tag.clone() })
            }
            // It never begins, or was over: the next survey tells. It need not be told again.
            (Act::Recall, Ok(()), _) if !task.is_over() => {
                self.put(at, TaskRecord::Withdrawn { tag: tag.clone() })
            }
            (Act::Recall, Err(SiteError::Begun), _) => self.runs_after_all(at, tag),
            (Act::Forget, Ok(()), _) => self.put(at, TaskRecord::Forgot { tag: tag.clone() }),
            // Whatever else was said, the next survey tells, or the order is given again.
            _ => Ok(()),
        }
    }

    /// A site would not take the task. It may have taken it when it was asked before, and the work may
    /// have begun: then it is the job's.
    fn declined(&mut self, at: Time, tag: &Tag, why: String) -> Result<(), ApplyError> {
        self.put(at, TaskRecord::Declined { tag: tag.clone(), why })?;
        let job = self.state.jobs.get(&tag.job).filter(|job| job.phase() == Phase::Running);
        let is_all = job.is_some_and(|it| it.parts().len() == 1 && it.cancelled_by.is_none());
        match is_all && self.is_current(tag) {
            true => self.put(at, JobRecord::Recalling { job: tag.job }),
            false => self.stop_rest(at, tag),
        }
    }

    /// What is left of the job stops, since this part of it will not run.
    pub(super) fn stop_rest(&mut self, at: Time, tag: &Tag) -> Result<(), ApplyError> {
        let runs = self.state.jobs.get(&tag.job).is_some_and(|job| job.phase() == Phase::Running);
        match runs && self.is_current(tag) && self.runs_on(tag.job) {
            true => self.put(at, JobRecord::Stopping { job: tag.job }),
            false => Ok(()),
        }
    }

    /// The task was to be taken back, and its work has begun: it runs on.
    fn runs_after_all(&mut self, at: Time, tag: &Tag) -> Result<(), ApplyError> {
        let Some(task) = self.state.tasks.get(tag).filter(|task| !task.is_over()) else {
            return Ok(());
        };
        // A cancellation that came meanwhile stops it.
        if task.wanted != TaskGoal::Recall {
            return Ok(());
        }
        self.put(at, TaskRecord::Resumed { tag: tag.clone() })?;
        match self.is_current(tag) {
            true => self.judge(at, tag.job),
            false => Ok(()),
        }
    }

    /// Whether the task is of its job's present attempt.
    pub(super) fn is_current(&self, tag: &Tag) -> bool {
        let job = self.state.jobs.get(&tag.job);
        tag.market == self.state.name && job.is_some_and(|job| job.attempt == tag.attempt)
    }

    pub(super) fn surveyed(
        &mut self,
        at: Time,
        site: SiteId,
        survey: Result<Survey, SiteError>,
    ) -> Result<(), ApplyError> {
        let pools = self.state.market.pools().iter().filter(|(_, pool)| pool.site == site).count();
        let survey = survey.and_then(|survey| match is_sane(&survey, pools, at) {
            true => Ok(survey),
            false => Err(SiteError::Unknown("its survey cannot be true".to_owned())),
        });
        let survey = match survey {
            Ok(survey) => survey,
            Err(wrong) => return self.site_failed(at, site, &wrong),
        };
        self.site_answered(at, site, &survey)?;
        if self.learn_resources(site, &survey) {
            self.resize_waiting(at)?;
        }
        self.learn_caps(at, site, &survey)?;
        self.skip_numbers(at, &survey)?;
        let (mut touched, mut turns) = (BTreeSet::new(), Vec::new());
        for tag in self.tasks_at(site) {
            match self.news(at, &tag, &survey) {
                None => {}
                // It needs its nodes in the market's books first.
                Some(seen) if self.state.is_turn(&tag, &seen) => turns.push((tag, seen)),
                Some(seen) => {
                    self.saw(at, &tag, seen, &survey)?;
                    touched.extend(self.is_current(&tag).then_some(tag.job));
                }
            }
        }
        self.learn_beginnings(at, &survey)?;
        self.learn_holds(at, site, &survey)?;
        for job in touched {
            self.judge(at, job)?;
        }
        self.mind_refusals(at, site, &survey)?;
        self.take_turns(at, site, &survey, turns)?;
        self.local_load(at, site, &survey)?;
        self.mind_caps(at)
    }

    /// The site says that the task is over and that its work never began, though the task was seen
    /// with its nodes.
    pub(super) fn count_as_never_run(&mut self, at: Time, tag: &Tag) -> Result<(), ApplyError> {
        let job = self.state.jobs.get(&tag.job).filter(|job| job.phase() == Phase::Running);
        let part = job.and_then(|job| job.parts().get(tag.part as usize));
        match part.is_some_and(|part| part.since.is_some()) && self.is_current(tag) {
            true => self.put(at, JobRecord::Unbegun { tag: tag.clone() }),
            false => Ok(()),
        }
    }

    /// A journal that was brought back from a backup must not give numbers again: a site would
    /// take the new job for the old one.
    fn skip_numbers(&mut self, at: Time, survey: &Survey) -> Result<(), ApplyError> {
        let (last, own) = (self.state.jobs.last, &self.state.name);
        let likely = last + 1..=last.saturating_add(FORGOTTEN);
        let ours = survey.tasks.keys().filter(|tag| tag.market == *own).map(|tag| tag.job);
        match ours.filter(|job| likely.contains(job)).max() {
            Some(job) => self.put(at, JobRecord::Skipped { job }),
            None => Ok(()),
        }
    }

    /// Notes what the site says of its nodes; whether their sizes are news.
    fn learn_resources(&mut self, site: SiteId, survey: &Survey) -> bool {
        let mut is_news = false;
        let pools = self.state.market.pools().iter().filter(|(_, pool)| pool.site == site);
        for ((id, _), seen) in pools.zip(&survey.pools) {
            let has = PoolWidth { max: seen.max.clone(), size: seen.size };
            let before = self.max.insert(id, has);
            is_news |= before.is_none_or(|before| before.size != seen.size);
            match &seen.problem {
                Some(problem) => drop(self.problems.insert(id, problem.clone())),
                None => drop(self.problems.remove(&id)),
            }
        }
        is_news
    }

    /// Jobs that joined the queue before it was known how large nodes are join again, if they need
    /// another number of nodes; those for which there seemed to be too few nodes join now.
    fn resize_waiting(&mut self, at: Time) -> Result<(), ApplyError> {
        let is_out = |job: &&Job| {
            job.phase() == Phase::Held(&JobHold::Nowhere) && job.submission.shape.is_some()
        };
        let out = self.state.jobs.values().filter(is_out);
        let out: Vec<u64> = out.map(|job| job.number).collect();
        for job in out {
            self.enqueue(at, job)?;
        }
        let is_guess = |job: &&Job| {
            let is_counted = job.submission.shape.is_some() && job.booking.is_none();
            job.phase() == Phase::Waiting && is_counted && job.processors.is_none()
        };
        let guesses = self.state.jobs.values().filter(is_guess);
        let is_other = |job: &&Job| {
            let now = self.demand_of(&job.user, &job.submission);
            now.is_ok_and(|now| now.processors != job.nodes())
        };
        let others: Vec<u64> = guesses.filter(is_other).map(|job| job.number).collect();
        for job in others {
            let why = "how large nodes are has become known: it needs another number of them";
            self.put(at, JobRecord::Left { job, hold: JobHold::Rejected(why.to_owned()) })?;
            self.enqueue(at, job)?;
        }
        Ok(())
    }

    fn tasks_at(&self, site: SiteId) -> Vec<Tag> {
        let here = |pool: PoolId| self.state.site_of(pool) == site;
        let tasks = self.state.tasks.iter().filter(|(_, task)| here(task.pool) && !task.is_over());
        tasks.map(|(tag, _)| tag.clone()).collect()
    }

    /// How the task ran, if it was over before any survey saw it run and the site knows where.
    pub(super) fn missed(&self, tag: &Tag, seen: &Seen, survey: &Survey) -> Option<Seen> {
        let Seen::Ended { since: Some(since), .. } = seen else { return None };
        let nodes = survey.placed.get(tag).filter(|nodes| !nodes.is_empty())?;
        let known = &self.state.tasks.get(tag)?.known;
        let was_seen = matches!(known, TaskReport::Seen(Seen::Running { .. } | Seen::Ended { .. }));
        // Of one that gathered, `since` is not when it came to its nodes.
        let job = self.state.jobs.get(&tag.job);
        let gathered = job.is_some_and(|job| job.barrier().is_some());
        let before = || Seen::Running { since: *since, nodes: nodes.clone() };
        (!was_seen && !gathered).then(before)
    }

    /// What the survey says of the task that was not known: a task that the site had and has no
    /// more is lost.
    fn news(&self, at: Time, tag: &Tag, survey: &Survey) -> Option<Seen> {
        let task = self.state.tasks.get(tag)?;
        match (survey.tasks.get(tag), &task.known) {
            (Some(seen), TaskReport::Seen(known)) if seen == known => None,
            // It began, and what it was seen doing before was later: the site repeats itself.
            (Some(Seen::Waiting), TaskReport::Seen(Seen::Running { .. })) => None,
            (Some(seen), _) => Some(seen.clone()),
            // The site has not said that it knows.
            (None, TaskReport::Nothing | TaskReport::Declined(_)) => None,
            // It had not begun when it was withdrawn, or it would be mentioned.
            (None, TaskReport::Withdrawn(why)) => {
                let exit = why.clone().map_or(Exit::Withdrawn, Exit::Refused);
                Some(Seen::Ended { since: None, at, exit })
            }
            (None, TaskReport::Acknowledged | TaskReport::Seen(_)) => {
                let since = match &task.known {
                    TaskReport::Seen(Seen::Running { since, .. }) => Some(*since),
                    _ => None,
                };
                Some(Seen::Ended { since, at, exit: Exit::Lost })
            }
        }
    }
}

/// A journal that was lost has given so many numbers more, at most.
const FORGOTTEN: u64 = 100_000_000;

/// A site's clock may differ by so much from ours.
const SKEW: Span = Span(300);

/// Whether the survey can be true at all. One that cannot says nothing.
pub(crate) fn is_sane(survey: &Survey, pools: usize, at: Time) -> bool {
    let past = |time: Time| time >= Time(0) && time <= at + SKEW;
    let local = |task: &LocalTask| {
        task.nodes <= Pools::MAX_NODES && task.from >= Time(0) && task.from <= task.until
    };
    let task = |seen: &Seen| match seen {
        Seen::Waiting => true,
        Seen::Running { since, .. } => past(*since),
        Seen::Ended { since, at, .. } => {
            past(*at) && since.is_none_or(|since| past(since) && since <= *at)
        }
    };
    survey.pools.len() == pools
        && survey.pools.iter().all(|pool| pool.up <= Pools::MAX_NODES)
        && survey.pools.iter().flat_map(|pool| pool.local.values()).all(local)
        && survey.tasks.values().all(task)
}
