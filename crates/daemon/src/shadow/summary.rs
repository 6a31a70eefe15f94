//! What the observation says.

use std::collections::BTreeMap;

use super::advice::{Decider, PolicyState};
use super::record::{Counts, Scored, Shadow};
use super::times::{Saving, Times};
use super::usage::Hour;

/// Users and projects that are listed, at most: those who would have saved most.
const MAX_LISTED: usize = 200;

/// How far starts were from their forecasts, seconds without sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Errors {
    /// Jobs that had a forecast.
    pub jobs: usize,
    /// `None` without jobs.
    pub median: Option<i64>,
    /// Nine of ten jobs had no larger error.
    pub p90: Option<i64>,
}

/// Both forecasts of the same jobs, made at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compared {
    /// Our forecast.
    pub ours: Errors,
    /// That of the manager.
    pub manager: Errors,
}

/// Waits of a user's or project's jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitSummary {
    /// Of the user or project; `None`: not shown by the cluster.
    pub name: Option<String>,
    /// Jobs that have started.
    pub jobs: usize,
    /// Their waits together, seconds.
    pub waited: i64,
    /// Jobs for which a start at another observed cluster was foreseen.
    pub examined: usize,
    /// Seconds by which these would have started earlier there, together.
    pub saved: i64,
    /// Jobs for which it is known what others of their width waited in later hours.
    pub examined_later: usize,
    /// Seconds that these would have waited less in the best of these hours, together.
    pub saved_later: i64,
    /// Micro-credits that jobs would have cost less if they had started in the cheapest of the
    /// following 24 hours, up to their time limits, together.
    pub cheaper_later: i64,
}

/// What a policy of the user's would have done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advised {
    /// How it does now.
    pub policy: PolicyState,
    /// Jobs that have started after the policy was asked about them.
    pub jobs: usize,
    /// Of these, jobs that it would have started at an earlier survey.
    pub earlier: usize,
    /// Seconds by which earlier, together.
    pub saved: i64,
    /// Jobs that the cluster started while the policy left them waiting.
    pub later: usize,
    /// Jobs about which the built-in look-ahead decided, since the policy did not answer; they are in no
    /// other number here.
    pub built_in: usize,
}

/// Of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteSummary {
    /// Its name.
    pub name: String,
    /// When it was surveyed first and last.
    pub observed: Option<(i64, i64)>,
    /// Why the last survey failed, if it did.
    pub problem: Option<String>,
    /// What the last survey could not see, in words.
    pub unknown: Vec<String>,
    /// Jobs that have started, and are compared.
    pub jobs: usize,
    /// Our forecasts.
    pub ours: Errors,
    /// The manager's.
    pub manager: Errors,
    /// Jobs that are not compared.
    pub counts: Counts,
    /// Jobs that wait and whose forecasts are kept.
    pub waiting: usize,
    /// By first second.
    pub hours: BTreeMap<i64, Hour>,
    /// All hours together.
    pub total: Hour,
    /// Waits of all jobs here; it has no name.
    pub waits: WaitSummary,
    /// The same by user: who would have saved most first.
    pub users: Vec<WaitSummary>,
    /// The same by project.
    pub projects: Vec<WaitSummary>,
    /// What its policy would have done, if the configuration names one.
    pub advised: Option<Advised>,
}

/// Of all clusters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Jobs that have started after they were seen waiting.
    pub jobs: usize,
    /// Our forecasts, of all jobs that have one.
    pub ours: Errors,
    /// The manager's, of all jobs that have one.
    pub manager: Errors,
    /// Of jobs that have both.
    pub same: Compared,
    /// By name.
    pub sites: Vec<SiteSummary>,
    /// Who would have saved most first.
    pub users: Vec<WaitSummary>,
    /// The same.
    pub projects: Vec<WaitSummary>,
}

impl Errors {
    fn of(late: impl Iterator<Item = i64>) -> Errors {
        let mut all: Vec<i64> = late.map(i64::saturating_abs).collect();
        all.sort_unstable();
        // Nearest rank: a value that occurred.
        let rank = |tenths: usize| (all.len() * tenths).div_ceil(10).checked_sub(1);
        let at = |tenths| rank(tenths).and_then(|rank| all.get(rank).copied());
        Errors { jobs: all.len(), median: at(5), p90: at(9) }
    }

    fn ours<'a>(jobs: impl Iterator<Item = &'a Scored>) -> Errors {
        Errors::of(jobs.filter_map(|job| job.ours))
    }

    fn manager<'a>(jobs: impl Iterator<Item = &'a Scored>) -> Errors {
        Errors::of(jobs.filter_map(|job| job.manager).map(|(manager, _)| manager))
    }
}

impl Advised {
    fn of<'a>(policy: PolicyState, jobs: impl Iterator<Item = &'a Scored>) -> Advised {
        let mut all = Advised { policy, ..Advised::default() };
        for judged in jobs.filter_map(|job| job.judged) {
            match (judged.by, judged.earlier) {
                (Decider::BuiltIn, _) => all.built_in += 1,
                (Decider::Policy, None) => all.later += 1,
                (Decider::Policy, Some(seconds)) => {
                    all.earlier += usize::from(seconds > 0);
                    all.saved = all.saved.saturating_add(seconds);
                    all.jobs += 1;
                }
            }
        }
        all.jobs += all.later;
        all
    }
}

impl Shadow {
    /// What the policy of this cluster would have done.
    pub(super) fn advised(&self, site: &str, policy: PolicyState) -> Advised {
        Advised::of(policy, self.scored.iter().filter(|job| job.site == site))
    }

    /// What it says.
    pub fn summary(&self) -> Summary {
        let both = || {
            let pairs = self.scored.iter().filter_map(|job| job.manager);
            pairs.filter_map(|(manager, ours)| Some((manager, ours?)))
        };
        let times = Times::of(self);
        Summary {
            jobs: self.scored.len(),
            ours: Errors::ours(self.scored.iter()),
            manager: Errors::manager(self.scored.iter()),
            same: Compared {
                ours: Errors::of(both().map(|(_, ours)| ours)),
                manager: Errors::of(both().map(|(manager, _)| manager)),
            },
            sites: self.sites.keys().map(|name| self.of_site(name, &times)).collect(),
            users: waits(self.scored.iter().map(|job| (&job.user, job)), &times),
            projects: waits(self.scored.iter().map(|job| (&job.account, job)), &times),
        }
    }

    fn of_site(&self, name: &str, times: &Times<'_>) -> SiteSummary {
        let jobs = || self.scored.iter().filter(|job| job.site == name);
        let mut summary = SiteSummary {
            name: name.to_owned(),
            jobs: jobs().count(),
            ours: Errors::ours(jobs()),
            manager: Errors::manager(jobs()),
            waits: waits(jobs().map(|job| (&None, job)), times).pop().unwrap_or_default(),
            users: waits(jobs().map(|job| (&job.user, job)), times),
            projects: waits(jobs().map(|job| (&job.account, job)), times),
            ..SiteSummary::default()
        };
        if let Some(site) = self.sites.get(name) {
            summary.observed = Some((site.since, site.at));
            summary.counts = site.counts;
            summary.waiting = site.waiting.len();
            summary.unknown.clone_from(&site.unknown);
            summary.hours.clone_from(&site.hours);
            summary.total = site.hours.values().copied().fold(Hour::default(), Hour::plus);
        }
        summary
    }
}

fn waits<'a>(
    jobs: impl Iterator<Item = (&'a Option<String>, &'a Scored)>,
    times: &Times<'_>,
) -> Vec<WaitSummary> {
    let mut by_name: BTreeMap<&Option<String>, WaitSummary> = BTreeMap::new();
    for (name, job) in jobs {
        let sum = by_name.entry(name).or_default();
        sum.jobs += 1;
        sum.waited = sum.waited.saturating_add(job.wait);
        sum.examined += usize::from(job.saved.is_some());
        sum.saved = sum.saved.saturating_add(job.saved.unwrap_or(0));
        let Saving { wait, cost } = times.saving(job);
        sum.examined_later += usize::from(wait.is_some());
        sum.saved_later = sum.saved_later.saturating_add(wait.unwrap_or(0));
        sum.cheaper_later = sum.cheaper_later.saturating_add(cost.unwrap_or(0));
    }
    let named = by_name.into_iter().map(|(name, sum)| WaitSummary { name: name.clone(), ..sum });
    let mut all: Vec<WaitSummary> = named.collect();
    all.sort_by_key(|it| std::cmp::Reverse((it.saved.max(it.saved_later), it.waited)));
    all.truncate(MAX_LISTED);
    all
}
