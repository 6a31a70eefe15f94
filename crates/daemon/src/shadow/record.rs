//! What is kept of the jobs of observed clusters.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use tradewind_model::{Pools, Price, Time};

use super::advice::{Decider, Decision};
use super::usage::{self, Hour, MAX_HOURS};
use crate::site::queued::{MAX_LIMIT, QueuedJob};
use crate::site::{HIDDEN_ON, Survey};

/// Jobs that have started and are kept, of all clusters: the last ones.
pub const MAX_SCORED: usize = 50_000;
/// Waiting jobs that are kept of each cluster, at most. Above this the ones seen first are left out.
pub(super) const MAX_WAITING: usize = 10_000;
/// Names of running jobs that are kept of each cluster, at most.
const MAX_RUNNING: usize = 100_000;
/// A manager computes the expected start of a new job in its next round: it counts as its forecast
/// at submission if it is there within so many seconds.
const LATE: i64 = 120;

/// Forecasts and starts of all observed clusters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shadow {
    /// By name of the cluster.
    #[serde(default)]
    pub(super) sites: BTreeMap<String, SiteShadow>,
    /// Jobs that have started, in this order.
    #[serde(default)]
    pub(super) scored: VecDeque<Scored>,
}

/// What is known of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct SiteShadow {
    /// When it was surveyed first.
    pub since: i64,
    /// When it was surveyed last.
    pub at: i64,
    /// What was in use then, for each second.
    pub rate: Hour,
    pub waiting: BTreeMap<String, Waiting>,
    pub running: BTreeSet<String>,
    /// Jobs that are over, and were listed so by the last survey.
    #[serde(default)]
    pub ended: BTreeSet<String>,
    /// By first second.
    pub hours: BTreeMap<i64, Hour>,
    pub counts: Counts,
    /// What the last survey could not see, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Jobs that are not compared with forecasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// They ran and had not been seen waiting: they started between two surveys, or are tasks of an
    /// array. Nothing was predicted for them.
    pub unpredicted: u64,
    /// They started and ended between two surveys, and the second, or the accounting, knew them as over.
    /// Nothing was predicted for them.
    #[serde(default)]
    pub brief: u64,
    /// Seconds of which it is not known which jobs came and went: a manager forgets jobs that are over,
    /// and no accounting was asked. What started and ended then is in no number.
    #[serde(default)]
    pub unwatched: u64,
    /// They left the queue, and were seen neither running nor over: cancelled, or forgotten by the
    /// manager before the next survey.
    pub gone: u64,
    /// Entries of the queue that stood for several tasks of an array.
    pub arrays: u64,
}

/// A job that waits, and what was predicted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// When it was seen first.
    pub first: i64,
    /// When it was submitted, or seen first if that is not known.
    pub submitted: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Our forecast at the first sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<i64>,
    /// The manager's first forecast, and ours at the same moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager: Option<(i64, Option<i64>)>,
    /// The earliest start at another observed cluster, as of the first sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<i64>,
    /// What a policy of the user's said, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// It stands for several tasks, and is not compared.
    #[serde(default)]
    pub is_array: bool,
    /// What it asks for.
    #[serde(default)]
    pub size: RecordedSize,
}

/// What a policy said of a waiting job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Decided {
    /// What decided.
    pub by: Decider,
    /// When it would have started the job; `None`: it has left it waiting each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Judged {
    /// What decided.
    pub by: Decider,
    /// Seconds by which it would have started the job before the cluster did; `None`: it had not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<i64>,
}

/// What a job asks for; zeros of jobs that older releases recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct RecordedSize {
    pub nodes: u32,
    /// Its time limit, seconds.
    pub limit: i64,
}

/// A job that has started. Errors are seconds by which it started later than predicted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scored {
    pub site: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// From submission to start, seconds.
    pub wait: i64,
    /// When it was submitted; 0: not known.
    #[serde(default)]
    pub submitted: i64,
    #[serde(default)]
    pub size: RecordedSize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<i64>,
    /// Of the manager, and of ours at the same moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager: Option<(i64, Option<i64>)>,
    /// Seconds by which it would have started earlier at another cluster; `None`: not examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<i64>,
    /// What a policy of the user's would have done, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
}

/// A survey of an observed cluster, with what is expected.
#[derive(Debug)]
pub(super) struct ObservedSurvey<'a> {
    pub at: Time,
    pub survey: &'a Survey,
    /// Our forecasts, in the order of the queue.
    pub expected: &'a [Option<Time>],
    /// By name of the job: the earliest start at another cluster, of jobs that are new.
    pub elsewhere: &'a BTreeMap<String, Time>,
    /// By pool, now.
    pub prices: &'a [Price],
    /// What a policy of the user's would start, if the cluster has one.
    pub decision: Option<&'a Decision>,
}

/// Whether a survey's name of what holds nodes is that of a job: the others are reservations.
pub(super) fn is_job(name: &str) -> bool {
    !name.starts_with("reservation ")
}

/// The name that a job has in the queue.
pub(super) fn queue_name(name: &str) -> &str {
    name.strip_prefix("job ").unwrap_or(name)
}

impl Shadow {
    /// Whether the job of the cluster was seen waiting before.
    pub(super) fn knows(&self, site: &str, job: &str) -> bool {
        self.sites.get(site).is_some_and(|site| site.waiting.contains_key(job))
    }

    /// When the cluster was surveyed last.
    pub(super) fn surveyed(&self, site: &str) -> Option<Time> {
        self.sites.get(site).map(|site| Time(site.at))
    }

    /// Counts a survey of the cluster.
    pub(super) fn note(&mut self, name: &str, look: &ObservedSurvey<'_>) {
        let at = look.at.0;
        let is_first = !self.sites.contains_key(name);
        let site = self.sites.entry(name.to_owned()).or_default();
        match is_first {
            true => site.since = at,
            false => usage::add(&mut site.hours, site.rate, Time(site.at), look.at),
        }
        let last = Time(site.at);
        (site.at, site.rate) = (at, usage::rate(look.at, look.survey, look.prices));
        let running = running(look);
        let mut started = Vec::new();
        if !is_first {
            site.count_unpredicted(&running);
            let unwatched = u64::try_from(look.survey.unwatched.0).unwrap_or(0);
            site.counts.unwatched = site.counts.unwatched.saturating_add(unwatched);
            started = site.take_brief(name, look, last);
        }
        let ended = look.survey.ended.iter().map(|it| (it.job.name.clone(), it.start.0));
        let begun: BTreeMap<String, i64> = ended.chain(running.clone()).collect();
        started.extend(site.take_started(name, &begun, look.survey));
        site.running = running.into_keys().take(MAX_RUNNING).collect();
        site.ended = look.survey.ended.iter().map(|it| it.job.name.clone()).collect();
        site.note_queue(look);
        site.unknown.clone_from(&look.survey.queue_notes);
        self.scored.extend(started);
        self.bound();
    }

    /// Forgets what is beyond the bounds: also of a file that was changed by hand.
    pub(super) fn bound(&mut self) {
        let beyond = self.scored.len().saturating_sub(MAX_SCORED);
        self.scored.drain(..beyond);
        for site in self.sites.values_mut() {
            while site.hours.len() > MAX_HOURS {
                site.hours.pop_first();
            }
            site.drop_oldest();
        }
    }
}

/// Jobs that run, by their names in the queue, with their starts.
fn running(look: &ObservedSurvey<'_>) -> BTreeMap<String, i64> {
    let all = look.survey.pools.iter().flat_map(|pool| &pool.local);
    let is_shown = |name: &str| is_job(name) && !name.starts_with(HIDDEN_ON);
    let begun = all.filter(|(name, task)| is_shown(name) && task.from <= look.at);
    begun.map(|(name, task)| (queue_name(name).to_owned(), task.from.0)).collect()
}

impl SiteShadow {
    /// Jobs that have started and ended since the `last` survey: their waits are known, and what they
    /// used is added.
    fn take_brief(&mut self, site: &str, look: &ObservedSurvey<'_>, last: Time) -> Vec<Scored> {
        let queue = look.survey.queue.iter().map(|job| job.name.as_str());
        let queued: BTreeSet<&str> = queue.collect();
        let mut brief = Vec::new();
        for it in &look.survey.ended {
            let name = &it.job.name;
            let is_known = self.running.contains(name) || self.ended.contains(name);
            if is_known || queued.contains(name.as_str()) {
                continue;
            }
            usage::add_brief(&mut self.hours, it, look.prices, (last, look.at));
            if !self.waiting.contains_key(name) {
                self.counts.brief += 1;
                brief.push(Waiting::of(look.at, &it.job, None, None).scored(site, it.start.0));
            }
        }
        brief
    }

    /// Jobs that waited and run now, or did; jobs that left the queue otherwise are counted.
    fn take_started(
        &mut self,
        site: &str,
        begun: &BTreeMap<String, i64>,
        survey: &Survey,
    ) -> Vec<Scored> {
        let queued: BTreeSet<&str> = survey.queue.iter().map(|job| job.name.as_str()).collect();
        // What is not listed may still wait where the list is cut.
        let is_whole = survey.queue_beyond == 0;
        let mut started = Vec::new();
        let mut gone = 0;
        self.waiting.retain(|name, job| match begun.get(name) {
            _ if queued.contains(name.as_str()) => true,
            Some(&start) => {
                started.extend((!job.is_array).then(|| job.scored(site, start)));
                false
            }
            None if is_whole => {
                gone += u64::from(!job.is_array);
                false
            }
            None => true,
        });
        self.counts.gone += gone;
        started
    }

    /// Counts jobs that run and were seen neither waiting nor running before.
    fn count_unpredicted(&mut self, running: &BTreeMap<String, i64>) {
        let is_new =
            |name: &&String| !self.running.contains(*name) && !self.waiting.contains_key(*name);
        self.counts.unpredicted += running.keys().filter(is_new).count() as u64;
    }

    /// Keeps forecasts of jobs that are new, and the manager's where it comes a little later.
    fn note_queue(&mut self, look: &ObservedSurvey<'_>) {
        for (job, ours) in look.survey.queue.iter().zip(look.expected) {
            let ours = ours.map(|time| time.0);
            let known = match self.waiting.get_mut(&job.name) {
                Some(known) => known,
                None => {
                    let elsewhere = look.elsewhere.get(&job.name).map(|time| time.0);
                    let new = Waiting::of(look.at, job, ours, elsewhere);
                    self.counts.arrays += u64::from(new.is_array);
                    self.waiting.entry(job.name.clone()).or_insert(new)
                }
            };
            if let (None, Some(expected)) = (known.manager, job.expected)
                && look.at.0 <= known.first.saturating_add(LATE)
            {
                known.manager = Some((expected.0, ours));
            }
            if let Some(decision) = look.decision {
                known.decide(look.at, &job.name, decision);
            }
        }
        self.drop_oldest();
    }

    fn drop_oldest(&mut self) {
        let beyond = self.waiting.len().saturating_sub(MAX_WAITING);
        if beyond == 0 {
            return;
        }
        let mut oldest: Vec<(i64, String)> =
            self.waiting.iter().map(|(name, job)| (job.first, name.clone())).collect();
        oldest.sort_unstable();
        oldest.iter().take(beyond).for_each(|(_, name)| drop(self.waiting.remove(name)));
    }
}

impl Waiting {
    fn of(at: Time, job: &QueuedJob, ours: Option<i64>, elsewhere: Option<i64>) -> Waiting {
        let is_known = job.submitted > Time(0) && job.submitted <= at;
        Waiting {
            first: at.0,
            submitted: if is_known { job.submitted.0 } else { at.0 },
            user: job.user.clone(),
            account: job.account.clone(),
            ours,
            manager: None,
            elsewhere,
            decided: None,
            is_array: job.tasks > 1,
            size: RecordedSize {
                nodes: job.nodes.min(Pools::MAX_NODES),
                limit: job.limit.0.clamp(0, MAX_LIMIT.0),
            },
        }
    }

    /// The first start that was decided stands.
    fn decide(&mut self, at: Time, name: &str, decision: &Decision) {
        let start = self.decided.and_then(|decided| decided.start);
        if start.is_none() {
            let start = decision.starts.contains(name).then_some(at.0);
            self.decided = Some(Decided { by: decision.by, start });
        }
    }

    fn scored(&self, site: &str, start: i64) -> Scored {
        let late = |predicted: i64| start.saturating_sub(predicted);
        Scored {
            site: site.to_owned(),
            user: self.user.clone(),
            account: self.account.clone(),
            wait: start.saturating_sub(self.submitted).max(0),
            submitted: self.submitted,
            size: self.size,
            ours: self.ours.map(late),
            manager: self.manager.map(|(manager, ours)| (late(manager), ours.map(late))),
            saved: self.elsewhere.map(|elsewhere| late(elsewhere).max(0)),
            judged: self.decided.map(|decided| Judged {
                by: decided.by,
                earlier: decided.start.map(|start| late(start).max(0)),
            }),
        }
    }
}
