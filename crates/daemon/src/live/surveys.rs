//! What sites say, and what follows.

use std::collections::BTreeSet;

use tradewind_model::{PoolId, Pools, SiteId, Span, Time};

use super::input::Act;
use super::record::Record;
use super::state::{Known, Phase};
use super::{Live, Wrong};
use crate::site::{Exit, LocalTask, Seen, SiteError, Survey, Tag};

impl Live {
    /// A site has answered to something that it was told.
    pub(super) fn answered(
        &mut self,
        at: Time,
        tag: &Tag,
        act: Act,
        answer: Result<(), SiteError>,
    ) -> Result<(), Wrong> {
        let Some(task) = self.state.tasks.get(tag) else { return Ok(()) };
        match (act, answer, &task.known) {
            (Act::Submit, Ok(()), Known::Nothing | Known::Declined(_)) => {
                self.put(at, Record::Acknowledged { tag: tag.clone() })
            }
            (Act::Submit, Err(SiteError::Refused(why)), Known::Nothing) => {
                self.put(at, Record::Declined { tag: tag.clone(), why })?;
                self.stop_rest(at, tag)
            }
            (Act::Go, Ok(()), _) if task.go.is_some() => {
                self.put(at, Record::Went { tag: tag.clone() })
            }
            // It will never begin there.
            (Act::Go, Err(SiteError::Refused(_)), _) => self.stop_rest(at, tag),
            (Act::Withdraw, Ok(()), Known::Nothing | Known::Declined(_)) => {
                self.put(at, Record::Withdrawn { tag: tag.clone() })
            }
            (Act::Forget, Ok(()), _) => self.put(at, Record::Forgot { tag: tag.clone() }),
            // Whatever else was said, the next survey tells, or the order is given again.
            _ => Ok(()),
        }
    }

    /// What is left of the job stops, since this part of it will not run.
    pub(super) fn stop_rest(&mut self, at: Time, tag: &Tag) -> Result<(), Wrong> {
        let runs = self.state.jobs.get(&tag.job).map(|job| &job.phase) == Some(&Phase::Running);
        match runs && self.is_current(tag) && self.runs_on(tag.job) {
            true => self.put(at, Record::Stopping { job: tag.job }),
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
    ) -> Result<(), Wrong> {
        let away = self.state.away.contains_key(&site);
        let pools = self.state.market.pools().iter().filter(|(_, pool)| pool.site == site).count();
        let Some(survey) = survey.ok().filter(|survey| is_sane(survey, pools, at)) else {
            return match away {
                true => Ok(()),
                false => self.put(at, Record::Reached { site: site.0, away: Some(at) }),
            };
        };
        if away {
            self.put(at, Record::Reached { site: site.0, away: None })?;
        }
        self.learn_resources(site, &survey);
        self.learn_caps(at, site, &survey)?;
        self.skip_numbers(at, &survey)?;
        let mut touched = BTreeSet::new();
        for tag in self.tasks_at(site) {
            if let Some(seen) = self.news(at, &tag, &survey) {
                if let Some(before) = self.missed(&tag, &seen, &survey) {
                    self.put(at, Record::Saw { tag: tag.clone(), seen: before })?;
                }
                self.put(at, Record::Saw { tag: tag.clone(), seen })?;
                touched.extend(self.is_current(&tag).then_some(tag.job));
            }
        }
        self.learn_beginnings(at, &survey)?;
        for job in touched {
            self.judge(at, job)?;
        }
        self.local_load(at, site, &survey)?;
        self.mind_caps(at)
    }

    /// A journal that was brought back from a backup must not give numbers again: a site would
    /// take the new job for the old one.
    fn skip_numbers(&mut self, at: Time, survey: &Survey) -> Result<(), Wrong> {
        let (last, own) = (self.state.last_job, &self.state.name);
        let likely = last + 1..=last.saturating_add(FORGOTTEN);
        let ours = survey.tasks.keys().filter(|tag| tag.market == *own).map(|tag| tag.job);
        match ours.filter(|job| likely.contains(job)).max() {
            Some(job) => self.put(at, Record::Skipped { job }),
            None => Ok(()),
        }
    }

    fn learn_resources(&mut self, site: SiteId, survey: &Survey) {
        let pools = self.state.market.pools().iter().filter(|(_, pool)| pool.site == site);
        for ((id, _), seen) in pools.zip(&survey.pools) {
            match &seen.most {
                Some(most) => drop(self.most.insert(id, most.clone())),
                None => drop(self.most.remove(&id)),
            }
        }
    }

    fn tasks_at(&self, site: SiteId) -> Vec<Tag> {
        let here = |pool: PoolId| self.state.site_of(pool) == site;
        let tasks = self.state.tasks.iter().filter(|(_, task)| here(task.pool) && !task.is_over());
        tasks.map(|(tag, _)| tag.clone()).collect()
    }

    /// How the task ran, if it was over before anybody saw it run and the site knows where.
    fn missed(&self, tag: &Tag, seen: &Seen, survey: &Survey) -> Option<Seen> {
        let Seen::Ended { since: Some(since), .. } = seen else { return None };
        let nodes = survey.placed.get(tag).filter(|nodes| !nodes.is_empty())?;
        let known = &self.state.tasks.get(tag)?.known;
        let was_seen = matches!(known, Known::Seen(Seen::Running { .. } | Seen::Ended { .. }));
        // Of one that gathered, `since` is not when it came to its nodes.
        let job = self.state.jobs.get(&tag.job);
        let gathered = job.is_some_and(|job| job.rendezvous.is_some());
        let before = || Seen::Running { since: *since, nodes: nodes.clone() };
        (!was_seen && !gathered).then(before)
    }

    /// What the survey says of the task that was not known: a task that the site had and has no
    /// more is lost.
    fn news(&self, at: Time, tag: &Tag, survey: &Survey) -> Option<Seen> {
        let task = self.state.tasks.get(tag)?;
        match (survey.tasks.get(tag), &task.known) {
            (Some(seen), Known::Seen(known)) if seen == known => None,
            // It began, and what it was seen doing before was later: the site repeats itself.
            (Some(Seen::Waiting), Known::Seen(Seen::Running { .. })) => None,
            (Some(seen), _) => Some(seen.clone()),
            // The site has not said that it knows.
            (None, Known::Nothing | Known::Declined(_)) => None,
            // It had not begun when it was withdrawn, or it would be mentioned.
            (None, Known::Withdrawn(why)) => {
                let exit = why.clone().map_or(Exit::Withdrawn, Exit::Refused);
                Some(Seen::Ended { since: None, at, exit })
            }
            (None, Known::Acknowledged | Known::Seen(_)) => {
                let since = match &task.known {
                    Known::Seen(Seen::Running { since, .. }) => Some(*since),
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
fn is_sane(survey: &Survey, pools: usize, at: Time) -> bool {
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
