//! A site's queue as a manager shows it, and what is to be expected of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tradewind_model::{Cause, JobId, Outage, OutageId, PoolId, Span, Time};

use super::ahead::{self, Ends, EqualJobs};
use super::guard::{Guarded, Spare};
use super::queue::{SiteQueue, SiteQueueEntry};
use super::{ExpectedStart, Habits, MAX_ENTRIES, SiteRule, load};
use crate::policy::availability::Taken;

/// When a waiting job may start, as far as the site says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eligible {
    /// From this moment on.
    From(Time),
    /// When it is released.
    Held,
    /// When something has happened of which the time is not known.
    Unknown,
}

/// An owner's waiting job, or an array of equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnersJob {
    /// The pools that it may use.
    pub pools: Arc<[PoolId]>,
    /// Nodes of each entry.
    pub nodes: u32,
    /// Time limit of each entry.
    pub limit: Span,
    /// When it may start.
    pub eligible: Eligible,
    /// Jobs of the same queue, by index, of which all entries have to end first.
    pub after: Vec<usize>,
    /// How many entries: 1, but for arrays. None counts as one.
    pub count: u32,
    /// Whether the scheduler keeps nodes free for it when its turn comes, if its rule is to do that
    /// for the first jobs of the queue. If not, it starts in its turn if it fits then, and others
    /// start before it as long as it does not. Without meaning where no job has reservations, or
    /// each has one ([`Depth::All`](crate::policy::backfill::Depth::All)).
    pub reserves: bool,
}

/// What is known of a site at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The moment.
    pub now: Time,
    /// The pools and their nodes, in the order in which the scheduler prefers them.
    pub pools: Vec<(PoolId, u32)>,
    /// Nodes that are taken: running jobs of owners and of the market, outages. What begins later is
    /// planned around; what has begun is expected to end as given, later than now.
    pub taken: Vec<Taken>,
    /// The owners' waiting jobs, in the order of the site's scheduler.
    pub waiting: Vec<OwnersJob>,
}

/// Why no start of a job is foreseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unforeseen {
    /// It is held.
    Held,
    /// It waits for something of which the time is not known: another job whose end is not foreseen,
    /// or jobs that wait for each other.
    Dependency,
    /// None of its pools has so many nodes, or it names no pool of this site.
    TooWide,
    /// It does not start within the rule's horizon.
    BeyondHorizon,
    /// More than [`MAX_ENTRIES`] entries wait, and it is none of the first.
    TooManyBefore,
}

/// What is to be expected of a waiting job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It starts.
    Starts {
        /// When its first entry starts.
        start: Time,
        /// Where that is.
        pool: PoolId,
        /// Entries with a foreseen start: all of them, unless it is an array.
        entries: u32,
        /// When the last of these starts.
        last: Time,
    },
    /// No start is foreseen.
    No(Unforeseen),
}

impl Expected {
    /// When the last entry of the job ends at its limit; [`Time::MAX`] if that is not foreseen.
    fn end_of(self, job: &OwnersJob) -> Time {
        match self {
            Expected::Starts { entries, last, .. } if entries == job.count.max(1) => {
                last + job.limit
            }
            _ => Time::MAX,
        }
    }
}

/// What is to be expected of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueForecast {
    /// By index of the survey's waiting jobs.
    pub jobs: Vec<Expected>,
    /// The future load of the pools by jobs that wait now, earlier by the rule's margin where other
    /// jobs have to leave nodes for them; see [`load::future_load`].
    pub load: Vec<Taken>,
}

impl Survey {
    /// When one more job would start if it stood in the queue before the job that now has the index
    /// `rank`, or at the end of the queue. It may delay the jobs behind it. Costs a look-ahead.
    pub fn expected_of(&self, job: OwnersJob, rank: usize, rule: SiteRule) -> Expected {
        let (with, rank) = self.with(job, rank);
        let forecast = forecast(&with, rule);
        forecast.jobs.get(rank).copied().unwrap_or(Expected::No(Unforeseen::TooManyBefore))
    }

    /// The same queue with the job before the one that has the index `rank` now, or at its end; and
    /// the job's own index.
    pub fn with(&self, job: OwnersJob, rank: usize) -> (Survey, usize) {
        let rank = rank.min(self.waiting.len());
        let mut with = self.clone();
        let moved = |index: &mut usize| *index += usize::from(*index >= rank);
        with.waiting.iter_mut().for_each(|other| other.after.iter_mut().for_each(moved));
        let mut job = job;
        job.after.iter_mut().for_each(moved);
        with.waiting.insert(rank, job);
        (with, rank)
    }
}

/// Looks ahead. See the text of the module above for assumptions, bounds and cost.
pub fn forecast(survey: &Survey, rule: SiteRule) -> QueueForecast {
    forecast_of(survey, rule, |_| true)
}

/// The same with the future load of some waiting jobs only: those for whose index `counts` holds.
/// The load of the jobs before a place in the queue is what one more job at this place has to
/// leave free; under conservative backfilling its earliest place beside this load is its start
/// ([`Survey::expected_of`]), under EASY it may start earlier.
pub fn forecast_of(
    survey: &Survey,
    rule: SiteRule,
    counts: impl Fn(usize) -> bool,
) -> QueueForecast {
    forecast_with(survey, rule, counts, &Habits::default())
}

/// The same; `habits` say when jobs usually end, for the rule's [guard](SiteRule::guard).
pub fn forecast_with(
    survey: &Survey,
    rule: SiteRule,
    counts: impl Fn(usize) -> bool,
    habits: &Habits,
) -> QueueForecast {
    let Prepared { site, groups, reasons, taken } = prepare(survey, rule);
    let margin = site.rule().margin;
    let ahead = ahead::run(site.clone(), groups.clone(), survey.now, &Ends::default());
    let jobs = expected(&reasons, &groups, &ahead);
    let index = |job: JobId| groups.partition_point(|group| group.numbers.end <= job.0);
    let load = ahead.starts.iter().copied().filter(|start| counts(index(start.job)));
    let load: Vec<ExpectedStart> = load.collect();
    let load = load::future_load_early(&load, &survey.taken, survey.now, margin);
    let running: BTreeMap<JobId, usize> = taken.into_iter().collect();
    let guarded = Guarded {
        guard: rule.guard,
        now: survey.now,
        site: &site,
        groups: &groups,
        usual: &|job| match running.get(&job) {
            Some(index) => habits.of(habits.taken.get(*index).copied()),
            None => habits.of(habits.waiting.get(index(job)).copied()),
        },
        counts: &|job| counts(index(job)),
        spare: &spare(survey, habits, &jobs),
    };
    QueueForecast { jobs, load: guarded.load(load) }
}

/// Waiting jobs, by index, of which the site's scheduler would start one or more entries now if no
/// job of the market ran there, and starts none beside them; `is_market` says by index of what is
/// taken which are the market's. Costs two passes of the scheduler.
pub fn put_off(survey: &Survey, rule: SiteRule, is_market: impl Fn(usize) -> bool) -> Vec<usize> {
    let Prepared { mut site, groups, taken, .. } = prepare(survey, rule);
    let of_market: BTreeSet<JobId> =
        taken.into_iter().filter(|(_, index)| is_market(*index)).map(|(job, _)| job).collect();
    if of_market.is_empty() {
        return Vec::new();
    }
    let may =
        |group: &&EqualJobs| group.joins && group.after.is_empty() && group.from <= survey.now;
    groups.iter().filter(may).for_each(|group| group.join(&mut site));
    let mut starts = Vec::new();
    site.decide(survey.now, &mut starts);
    let index = |job: JobId| groups.partition_point(|group| group.numbers.end <= job.0);
    let start_anyway: BTreeSet<usize> = starts.iter().map(|start| index(start.job)).collect();
    let put_off = site.put_off(survey.now, |job| of_market.contains(&job));
    let put_off: BTreeSet<usize> = put_off.into_iter().map(index).collect();
    put_off.difference(&start_anyway).copied().collect()
}

/// What is spared for one more job like those that wait for each pool, or run there and are known as
/// jobs.
fn spare(survey: &Survey, habits: &Habits, expected: &[Expected]) -> BTreeMap<PoolId, Spare> {
    let of = |pool: PoolId| {
        let runs = survey.taken.iter().zip(&habits.taken);
        let runs = runs.filter(|(it, usual)| it.share.pool == pool && usual.is_some());
        let waits = survey.waiting.iter().zip(expected);
        let waits = waits.filter(|(job, _)| job.pools.contains(&pool));
        let runs = runs.map(|(it, _)| (it.share.nodes, it.until - it.from, it.until));
        Spare::of(runs.chain(waits.map(|(job, it)| (job.nodes, job.limit, it.end_of(job)))))
    };
    survey.pools.iter().map(|(pool, _)| (*pool, of(*pool))).collect()
}

/// A site's scheduler before a look-ahead.
pub(super) struct Prepared {
    pub(super) site: SiteQueue,
    pub(super) groups: Vec<EqualJobs>,
    /// By group: why it does not take part, if so.
    pub(super) reasons: Vec<Option<Unforeseen>>,
    /// Jobs that run, with their index in what is taken.
    pub(super) taken: Vec<(JobId, usize)>,
}

pub(super) fn prepare(survey: &Survey, rule: SiteRule) -> Prepared {
    let mut site = SiteQueue::new(&survey.pools, rule);
    let groups = groups(survey);
    let entries = groups.last().map_or(0, |group| group.numbers.end);
    let taken = occupy(&mut site, survey, entries);
    let reasons = survey.waiting.iter().zip(&groups).map(|(job, group)| reason(&site, job, group));
    let reasons: Vec<Option<Unforeseen>> = reasons.collect();
    let joins = groups.into_iter().zip(&reasons);
    let groups =
        joins.map(|(group, reason)| EqualJobs { joins: reason.is_none(), ..group }).collect();
    Prepared { site, groups, reasons, taken }
}

/// What a look-ahead says of each group.
pub(super) fn expected(
    reasons: &[Option<Unforeseen>],
    groups: &[EqualJobs],
    ahead: &ahead::Ahead,
) -> Vec<Expected> {
    let unforeseen = |reason: &Option<Unforeseen>| reason.unwrap_or(Unforeseen::BeyondHorizon);
    let mut jobs: Vec<Expected> = reasons.iter().map(|it| Expected::No(unforeseen(it))).collect();
    for index in &ahead.blocked {
        jobs[*index] = Expected::No(Unforeseen::Dependency);
    }
    for start in &ahead.starts {
        let index = groups.partition_point(|group| group.numbers.end <= start.job.0);
        note(&mut jobs[index], start);
    }
    jobs
}

/// The waiting jobs with numbers for their entries, in the order of the queue.
fn groups(survey: &Survey) -> Vec<EqualJobs> {
    let mut next = 0u32;
    let group = |job: &OwnersJob| {
        let count = job.count.max(1);
        let numbers = next..next.saturating_add(count).min(MAX_ENTRIES as u32);
        next = numbers.end;
        let mut after = job.after.clone();
        after.sort_unstable();
        after.dedup();
        let (pools, nodes) = (Arc::clone(&job.pools), job.nodes.max(1));
        let entry = SiteQueueEntry {
            job: JobId(0),
            nodes,
            limit: job.limit,
            pools,
            reserves: job.reserves,
        };
        let from = match job.eligible {
            Eligible::From(from) => from,
            Eligible::Held | Eligible::Unknown => survey.now,
        };
        EqualJobs { entry, numbers, count, from, after, joins: true }
    };
    survey.waiting.iter().map(group).collect()
}

/// Why the job does not take part.
fn reason(site: &SiteQueue, job: &OwnersJob, group: &EqualJobs) -> Option<Unforeseen> {
    match job.eligible {
        Eligible::Held => Some(Unforeseen::Held),
        Eligible::Unknown => Some(Unforeseen::Dependency),
        Eligible::From(_) if !site.is_wide_enough(&job.pools, group.entry.nodes) => {
            Some(Unforeseen::TooWide)
        }
        Eligible::From(_) => group.numbers.is_empty().then_some(Unforeseen::TooManyBefore),
    }
}

/// Tells the site's scheduler what is taken. Numbers of jobs up to `entries` are in use. The
/// running jobs, each with its index in what is taken.
fn occupy(site: &mut SiteQueue, survey: &Survey, entries: u32) -> Vec<(JobId, usize)> {
    let now = survey.now;
    let whole = survey.taken.iter().enumerate();
    let whole = whole.filter(|(_, taken)| taken.share.nodes > 0 && taken.until > now);
    let mut running = Vec::new();
    for (number, (index, taken)) in (0u32..).zip(whole) {
        let Taken { share, from, until, .. } = *taken;
        if from > now {
            let (pool, nodes, cause) = (share.pool, share.nodes, Cause::Local);
            let what = Outage { pool, nodes, from, until, cause };
            site.announced(OutageId(number), what, now);
            continue;
        }
        let job = JobId(entries.saturating_add(number));
        let entry = SiteQueueEntry {
            job,
            nodes: share.nodes,
            limit: until - now,
            pools: [].into(),
            reserves: true,
        };
        site.adopt(&entry, share.pool, now, now);
        running.push((job, index));
    }
    running
}

fn note(expected: &mut Expected, it: &ExpectedStart) {
    match expected {
        Expected::Starts { entries, last, .. } => {
            *entries += 1;
            *last = it.start;
        }
        Expected::No(_) => {
            let (start, pool) = (it.start, it.pool);
            *expected = Expected::Starts { start, pool, entries: 1, last: start };
        }
    }
}
