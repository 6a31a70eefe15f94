//! The owners' queue: jobs of others that wait at a site are load to come.
//!
//! Every survey brings the site's queue. A look ahead at the site's own scheduler
//! ([`owners`]) says when these jobs will start, and that load is announced as outages
//! ([`Why::Queued`]). So windows, quotes, plans and forecasts leave these nodes free, and no owner's
//! job is delayed by a job of the market, except by what the look-ahead cannot know: jobs that end
//! early, and jobs that are submitted later.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Cause, Guard, Outage, OwnersFirst, PoolId, Pools, SiteId, Span, Time};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::availability::expected_end_by_limit;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::owners::{self, Eligible, Expected, OwnersJob, SiteRule, Unforeseen};

use super::bound::{Bound, SurveyedQueue};
use super::lined::{JoinedLine, Owners};
use crate::live::near::is_near;
use crate::live::state::outages::Why;
use crate::live::state::{Happening, Job, Phase, State};
use crate::live::{ApplyError, Live};
use crate::site::Survey;
use crate::site::queued::{Blocked, QueueRule, QueuedJob};

/// A site's own queue, and what is expected of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnersQueue {
    /// When it was last seen.
    pub at: Time,
    /// The waiting jobs in the site's own order, each with the expected start of its first task.
    pub jobs: Vec<(QueuedJob, Expected)>,
    /// Further jobs, of which nothing is known but their number.
    pub beyond: u32,
    /// What is not known, a sentence each.
    pub notes: Vec<String>,
    /// How long jobs of the market put off those that wait.
    pub bound: Bound,
}

impl OwnersQueue {
    /// How many of the listed jobs have an expected start.
    pub fn foreseen(&self) -> usize {
        self.jobs.iter().filter(|(_, it)| matches!(it, Expected::Starts { .. })).count()
    }

    /// For how many jobs no start is foreseen, and why: a sentence, if there are any.
    fn unforeseen(&self) -> Option<String> {
        let mut counts: BTreeMap<Unforeseen, usize> = BTreeMap::new();
        let reasons = self.jobs.iter().filter_map(|(_, it)| match it {
            Expected::No(reason) => Some(*reason),
            Expected::Starts { .. } => None,
        });
        reasons.for_each(|reason| *counts.entry(reason).or_default() += 1);
        let all: usize = counts.values().sum();
        let each = counts.iter().map(|(reason, count)| format!("{count} {}", because(*reason)));
        let each = each.collect::<Vec<_>>().join(", ");
        (all > 0).then(|| {
            format!("no start is foreseen for {all} waiting jobs, and no load by them: {each}")
        })
    }
}

/// Tasks of an array with a limit of tasks at the same time are looked ahead in so many groups.
const MAX_GROUPS: u32 = 64;

impl Live {
    /// The site's own queue as its last survey brought it; `None` before the first survey.
    pub fn owners_queue(&self, site: SiteId) -> Option<&OwnersQueue> {
        self.queues.get(&site)
    }

    /// The rule of the site's scheduler, and what its owners may rely on.
    fn rule_of(&self, site: SiteId, survey: &Survey) -> SiteRule {
        let rule = look_ahead_rule(survey.limits.as_ref().and_then(|limits| limits.queue));
        let name = self.state.market.pools().sites().get(site.0 as usize).map(|site| &site.name);
        match name.and_then(|name| self.settings.owners_first.get(name)) {
            Some(OwnersFirst { guard, max_delay }) => {
                SiteRule { guard: *guard, max_delay: *max_delay, ..rule }
            }
            None => rule,
        }
    }

    /// What the owners' waiting jobs will take, beside what is `missing` at the site now.
    pub(super) fn load_to_come(
        &mut self,
        at: Time,
        site: SiteId,
        survey: &Survey,
        missing: &BTreeMap<Why, Outage>,
    ) -> Result<BTreeMap<Why, Outage>, ApplyError> {
        let (groups, waiting) = jobs_of(at, &self.state.pools_of(site), survey);
        let line = self.line_at(at, site, survey, Owners { groups: &groups, waiting });
        self.give_way_to(at, site, (survey, missing), &line)?;
        let pools = self.state.market.pools();
        let ahead = owners::Survey {
            now: at,
            pools: groups.pools.iter().map(|&id| (id, pools.pool(id).nodes)).collect(),
            taken: self.state.taken_at(at, site, missing, &BTreeSet::new()),
            waiting: line.waiting.clone(),
        };
        let rule = self.rule_of(site, survey);
        self.learn_habits(site, survey, (missing, &line), (&ahead, rule))?;
        let habits = self.habits_at(site);
        let forecast = match ahead.waiting.is_empty() && rule.guard != Guard::Spare {
            true => owners::QueueForecast { jobs: Vec::new(), load: Vec::new() },
            false => {
                let counts = |index: usize| line.counts.get(index).is_none_or(|counts| *counts);
                owners::forecast_with(&ahead, rule, counts, &habits)
            }
        };
        let (expected, of_others) = (&forecast.jobs, missing.len());
        let seen =
            SurveyedQueue { site, survey, ahead: &ahead, rule, line: &line, expected, of_others };
        let (bound, load) = self.keep_bound(&seen, forecast.load)?;
        let turn = |(index, job): (usize, u64)| match forecast.jobs.get(index) {
            Some(Expected::Starts { start, .. }) => Some((job, *start)),
            _ => None,
        };
        let turns = line.own.into_iter().filter_map(turn).collect();
        let expected = line.first.iter().filter_map(|&first| forecast.jobs.get(first).copied());
        let mut queue = OwnersQueue {
            at,
            jobs: survey.queue.iter().cloned().zip(expected).collect(),
            beyond: survey.queue_beyond,
            notes: survey.queue_notes.clone(),
            bound,
        };
        queue.notes.extend(queue.unforeseen());
        self.queues.insert(site, queue);
        self.expect_turns(at, turns)?;
        let load = load.iter().map(outage);
        Ok(self.state.with_names(at, site, load))
    }
}

impl Live {
    /// Preemptible jobs give their nodes back where an owner's job of the queue waits for them.
    fn give_way_to(
        &mut self,
        at: Time,
        site: SiteId,
        (survey, missing): (&Survey, &BTreeMap<Why, Outage>),
        line: &JoinedLine,
    ) -> Result<(), ApplyError> {
        if self.preemption_at(site).is_none() {
            return Ok(());
        }
        let pools = self.state.pools_of(site).into_iter();
        let ahead = owners::Survey {
            now: at,
            pools: pools.map(|id| (id, self.state.market.pools().pool(id).nodes)).collect(),
            taken: self.state.taken_at(at, site, missing, &self.state.leaving_at(site)),
            waiting: line.waiting.clone(),
        };
        let rule = self.rule_of(site, survey);
        self.give_way(at, site, ahead, rule)
    }
}

/// Why no start is foreseen, after the number of the jobs.
fn because(reason: Unforeseen) -> &'static str {
    match reason {
        Unforeseen::Held => "held",
        Unforeseen::Dependency => {
            "waiting for a limit, another job or an event of which the time is not known"
        }
        Unforeseen::TooWide => "wider than the pools",
        Unforeseen::BeyondHorizon => "beyond the time that the site's scheduler plans",
        Unforeseen::TooManyBefore => "behind too many others",
    }
}

/// The rule of the site's scheduler; where it is not known, EASY backfilling.
pub(crate) fn look_ahead_rule(rule: Option<QueueRule>) -> SiteRule {
    let Some(QueueRule { depth, window, interval, on_request, .. }) = rule else {
        return SiteRule::new(Depth::First(1));
    };
    // A manager starts a job up to one round of its scheduler after its nodes are free. A job of the
    // market that is to end before an owner's job starts must have that much room, or the manager
    // would not start it.
    let rule = SiteRule { horizon: window, margin: interval, ..SiteRule::new(Depth::First(0)) };
    match depth {
        // If no nodes are kept free for any job, all start where they fit: no job of that queue reserves.
        _ if on_request => SiteRule { depth: Depth::First(depth.max(1)), ..rule },
        0 => rule,
        _ => SiteRule { depth: Depth::All, tested: depth, ..rule },
    }
}

fn outage(taken: &Taken) -> Outage {
    let Taken { share, from, until, .. } = *taken;
    Outage { pool: share.pool, nodes: share.nodes, from, until, cause: Cause::Local }
}

/// How the jobs of a survey became those of a look-ahead.
pub(crate) struct Groups {
    /// The site's pools, in the order of its setup.
    pub pools: Vec<PoolId>,
    /// By job of the survey: its first one in the look-ahead.
    pub first: Vec<usize>,
}

/// The waiting jobs of a survey for the look-ahead.
pub(crate) fn jobs_of(at: Time, pools: &[PoolId], survey: &Survey) -> (Groups, Vec<OwnersJob>) {
    let mut waiting = Vec::new();
    let mut groups = Groups { pools: pools.to_vec(), first: Vec::new() };
    // Dependencies follow once all jobs have their places.
    let mut last = BTreeMap::new();
    for job in &survey.queue {
        groups.first.push(waiting.len());
        add(at, pools, job, &mut waiting);
        last.insert(job.name.as_str(), waiting.len() - 1);
    }
    for (job, &first) in survey.queue.iter().zip(&groups.first) {
        if let Blocked::Dependency(names) = &job.blocked {
            let (eligible, after) = after(at, names, &last, survey);
            waiting[first].eligible = eligible;
            waiting[first].after.extend(after);
        }
    }
    (groups, waiting)
}

/// Adds the job; an array of which only some tasks run at the same time as groups, one after the
/// other.
fn add(at: Time, pools: &[PoolId], job: &QueuedJob, waiting: &mut Vec<OwnersJob>) {
    let own = job.pools.iter().filter_map(|&place| pools.get(place).copied());
    let eligible = match &job.blocked {
        Blocked::Eligible => Eligible::From(job.earliest.unwrap_or(at).max(at)),
        Blocked::BeginTime(from) => Eligible::From((*from).max(at)),
        Blocked::Held => Eligible::Held,
        Blocked::Dependency(_)
        | Blocked::Limit(_)
        | Blocked::Reservation(_)
        | Blocked::Other(_) => Eligible::Unknown,
    };
    let each = job.at_once.map_or(job.tasks, |max| job.tasks.min(max)).max(1);
    let one = OwnersJob {
        pools: own.collect(),
        nodes: job.nodes.min(Pools::MAX_NODES),
        limit: job.limit.clamp(Span(1), owners::MAX_LIMIT),
        eligible,
        after: Vec::new(),
        count: each,
        reserves: job.reserves,
    };
    waiting.push(one.clone());
    for _ in 1..job.tasks.div_ceil(each).min(MAX_GROUPS) {
        waiting.push(OwnersJob { after: vec![waiting.len() - 1], ..one.clone() });
    }
}

/// When a job may start that waits for others: for some of the queue, by their places in the
/// look-ahead, and for some that run, until their limits.
fn after(
    at: Time,
    names: &[String],
    last: &BTreeMap<&str, usize>,
    survey: &Survey,
) -> (Eligible, Vec<usize>) {
    let (mut from, mut after) = (at, Vec::new());
    for name in names {
        // What runs has the name of the job with this word before it, at sites with managers.
        let names = [name.clone(), format!("job {name}")];
        let running =
            survey.pools.iter().flat_map(|pool| names.iter().map(|it| pool.local.get(it)));
        match (last.get(name.as_str()), running.flatten().map(|task| task.until).max()) {
            (Some(place), _) => after.push(*place),
            (None, Some(limit)) => from = from.max(expected_end_by_limit(limit, at)),
            (None, None) => return (Eligible::Unknown, Vec::new()),
        }
    }
    match names.is_empty() {
        true => (Eligible::Unknown, after),
        false => (Eligible::From(from), after),
    }
}

impl State {
    pub(super) fn pools_of(&self, site: SiteId) -> Vec<PoolId> {
        let pools = self.market.pools().iter().filter(|(_, pool)| pool.site == site);
        pools.map(|(id, _)| id).collect()
    }

    /// What the site's manager cannot give to waiting jobs: what is `missing`, the market's tasks
    /// that have begun, and windows that the site keeps free. A task that has not begun has no
    /// nodes yet, as far as the manager is concerned: owners' jobs come first. As if the jobs
    /// that are `leaving` had left.
    fn taken_at(
        &self,
        at: Time,
        site: SiteId,
        missing: &BTreeMap<Why, Outage>,
        leaving: &BTreeSet<u64>,
    ) -> Vec<Taken> {
        let share = |what: &Outage| tradewind_model::Share { pool: what.pool, nodes: what.nodes };
        let gone = missing.values();
        let mut taken: Vec<Taken> = gone
            .map(|what| Taken { share: share(what), from: what.from, until: what.until, memory: 0 })
            .collect();
        for running in self.market.running() {
            let number =
                self.jobs.numbers.get(&running.job).filter(|number| !leaving.contains(number));
            let job = number.and_then(|number| self.jobs.get(number));
            taken.extend(job.into_iter().flat_map(|job| self.begun_at(at, site, job)));
        }
        let booked = self.jobs_with_windows().filter(|job| !job.is_unkept(site));
        let kept = booked.flat_map(|job| self.asides_of(job));
        let kept = kept.filter(|(share, _)| self.site_of(share.pool) == site);
        taken.extend(kept.map(|(share, it)| Taken {
            share,
            from: it.from,
            until: it.until,
            memory: 0,
        }));
        taken
    }

    /// The job's parts at the site that have begun, until their limits.
    fn begun_at<'a>(
        &'a self,
        at: Time,
        site: SiteId,
        job: &'a Job,
    ) -> impl Iterator<Item = Taken> + 'a {
        let here = job.parts().iter().filter(move |part| self.site_of(part.pool) == site);
        here.filter(|part| part.exit.is_none()).filter_map(move |part| {
            let since = part.since?;
            let share = tradewind_model::Share { pool: part.pool, nodes: part.nodes };
            let limit = since + part.limit;
            let ends = job.run().and_then(|run| run.notice.as_ref()).map_or(limit, |it| it.ends);
            let until = expected_end_by_limit(limit.min(ends), at);
            Some(Taken { share, from: since, until, memory: 0 })
        })
    }

    /// Jobs whose window has not come.
    fn jobs_with_windows(&self) -> impl Iterator<Item = &Job> {
        let booked: BTreeSet<u64> = self
            .outages
            .open
            .keys()
            .filter_map(|why| match why {
                Why::Booked(_, job) => Some(*job),
                _ => None,
            })
            .collect();
        let jobs = booked.into_iter().filter_map(|number| self.jobs.get(&number));
        jobs.filter(|job| !matches!(job.phase(), Phase::Running))
    }

    /// The load with the names that it has already, as far as it is the same: what is announced
    /// stays as it is if the forecast is near. The others get free names.
    fn with_names(
        &self,
        at: Time,
        site: SiteId,
        load: impl Iterator<Item = Outage>,
    ) -> BTreeMap<Why, Outage> {
        let here = |why: &Why| matches!(why, Why::Queued(pool, _) if self.site_of(*pool) == site);
        let known = self.outages.open.keys().filter(|why| here(why));
        let known = known.filter_map(|why| Some((why.clone(), self.outage_of(why)?)));
        let mut known: BTreeMap<Why, Outage> = known.collect();
        let (mut named, mut new) = (BTreeMap::new(), Vec::new());
        for what in load {
            let same = known.iter().find(|(_, it)| is_same(at, it, &what)).map(|(why, _)| why);
            match same.cloned().and_then(|why| known.remove_entry(&why)) {
                Some((why, it)) => drop(named.insert(why, it)),
                None => new.push(what),
            }
        }
        let mut next = 0;
        for what in new {
            while named.contains_key(&Why::Queued(what.pool, next)) {
                next += 1;
            }
            named.insert(Why::Queued(what.pool, next), what);
        }
        named
    }
}

impl Job {
    /// Whether the site has said that it does not keep the job's window free.
    fn is_unkept(&self, site: SiteId) -> bool {
        self.history.iter().any(|(_, it)| matches!(it, Happening::Unkept(at, _) if *at == site))
    }
}

/// Whether the forecast says what is known: both ends are near. What has begun has begun.
fn is_same(at: Time, known: &Outage, seen: &Outage) -> bool {
    let same = known.pool == seen.pool && known.nodes == seen.nodes && known.until > at;
    same && is_near(at, known.from, seen.from) && is_near(at, known.until, seen.until)
}
