//! Which state a site is in: decided from surveys, and from answers to submissions.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{SiteId, Span, Time};

use super::state::{Phase, State, TaskReport};
use super::{ApplyError, Live, Step};
use crate::live::record::SiteRecord;
use crate::live::site_health::{Health, SiteState, by_nodes, without_answer};
use crate::site::{SiteError, Survey, Tag};

/// So many submissions in a row must be refused before it is the site that refuses.
const REFUSED: u32 = 4;
/// They must be of so many jobs: one may be wrong.
const JOBS: usize = 2;
/// A site that refuses jobs is tried again after so long, at first.
const FIRST_PAUSE: Span = Span(60);
/// The same, at most.
const LAST_PAUSE: Span = Span(3_600);

/// Submissions that a site has refused since it took one.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals {
    /// Of which it is not known yet whether a limit was the cause.
    fresh: BTreeMap<Tag, String>,
    /// Those of them that one survey has come after.
    surveyed: BTreeMap<Tag, String>,
    count: u32,
    jobs: BTreeSet<u64>,
    users: BTreeSet<String>,
    pause: Option<Span>,
}

impl Live {
    /// The daemon has begun, and no site was surveyed: none is counted on before its first survey.
    ///
    /// # Errors
    /// A mistake of ours.
    pub fn join_sites(&mut self, at: Time) -> Result<Step, ApplyError> {
        let at = at.max(self.state.now());
        for site in self.state.site_ids() {
            let before = self.state.site_health(site);
            let health = match before.state {
                // It is tried again some time after its first survey.
                SiteState::Refusing => Health { retry: None, ..before },
                state if state.answers() || state == SiteState::Joining => Health {
                    state: SiteState::Joining,
                    since: at,
                    reason: "it was not surveyed since the start of the daemon".to_owned(),
                    has_answered: self.state.has_answered(site),
                    retry: None,
                },
                _ => before,
            };
            self.put_health(at, site, health)?;
            self.count_on_nothing(at, site)?;
        }
        Ok(self.done(None))
    }

    /// A survey failed.
    pub(super) fn site_failed(
        &mut self,
        at: Time,
        site: SiteId,
        error: &SiteError,
    ) -> Result<(), ApplyError> {
        if !self.state.sites.away.contains_key(&site) {
            self.put(at, SiteRecord::Reached { site: site.0, away: Some(at) })?;
        }
        let before = self.state.site_health(site);
        let failed_before = !before.state.answers() && before.state != SiteState::Joining;
        let health = Health {
            state: without_answer(error, before.has_answered),
            since: if failed_before { before.since } else { at },
            reason: error.to_string(),
            has_answered: before.has_answered,
            retry: None,
        };
        self.put_health(at, site, health)?;
        self.count_on_nothing(at, site)
    }

    /// A survey came.
    pub(super) fn site_answered(
        &mut self,
        at: Time,
        site: SiteId,
        survey: &Survey,
    ) -> Result<(), ApplyError> {
        if self.state.sites.away.contains_key(&site) {
            self.put(at, SiteRecord::Reached { site: site.0, away: None })?;
        }
        let before = self.state.site_health(site);
        let is_refusing = before.state == SiteState::Refusing;
        let (state, reason) = match is_refusing {
            true => (SiteState::Refusing, before.reason.clone()),
            false => self.state.state_by_nodes(site, survey),
        };
        let since = if state == before.state { before.since } else { at };
        let retry = is_refusing.then(|| before.retry.unwrap_or(at + FIRST_PAUSE));
        self.put_health(at, site, Health { state, since, reason, has_answered: true, retry })
    }

    fn put_health(&mut self, at: Time, site: SiteId, health: Health) -> Result<(), ApplyError> {
        match self.state.site_health(site).is_same(&health) {
            true => Ok(()),
            false => self.put(at, SiteRecord::Health { site: site.0, health }),
        }
    }

    /// The site would not take the task, and did not name a limit. Whether one was the cause all the
    /// same, the next survey says.
    pub(super) fn note_refusal(&mut self, tag: &Tag, why: &str) {
        if let Some(task) = self.state.tasks.get(tag) {
            let refusals = self.refusals.entry(self.state.site_of(task.pool)).or_default();
            refusals.fresh.insert(tag.clone(), why.to_owned());
        }
    }

    /// The site has taken the task: it takes jobs.
    pub(super) fn note_acceptance(&mut self, at: Time, tag: &Tag) -> Result<(), ApplyError> {
        let Some(task) = self.state.tasks.get(tag) else { return Ok(()) };
        let site = self.state.site_of(task.pool);
        self.refusals.remove(&site);
        if self.state.site_health(site).state != SiteState::Refusing {
            return Ok(());
        }
        let (state, reason) = (SiteState::Up, String::new());
        let health = Health { state, since: at, reason, has_answered: true, retry: None };
        self.put_health(at, site, health)?;
        self.count_again(at, site)
    }

    /// Whether the site itself refuses jobs, as far as it has said by this survey.
    pub(super) fn mind_refusals(
        &mut self,
        at: Time,
        site: SiteId,
        survey: &Survey,
    ) -> Result<(), ApplyError> {
        let Some(refusals) = self.refusals.get_mut(&site) else { return Ok(()) };
        let is_capped = |tag: &Tag| survey.capped.contains_key(tag);
        let fresh = std::mem::take(&mut refusals.fresh).into_iter();
        let fresh = fresh.filter(|(tag, _)| !is_capped(tag)).collect();
        // The first survey after a refusal may have been asked for before it.
        let surveyed = std::mem::replace(&mut refusals.surveyed, fresh).into_iter();
        let mut last = None;
        for (tag, why) in surveyed.filter(|(tag, _)| !is_capped(tag)) {
            let user = self.state.jobs.get(&tag.job).map(|job| job.user.clone());
            refusals.users.extend(user);
            refusals.jobs.insert(tag.job);
            refusals.count = refusals.count.saturating_add(1);
            last = Some(why);
        }
        let is_the_site = refusals.count >= REFUSED && refusals.jobs.len() >= JOBS;
        let users = refusals.users.clone();
        let Some(why) = last.filter(|_| is_the_site) else { return Ok(()) };
        match users.len() > 1 || self.state.are_only_users(&users) {
            true => self.is_refusing(at, site, why),
            false => Ok(()),
        }
    }

    /// The site refuses jobs: it is tried again after a pause, which is longer each time.
    fn is_refusing(&mut self, at: Time, site: SiteId, why: String) -> Result<(), ApplyError> {
        let before = self.state.site_health(site);
        let was = before.state == SiteState::Refusing;
        // Answers to what was submitted before are no further attempts.
        if was && !before.is_counted_on(at) {
            return Ok(());
        }
        let refusals = self.refusals.entry(site).or_default();
        let pause = match refusals.pause.filter(|_| was) {
            Some(last) => Span((last.0 * 2).min(LAST_PAUSE.0)),
            None => FIRST_PAUSE,
        };
        refusals.pause = Some(pause);
        let health = Health {
            state: SiteState::Refusing,
            since: if was { before.since } else { at },
            reason: why,
            has_answered: true,
            retry: Some(at + pause),
        };
        self.put_health(at, site, health)?;
        self.count_on_nothing(at, site)
    }

    /// Sites that refused jobs and are tried again by now.
    pub(super) fn try_refusing(&mut self, at: Time) -> Result<(), ApplyError> {
        for site in self.state.site_ids() {
            let health = self.state.site_health(site);
            if health.state == SiteState::Refusing && health.is_counted_on(at) {
                self.count_again(at, site)?;
            }
        }
        Ok(())
    }
}

impl State {
    /// The site's state. Of journals of earlier releases only whether it answers is known.
    pub fn site_health(&self, site: SiteId) -> Health {
        let known = self.sites.health.as_ref().and_then(|all| all.get(&site));
        let away = self.sites.away.get(&site).copied();
        match (known, away) {
            (Some(health), _) => health.clone(),
            (None, away) => Health {
                state: if away.is_some() { SiteState::Lost } else { SiteState::Up },
                since: away.unwrap_or(Time(0)),
                reason: String::new(),
                has_answered: true,
                retry: None,
            },
        }
    }

    /// The same without its reason: for what asks of each job.
    pub fn site_state(&self, site: SiteId) -> SiteState {
        let known = self.sites.health.as_ref().and_then(|all| all.get(&site));
        match known {
            Some(health) => health.state,
            None if self.sites.away.contains_key(&site) => SiteState::Lost,
            None => SiteState::Up,
        }
    }

    /// Whether plans, forecasts, quotes and offers may use the site's nodes.
    pub fn is_counted_on(&self, site: SiteId) -> bool {
        self.site_health(site).is_counted_on(self.now())
    }

    /// Whether the site has answered at some time; of journals of earlier releases, as far as its
    /// tasks show.
    fn has_answered(&self, site: SiteId) -> bool {
        if let Some(known) = self.sites.health.as_ref().and_then(|all| all.get(&site)) {
            return known.has_answered;
        }
        let seen = self.tasks.values().any(|task| {
            let is_seen = matches!(task.known, TaskReport::Seen(_) | TaskReport::Acknowledged);
            is_seen && self.site_of(task.pool) == site
        });
        seen || self.sites.delays.contains_key(&site)
    }

    /// The site's state by its nodes.
    fn state_by_nodes(&self, site: SiteId, survey: &Survey) -> (SiteState, String) {
        let pools = self.market.pools().iter().filter(|(_, pool)| pool.site == site);
        let (mut up, mut all) = (0, 0);
        for ((_, pool), seen) in pools.zip(&survey.pools) {
            up += seen.up.min(pool.nodes);
            all += pool.nodes;
        }
        let problem = survey.pools.iter().find_map(|seen| seen.problem.as_deref());
        by_nodes(up, all, problem)
    }

    /// Whether all jobs that are not over are of these users.
    fn are_only_users(&self, users: &BTreeSet<String>) -> bool {
        let mut open = self.jobs.values().filter(|job| !matches!(job.phase(), Phase::Over(_)));
        open.all(|job| users.contains(&job.user))
    }
}
