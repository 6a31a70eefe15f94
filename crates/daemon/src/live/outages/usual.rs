//! How much of their limits the jobs of others usually use at a site, and when a new job of the
//! market is expected to start there.
//!
//! What is announced, booked and promised rests on limits. What is *expected* rests on how jobs
//! ended: from one survey to the next, running jobs of others disappear, which says which part of
//! their limits they have used. It is learned from a bounded number of jobs of each site and written
//! down ([`SiteRecord::Used`]), with digests in place of names of users. Nothing is decided by
//! it.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};
use tradewind_model::{Outage, PoolId, SiteId, Span, Time};
use tradewind_sched::policy::owners::{
    self, Eligible, Habits, MAX_LIMIT, OwnersJob, SiteRule, Usual, WHOLE,
};

use super::lined::JoinedLine;
use crate::live::record::SiteRecord;
use crate::live::sites::{UsedShares, UserKey};
use crate::live::state::Why;
use crate::live::{ApplyError, Live};
use crate::site::Survey;

/// A user's own jobs count if so many of them have ended; otherwise those of all users.
const ENOUGH: usize = 8;
/// Jobs of others that run at a site, that are followed.
const FOLLOWED: usize = 10_000;
/// With more jobs of the market before it, nothing is said of a new one.
const MOST_BEFORE: usize = 256;
/// When exactly a job ended between two surveys is not known: by how much of its limit the moment may
/// be wrong, in parts of it.
const BLUR: i64 = 5;

/// How estimates are made, from jobs that ended and those that run.
type Estimate = fn(&[u32], &[u32]) -> Usual;

/// What was noticed of a site's other jobs since the start.
#[derive(Debug, Clone, Default)]
pub struct SiteHabits {
    at: Option<Time>,
    /// By the site's names.
    running: BTreeMap<String, Runs>,
    /// Whose the waiting jobs are, by the site's names.
    users: BTreeMap<String, String>,
    /// The queue of the last survey.
    ahead: Option<UsualQueue>,
}

#[derive(Debug, Clone)]
struct Runs {
    user: Option<String>,
    since: Time,
    limit: Time,
}

/// A site's queue as a new job of the market would join it.
#[derive(Debug, Clone)]
struct UsualQueue {
    survey: owners::Survey,
    rule: SiteRule,
    /// By index of what is taken: a running job of others.
    taken: Vec<Option<String>>,
    /// By index of the waiting jobs: whether it is one of others, and whose.
    waiting: Vec<Option<Option<String>>>,
    /// The place of a new job.
    rank: usize,
}

/// What is expected of a new job at a site, to be computed elsewhere.
#[derive(Debug, Clone)]
pub struct UsualStart {
    survey: owners::Survey,
    rule: SiteRule,
    habits: Habits,
    rank: usize,
}

/// A job of the market that waits, or is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Where.
    pub pool: PoolId,
    /// On how many nodes, at least 1.
    pub nodes: u32,
    /// Its time limit there.
    pub limit: Span,
}

impl UsualStart {
    /// When the job is expected to start if it is submitted now, other jobs end as they usually do,
    /// and no further job is submitted. `before` are those of the market that come before it, in
    /// their order. Takes [`owners::WORLDS`] look-aheads, as long as `goes_on` says so; `None`: no
    /// start is foreseen, or it was stopped.
    pub fn of(
        &self,
        wanted: Wanted,
        before: &[Wanted],
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Option<Time> {
        if before.len() > MOST_BEFORE {
            return None;
        }
        let now = self.survey.now;
        let (mut survey, mut habits) = (self.survey.clone(), self.habits.clone());
        let mut rank = self.rank;
        for other in before {
            (survey, rank) = survey.with(other.job(now), rank);
            habits.inserted(rank);
            rank += 1;
        }
        survey.usual_start_of(wanted.job(now), rank, (self.rule, &habits), goes_on)
    }
}

impl Wanted {
    fn job(&self, now: Time) -> OwnersJob {
        OwnersJob {
            pools: [self.pool].into(),
            nodes: self.nodes.max(1),
            limit: self.limit.clamp(Span(1), MAX_LIMIT),
            eligible: Eligible::From(now),
            after: Vec::new(),
            count: 1,
            reserves: true,
        }
    }
}

impl SiteHabits {
    /// What has been used by jobs that no longer run.
    fn learn(&mut self, at: Time, survey: &Survey) -> Vec<(Option<String>, u32)> {
        let mut ended = Vec::new();
        let mut running: BTreeMap<String, Runs> = BTreeMap::new();
        let tasks = survey.pools.iter().flat_map(|pool| &pool.local);
        // What managers run has such names; reservations have others, and do not end early.
        let jobs = tasks.filter(|(name, task)| name.starts_with("job ") && task.from <= at);
        for (name, task) in jobs.take(FOLLOWED) {
            let user = || self.users.get(name.trim_start_matches("job ")).cloned();
            let user = self.running.get(name).map_or_else(user, |known| known.user.clone());
            running.insert(name.clone(), Runs { user, since: task.from, limit: task.until });
        }
        let waits: BTreeSet<&str> = survey.queue.iter().map(|job| job.name.as_str()).collect();
        for (name, runs) in &self.running {
            let is_back = waits.contains(name.trim_start_matches("job "));
            if running.contains_key(name) || is_back {
                continue;
            }
            if let Some(part) = self.at.and_then(|before| used(runs, before, at)) {
                ended.push((runs.user.clone(), part));
            }
        }
        let user =
            |job: &crate::site::queued::QueuedJob| Some((job.name.clone(), job.user.clone()?));
        self.users = survey.queue.iter().filter_map(user).collect();
        self.running = running;
        self.at = Some(at);
        ended
    }

    /// The estimates: by user those with enough jobs that ended, and of all.
    fn usual(
        &self,
        now: Time,
        used: &UsedShares,
        estimate: Estimate,
    ) -> (Vec<Usual>, BTreeMap<UserKey, usize>) {
        let so_far = |runs: &Runs| part(runs.since, now, runs.limit);
        let of = |user: Option<UserKey>| {
            let is_his = |other: UserKey| user.is_none_or(|user| other == user);
            let ended = used.iter().filter(|(other, _)| is_his(*other));
            let ended: Vec<u32> = ended.map(|(_, part)| *part).collect();
            let running = self.running.values().filter(|runs| is_his(key(runs.user.as_deref())));
            estimate(&ended, &running.map(so_far).collect::<Vec<_>>())
        };
        let mut counts: BTreeMap<UserKey, usize> = BTreeMap::new();
        for (user, _) in used.iter().filter(|(user, _)| *user != 0) {
            *counts.entry(*user).or_default() += 1;
        }
        let (mut usual, mut places) = (vec![of(None)], BTreeMap::new());
        for (user, _) in counts.into_iter().filter(|(_, count)| *count >= ENOUGH) {
            places.insert(user, usual.len());
            usual.push(of(Some(user)));
        }
        (usual, places)
    }

    fn start(&self, used: &UsedShares) -> Option<UsualStart> {
        let UsualQueue { survey, rule, taken, waiting, rank } = self.ahead.as_ref()?;
        let has_others = taken.iter().any(Option::is_some) || waiting.iter().any(Option::is_some);
        if used.is_empty() || !has_others {
            return None;
        }
        let habits = self.habits(used, Usual::of)?;
        Some(UsualStart { survey: survey.clone(), rule: *rule, habits, rank: *rank })
    }

    /// What is usual for each of the jobs that run or wait.
    fn habits(&self, used: &UsedShares, estimate: Estimate) -> Option<Habits> {
        let UsualQueue { survey, taken, waiting, .. } = self.ahead.as_ref()?;
        let (usual, places) = self.usual(survey.now, used, estimate);
        let of = |user: Option<&str>| places.get(&key(user)).copied().unwrap_or(0);
        let running = |name: &Option<String>| {
            let user = self.running.get(name.as_ref()?)?.user.as_deref();
            Some(of(user))
        };
        let waiting = waiting.iter().map(|user| Some(of(user.as_ref()?.as_deref())));
        Some(Habits {
            usual,
            taken: taken.iter().map(running).collect(),
            waiting: waiting.collect(),
        })
    }
}

/// A user's number, the same after a restart; 0: not known.
fn key(user: Option<&str>) -> UserKey {
    let Some(user) = user else { return 0 };
    let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(Sha256::digest(user));
    u64::from_be_bytes([a, b, c, d, e, f, g, h]).max(1)
}

/// The part of its limit that a job used which was there `before` and is not there `now`, if that
/// is known well enough: it ended in the middle.
fn used(runs: &Runs, before: Time, now: Time) -> Option<u32> {
    let is_sharp = (now - before).0.saturating_mul(BLUR) <= (runs.limit - runs.since).0;
    let middle = before + Span((now - before).0 / 2);
    is_sharp.then(|| part(runs.since, middle, runs.limit))
}

/// In thousandths; at most the whole.
fn part(since: Time, at: Time, limit: Time) -> u32 {
    let whole = (limit - since).0.max(1);
    let run = i128::from((at - since).0.clamp(0, whole)) * i128::from(WHOLE) / i128::from(whole);
    u32::try_from(run).unwrap_or(WHOLE)
}

impl Live {
    /// What is expected of a new job at the site, as far as its last survey says. `None`: jobs of
    /// others are not there, or none of them has ended yet.
    pub fn usual_start(&self, site: SiteId) -> Option<UsualStart> {
        self.habits.get(&site)?.start(self.state.sites.used.as_ref()?.get(&site)?)
    }

    /// What is usual for the site's jobs of others, as far as its last survey lists them, for what is
    /// left to them.
    pub(super) fn habits_at(&self, site: SiteId) -> Habits {
        let none = UsedShares::new();
        let used = self.state.sites.used.as_ref().and_then(|all| all.get(&site)).unwrap_or(&none);
        self.habits
            .get(&site)
            .and_then(|site| site.habits(used, Usual::cautious))
            .unwrap_or_default()
    }

    /// Remembers a survey's queue, and learns from what has ended.
    pub(super) fn learn_habits(
        &mut self,
        site: SiteId,
        survey: &Survey,
        (missing, line): (&BTreeMap<Why, Outage>, &JoinedLine),
        (ahead, rule): (&owners::Survey, SiteRule),
    ) -> Result<(), ApplyError> {
        let habits = self.habits.entry(site).or_default();
        let ended = habits.learn(ahead.now, survey);
        if !ended.is_empty() {
            let used = |(user, part): &(Option<String>, u32)| (key(user.as_deref()), *part);
            let ended = ended.iter().map(used).collect();
            self.put(ahead.now, SiteRecord::Used { site: site.0, ended })?;
        }
        let habits = self.habits.entry(site).or_default();
        // What is missing comes first in what is taken, and the others are the market's.
        let name = |why: &Why| match why {
            Why::Local(_, name) if habits.running.contains_key(name) => Some(name.clone()),
            _ => None,
        };
        let mut taken: Vec<Option<String>> = missing.keys().map(name).collect();
        taken.resize(ahead.taken.len(), None);
        let mut waiting: Vec<Option<Option<String>>> = vec![Some(None); line.waiting.len()];
        for (job, first) in survey.queue.iter().zip(&line.first) {
            if let Some(place) = waiting.get_mut(*first) {
                *place = Some(job.user.clone());
            }
        }
        for (own, _) in &line.own {
            if let Some(place) = waiting.get_mut(*own) {
                *place = None;
            }
        }
        let rank = line.counts.iter().rposition(|counts| *counts).map_or(0, |last| last + 1);
        habits.ahead = Some(UsualQueue { survey: ahead.clone(), rule, taken, waiting, rank });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::site::queued::QueuedJob;
    use crate::site::{LocalTask, PoolSurvey};

    use super::*;
    use crate::live::sites::{REMEMBERED, remember};

    fn survey(running: &[(u32, i64, i64)], waiting: &[(u32, &str)]) -> Survey {
        let local = running.iter().map(|(job, from, until)| {
            let (from, until) = (Time(*from), Time(*until));
            (format!("job {job}"), LocalTask { nodes: 1, from, until })
        });
        let kept = LocalTask { nodes: 1, from: Time(0), until: Time(9_000) };
        let local = local.chain([("reservation x".to_owned(), kept)]).collect();
        let queue = waiting.iter().map(|(job, user)| QueuedJob {
            user: Some((*user).to_owned()),
            ..QueuedJob::of(&job.to_string(), 0, 1, Span(100))
        });
        let pools = vec![PoolSurvey { up: 4, local, ..PoolSurvey::default() }];
        Survey { pools, queue: queue.collect(), ..Survey::default() }
    }

    #[test]
    fn what_disappears_has_ended() {
        let mut site = SiteHabits::default();
        site.learn(Time(0), &survey(&[], &[(1, "eve"), (2, "ann")]));
        site.learn(Time(10), &survey(&[(1, 5, 105), (2, 10, 210), (3, 0, 100)], &[]));
        // One ended between both, one is back in the queue, one runs.
        let ended = site.learn(Time(30), &survey(&[(3, 0, 100)], &[(2, "ann")]));
        assert_eq!(ended, [(Some("eve".to_owned()), 150)]);
        // The reservation has gone, and it is long ago that the job was seen last.
        assert_eq!(site.learn(Time(90), &Survey::default()), []);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut site, mut used) = (SiteHabits::default(), UsedShares::new());
        for job in 0..2_000 {
            let at = i64::from(job);
            let ended = site.learn(Time(at), &survey(&[(job, at, at + 100)], &[(job + 1, "eve")]));
            let ended = ended.iter().map(|(user, part)| (key(user.as_deref()), *part));
            remember(&mut used, &ended.collect::<Vec<_>>());
        }
        assert_eq!(used.len(), REMEMBERED);
        let (usual, places) = site.usual(Time(2_000), &used, Usual::of);
        assert_eq!((usual.len(), places[&key(Some("eve"))]), (2, 1));
        assert_eq!(usual[1].part(0, 500), 1, "less than a second, between two surveys");
    }

    #[test]
    fn each_user_has_a_habit() {
        let ended = |user: &str, part| (key(Some(user)), part);
        let eve = (0..8).map(|_| ended("eve", 100));
        let used: UsedShares = eve.chain((0..7).map(|_| ended("ann", 900))).collect();
        let (usual, places) = SiteHabits::default().usual(Time(0), &used, Usual::of);
        let eve = key(Some("eve"));
        assert_eq!(places.into_iter().collect::<Vec<_>>(), [(eve, 1)], "ann has too few");
        assert_eq!(usual[1].part(0, 999), 100);
        assert_eq!([300, 900].map(|rank| usual[0].part(0, rank)), [100, 900]);
    }
}
